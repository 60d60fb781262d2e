//! What is submitted: a list that every process makes for itself, the same from the same seed.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use weir_table::clock::Clock;

/// A label, and its price for a million tokens in and out; without one the client states the cost.
pub(crate) struct Label {
    pub(crate) name: &'static str,
    pub(crate) price: Option<(u64, u64)>,
}

/// Neither price divides a million: costs are rounded.
pub(crate) const LABELS: [Label; 3] = [
    Label { name: "dear", price: Some((3_000_001, 15_000_007)) },
    Label { name: "cheap", price: Some((250_013, 1_250_003)) },
    Label { name: "stated", price: Some((1, 1)) },
];
pub(crate) const APPS: [&str; 3] = ["web", "batch", "agents"];
/// The scopes of the orgs, and how many shards each has.
pub(crate) const SCOPES: [(&str, u8); 2] = [("ORG", 8), ("APP", 16)];
/// How many single submissions come before a batch of as many.
const JOB: u64 = 20;

impl Label {
    /// A model that no price book knows.
    pub(crate) fn model(&self) -> String {
        format!("acme.{}-v1", self.name)
    }
}

/// An org in which it is noon, so that the day does not end in a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Org {
    pub(crate) id: String,
    pub(crate) zone: String,
    pub(crate) scope: String,
    pub(crate) shards: u8,
}

impl Org {
    pub(crate) fn new(scope: &str, shards: u8) -> Org {
        let hour = (Clock::System.now_ms() / 3_600_000) % 24;
        // `Etc/GMT+5` is five hours behind.
        let behind = i64::try_from(hour).unwrap() - 12;
        let zone =
            if behind < 0 { format!("Etc/GMT{behind}") } else { format!("Etc/GMT+{behind}") };
        let (id, scope) = (uuid::Uuid::new_v4().to_string(), scope.to_owned());
        Org { id, zone, scope, shards }
    }

    pub(crate) fn path(&self) -> String {
        format!("/api/v1/orgs/{}", self.id)
    }
}

/// All submissions of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Load {
    pub(crate) orgs: Vec<Org>,
    seed: u64,
    count: u64,
    at_ms: i64,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Submission {
    pub(crate) number: u64,
    pub(crate) org: usize,
    pub(crate) app: usize,
    pub(crate) label: usize,
    pub(crate) input: u64,
    pub(crate) output: u64,
    stated: Option<u64>,
}

/// Submissions that are sent after each other to one app: some by themselves, some at once.
#[derive(Debug)]
pub(crate) enum Job {
    Singly(Vec<u64>),
    AtOnce(Vec<u64>),
}

impl Load {
    pub(crate) fn new(orgs: Vec<Org>, count: u64) -> Load {
        let at_ms = i64::try_from(Clock::System.now_ms()).unwrap();
        Load { orgs, seed: fastrand::u64(..), count, at_ms }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn jobs(&self) -> u64 {
        self.count.div_ceil(JOB)
    }

    /// The submissions of a job. All of them are of one app.
    pub(crate) fn job(&self, number: u64) -> Job {
        let ids = (number * JOB..((number + 1) * JOB).min(self.count)).collect();
        if number.is_multiple_of(2) { Job::Singly(ids) } else { Job::AtOnce(ids) }
    }

    pub(crate) fn submission(&self, number: u64) -> Submission {
        let mut random = fastrand::Rng::with_seed(self.seed ^ number.wrapping_mul(0x9e37_79b9));
        let place = usize::try_from(number / JOB).unwrap();
        let label = random.usize(..LABELS.len());
        Submission {
            number,
            org: place % self.orgs.len(),
            app: (place / self.orgs.len()) % APPS.len(),
            label,
            input: random.u64(..20_000),
            output: random.u64(..4_000),
            stated: (LABELS[label].name == "stated").then(|| random.u64(..1_000)),
        }
    }

    /// Where a submission is sent.
    pub(crate) fn path(&self, of: &Submission) -> String {
        format!("{}/apps/{}/costs", self.orgs[of.org].path(), APPS[of.app])
    }

    pub(crate) fn body(&self, of: &Submission) -> Value {
        let label = &LABELS[of.label];
        let id = uuid::Uuid::from_u64_pair(self.seed, of.number ^ self.seed.rotate_left(32));
        let mut body = json!({"request_id": id.to_string(), "model_label": label.name,
            "bedrock_model_id": label.model(), "input_tokens": of.input, "output_tokens": of.output,
            "status": if of.number.is_multiple_of(50) { "ERROR" } else { "OK" },
            "timestamp": weir_calendar::rfc3339(self.at_ms)});
        if let Some(stated) = of.stated {
            body["cost_usd_micros"] = stated.into();
        }
        body
    }
}

impl Submission {
    /// What it costs, rounded up once.
    pub(crate) fn cost(&self) -> u64 {
        let (input, output) = LABELS[self.label].price.unwrap();
        let exact = self.input * input + self.output * output;
        self.stated.unwrap_or(exact.div_ceil(1_000_000))
    }
}
