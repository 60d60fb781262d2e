//! Random programs run on the embedded engine and on another DynamoDB; every answer is compared.
//!
//! A program ([`program`]) is a list of writes, conditions, transactions and queries over one or
//! two tables ([`shapes`]) with few distinct keys ([`values`], [`expressions`]). It runs ([`run`])
//! on both [`sides`]: the embedded store behind our checks, and an oracle that is asked through the
//! DynamoDB back-end, without our checks where it has its own. So one run compares the engine, the
//! checks and the rendering of expressions with what DynamoDB does. After each step the [`answers`] are compared,
//! at the end the contents of all tables and indexes. A difference is a failure, or exactly one of the
//! known [`exceptions`], which are counted and capped.
//!
//! Programs of [`concurrent`] run in several tasks at once on one back-end; an order must explain the answers. Programs
//! of [`expiry`] run on the embedded store with a manual clock, against a model.
//!
//! `WEIR_TEST_ALL=1` runs more than ten thousand programs of a new seed each time; without it a few
//! hundred of a fixed seed run. `WEIR_TEST_PROGRAMS` sets the number. A failing program is made
//! smaller, printed, and its seed kept in `proptest-regressions`, which every run tries first.

mod adapted;
mod additions;
mod answers;
mod concurrent;
mod exceptions;
mod excused;
mod excuses;
mod expiry;
mod explain;
mod expressions;
mod found;
mod memory;
mod pinned;
mod program;
mod run;
mod shapes;
mod sides;
mod task;
mod values;

use std::sync::Mutex;
use std::time::Duration;

use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner,
};
use tokio::runtime::Runtime;
use weir_table::Store;
use weir_table::cursor::CursorKey;

use exceptions::Endpoint;
use run::{Reference, Report};

/// Programs on dynoxide and on DynamoDB Local in a normal run.
const PROGRAMS: (u32, u32) = (300, 100);
/// The same at full length.
const PROGRAMS_ALL: (u32, u32) = (10_000, 2_000);
/// How long a failing program is made smaller.
const SHRINK_TIME_MAX: Duration = Duration::from_secs(90);
/// Seeds of programs that failed once; relative to the package.
const REGRESSIONS: &str = "tests/differential/proptest-regressions/programs.txt";

#[test]
fn embedded_agrees_with_dynoxide() {
    let endpoint = weir_testkit::dynoxide_endpoint().unwrap();
    differential(Endpoint::Dynoxide, endpoint, programs(PROGRAMS.0, PROGRAMS_ALL.0));
}

#[test]
fn embedded_agrees_with_dynamodb_local() {
    let endpoint = weir_testkit::dynamo_local_endpoint().unwrap();
    differential(Endpoint::DynamoDbLocal, endpoint, programs(PROGRAMS.1, PROGRAMS_ALL.1));
}

fn at_full_length() -> bool {
    std::env::var_os("WEIR_TEST_ALL").is_some_and(|value| value == "1")
}

fn programs(normal: u32, all: u32) -> u32 {
    let given = std::env::var("WEIR_TEST_PROGRAMS").ok().and_then(|text| text.parse().ok());
    given.unwrap_or(if at_full_length() { all } else { normal })
}

#[test]
fn differences_found_on_dynamodb_local_stay_fixed() {
    let (tokio, reference) =
        reference(Endpoint::DynamoDbLocal, weir_testkit::dynamo_local_endpoint().unwrap());
    for (found, program) in found::programs() {
        let report = tokio.block_on(run::run(&program, &reference));
        let report = report.unwrap_or_else(|differs| panic!("{found}: {differs}"));
        assert_eq!(report.excused.counts.len(), 0, "{found}: {}", report.excused);
    }
}

#[expect(clippy::unwrap_used, reason = "called by tests only")]
fn reference(endpoint: Endpoint, url: &str) -> (Runtime, Reference) {
    let tokio =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let dynamo = tokio.block_on(sides::connect(url)).unwrap();
    let store = Store::new(dynamo, CursorKey::new([7; 32]));
    (tokio, Reference { endpoint, store })
}

#[expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "called by tests only")]
fn differential(endpoint: Endpoint, url: &str, programs: u32) {
    let (tokio, reference) = reference(endpoint, url);
    let total = Mutex::new(Report::default());
    let mut runner = runner(programs, REGRESSIONS);
    let outcome = runner.run(&program::program(), |program| {
        let report = tokio.block_on(run::run(&program, &reference)).map_err(TestCaseError::fail)?;
        total.lock().unwrap().add(&report);
        Ok(())
    });
    let Report { excused, additions_in_place, additions_fallback } = total.into_inner().unwrap();
    println!("{programs} programs on {endpoint:?}: {excused}");
    println!("  {additions_in_place} additions in place, {additions_fallback} as updates");
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(differs, program)) => panic!("{differs}\n\nthe program: {program:#?}"),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
    for exception in excused.counts.keys() {
        assert_eq!(exception.known().oracle, endpoint, "{exception:?}");
    }
    assert_eq!(excused.over_cap(), [], "these exceptions are met more often than is known");
    assert!(additions_in_place * 20 >= additions_fallback, "the fast path is hardly taken");
}

fn runner(programs: u32, regressions: &'static str) -> TestRunner {
    let regressions = FileFailurePersistence::Direct(regressions);
    let config = Config {
        cases: programs,
        max_shrink_iters: u32::MAX,
        max_shrink_time: u32::try_from(SHRINK_TIME_MAX.as_millis()).unwrap_or(u32::MAX),
        failure_persistence: Some(Box::new(regressions)),
        ..Config::default()
    };
    if at_full_length() {
        return TestRunner::new(config);
    }
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[42; 32]);
    TestRunner::new_with_rng(config, seed)
}
