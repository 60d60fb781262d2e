//! The back-ends that the contract holds for, each a function that runs one scenario.
//!
//! | back-end | what it is |
//! |---|---|
//! | `embedded` | the embedded engine as it is used |
//! | `embedded_tiny_cache` | with hardly any memory and small log files, so that reads come from disk |
//! | `embedded_delayed_index` | with indexes that lag |
//! | `dynamodb_local` | DynamoDB Local: `WEIR_TEST_DYNAMODB_LOCAL` names a running one |
//! | `moto` | moto: `WEIR_TEST_MOTO` names a running one |
//! | `dynoxide` | dynoxide, inside the test's process |
//! | `aws` | a real account, when `WEIR_TEST_AWS` is 1: the usual AWS variables say which |

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::time::Duration;

use tokio::runtime::Runtime;
use weir_table::cursor::CursorKey;
use weir_table::dynamodb::{self, Dynamo};
use weir_table::embedded::{Embedded, Options};
use weir_table::{AnyBackend, Store};

use crate::fixture::Fixture;
use crate::skips;

/// One scenario. A plain function pointer, so that the code around a scenario is compiled once and not once per test.
pub(crate) type Scenario = fn(&Fixture) -> Pin<Box<dyn Future<Output = ()> + '_>>;

/// The names of all back-ends.
pub(crate) const NAMES: &[&str] = &[
    "embedded",
    "embedded_tiny_cache",
    "embedded_delayed_index",
    "dynamodb_local",
    "moto",
    "dynoxide",
    "aws",
];

/// Set to 1 to run the contract on a real account, which costs a little money.
pub(crate) const AWS_VAR: &str = "WEIR_TEST_AWS";
/// What the names of the tables made there begin with; `weir-contract-` unless set.
const AWS_PREFIX_VAR: &str = "WEIR_TEST_AWS_PREFIX";

/// Whether the environment names a real account.
pub(crate) fn aws_is_named() -> bool {
    std::env::var(AWS_VAR).is_ok_and(|value| value == "1")
}

pub(crate) fn embedded(scenario: &str, body: Scenario) {
    on_embedded("embedded", scenario, body, |_| {});
}

pub(crate) fn embedded_tiny_cache(scenario: &str, body: Scenario) {
    on_embedded("embedded_tiny_cache", scenario, body, |options| {
        options.cache_bytes = 4 * 1024;
        options.dirty_bytes_max = 16 * 1024;
        options.segment_bytes_max = 64 * 1024;
        options.checkpoint_interval = Duration::from_millis(5);
    });
}

pub(crate) fn embedded_delayed_index(scenario: &str, body: Scenario) {
    on_embedded("embedded_delayed_index", scenario, body, |options| {
        options.index_delay = Some(Duration::from_millis(150));
    });
}

pub(crate) fn dynamodb_local(scenario: &str, body: Scenario) {
    on_dynamodb("dynamodb_local", scenario, body, || {
        let region = weir_testkit::dynamo_local_region();
        Some((weir_testkit::dynamo_local_endpoint().unwrap(), region))
    });
}

pub(crate) fn moto(scenario: &str, body: Scenario) {
    on_dynamodb("moto", scenario, body, || {
        Some((weir_testkit::moto_endpoint().unwrap(), "us-east-1"))
    });
}

pub(crate) fn dynoxide(scenario: &str, body: Scenario) {
    on_dynamodb("dynoxide", scenario, body, || {
        Some((weir_testkit::dynoxide_endpoint().unwrap(), "us-east-1"))
    });
}

pub(crate) fn aws(scenario: &str, body: Scenario) {
    if !aws_is_named() {
        return weir_testkit::skip("no AWS account is named", &format!("{AWS_VAR} is not 1"));
    }
    on_dynamodb("aws", scenario, body, || None);
}

fn on_embedded(backend: &str, scenario: &str, body: Scenario, tune: fn(&mut Options)) {
    if skipped(backend, scenario) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::new(dir.path());
    options.sweep_interval = Some(Duration::from_millis(50));
    tune(&mut options);
    let embedded = Embedded::open(options).unwrap();
    let cursors = embedded.cursor_key();
    let runtime = runtime();
    let fixture = Fixture::new(Store::new(AnyBackend::Embedded(embedded), cursors));
    play(&runtime, &fixture, body);
    runtime.block_on(fixture.store.backend().close()).unwrap();
}

/// The address and the region; without them, AWS.
type Endpoint = Option<(&'static str, &'static str)>;

fn on_dynamodb(backend: &str, scenario: &str, body: Scenario, endpoint: fn() -> Endpoint) {
    if skipped(backend, scenario) {
        return;
    }
    let endpoint = endpoint();
    let prefix = std::env::var(AWS_PREFIX_VAR).unwrap_or_else(|_| "weir-contract".to_owned());
    let runtime = runtime();
    let options = dynamodb::Options {
        region: endpoint.map(|(_, region)| region.to_owned()),
        endpoint: endpoint.map(|(address, _)| address.to_owned()),
        table_prefix: weir_testkit::unique_prefix(&prefix),
        timeouts: weir_testkit::stage::patient_timeouts(),
        ..dynamodb::Options::default()
    };
    let dynamo = runtime.block_on(Dynamo::connect(options)).unwrap();
    let fixture = Fixture::new(Store::new(AnyBackend::Dynamo(dynamo), CursorKey::new([7; 32])));
    play(&runtime, &fixture, body);
}

fn skipped(backend: &str, scenario: &str) -> bool {
    let reason = skips::reason(backend, scenario);
    if let Some(reason) = reason {
        println!("skipped: {scenario} on {backend} because {reason}");
    }
    reason.is_some()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Plays a scenario; its tables are removed even when it fails.
fn play(runtime: &Runtime, fixture: &Fixture, body: Scenario) {
    let played = catch_unwind(AssertUnwindSafe(|| runtime.block_on(body(fixture))));
    runtime.block_on(fixture.clean_up());
    if let Err(panic) = played {
        resume_unwind(panic);
    }
}
