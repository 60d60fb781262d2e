//! What clients and operators ask of a keeper, by chance.

use weir_keeper::config::{PutApp, PutOrg};
use weir_keeper::ids::{AppId, ModelId, OrgId, RequestId};
use weir_keeper::money::{MicroUsd, TokenUse};
use weir_keeper::submit::{CallStatus, Submission};

use crate::random::Random;

const APPS: [&str; 2] = ["web", "batch"];
const LABELS: [&str; 3] = ["premium", "standard", "economy"];
const MODEL: &str = "amazon.nova-lite-v1:0";
const ZONES: [&str; 5] =
    ["America/New_York", "UTC", "Asia/Kolkata", "Pacific/Kiritimati", "America/Havana"];

/// The largest cost that any version of the keeper took for one submission, and the largest that it takes by its contract.
const LARGEST_COSTS: [u64; 2] = [1_000_000_000_000_000, 1_000_000_000_000];

/// The org of a number.
#[must_use]
pub(super) fn org(number: usize) -> OrgId {
    OrgId::new(format!("550e8400-e29b-41d4-a716-{number:012}")).expect("a valid id")
}

/// All apps.
#[must_use]
pub(super) fn apps() -> Vec<AppId> {
    APPS.map(|name| AppId::new(name).expect("a valid id")).into()
}

/// The settings of an org.
pub(super) fn put_org(random: &mut Random) -> PutOrg {
    let mut chain: Vec<String> = LABELS.map(str::to_owned).into();
    if random.percent(20) {
        chain.swap(0, 1);
    }
    if random.percent(20) {
        chain.truncate(2);
    }
    let quota = |label: &String| {
        let quota = *random.pick(&[0, 1_000, 20_000, 1_000_000, 1_000_000_000_000_000]);
        (label.clone(), quota)
    };
    let quotas = chain.iter().map(quota).collect();
    PutOrg {
        org_name: "org".into(),
        timezone: (*random.pick(&ZONES)).into(),
        quota_scope: (*random.pick(&["ORG", "APP"])).into(),
        model_ordering: chain,
        quotas,
        ..PutOrg::default()
    }
}

/// The settings of an app that inherits all.
#[must_use]
pub(super) fn put_app() -> PutApp {
    PutApp { app_name: "app".into(), ..PutApp::default() }
}

/// A new submission at about this time.
pub(super) fn submission(random: &mut Random, now_ms: i64) -> Submission {
    let id = random.bits();
    let hex = format!("{id:032x}");
    let id =
        format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..]);
    let cost = *random.pick(&[0, 1, 700, 5_000, 300_000]);
    let late_ms = if random.percent(20) { random.duration_ms(40 * 3_600_000) } else { 0 };
    Submission {
        vendor: None,
        request_id: RequestId::new(id).expect("a UUID"),
        label: (*random.pick(&LABELS)).to_owned(),
        model: ModelId::new(MODEL).expect("a valid id"),
        tokens: TokenUse { input: random.number(0..=9).unsigned_abs(), ..TokenUse::default() },
        region: None,
        stated_cost: Some(MicroUsd(cost)),
        status: if random.percent(10) { CallStatus::Error } else { CallStatus::Ok },
        at_ms: now_ms - late_ms,
    }
}

/// A retry: the same, rebuilt at another time, or another call with the same id.
pub(super) fn again(random: &mut Random, first: &Submission, now_ms: i64) -> Submission {
    let mut again = first.clone();
    match random.number(0..=9) {
        0..=5 => {}
        6 | 7 => again.at_ms = now_ms,
        8 => again.tokens.input += 1,
        _ => again.stated_cost = Some(MicroUsd(77)),
    }
    again
}

/// A batch of the costliest submissions there can be.
pub(super) fn costliest(random: &mut Random, now_ms: i64, is_bounded: bool) -> Vec<Submission> {
    let cost = LARGEST_COSTS[usize::from(is_bounded)];
    let one = || Submission {
        label: LABELS[0].to_owned(),
        stated_cost: Some(MicroUsd(cost)),
        at_ms: now_ms,
        ..submission(random, now_ms)
    };
    std::iter::repeat_with(one).take(100).collect()
}
