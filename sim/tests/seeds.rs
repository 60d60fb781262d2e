//! Runs seeds without faults of our own, and with each of them.
//!
//! `WEIR_TEST_ALL=1` runs a million steps over more than a hundred seeds of each domain. A failure prints how to replay it.

#![expect(clippy::panic, reason = "a test says what went wrong by panicking")]

use weir_sim::{CASES, Checks, Domain, Failure, run};

/// Seeds and steps of each of `make test`.
const SHORT: (u64, u64) = (24, 600);
/// Seeds and steps of each of `make test-all`.
const LONG: (u64, u64) = (128, 8_000);
/// Seeds and steps within which each fault is found. Most are found in the first seeds.
const FAULT: (u64, u64) = (48, 1_200);

fn length() -> (u64, u64) {
    let all = std::env::var_os("WEIR_TEST_ALL").is_some_and(|value| value == "1");
    if all { LONG } else { SHORT }
}

fn no_rule_is_broken(domain: Domain) {
    let (seeds, steps) = length();
    for seed in 1..=seeds {
        if let Err(failure) = run(domain, seed, steps, &Checks::expected()) {
            panic!("{failure}");
        }
    }
}

#[test]
fn limiters_break_no_rule() {
    no_rule_is_broken(Domain::Limiter);
}

#[test]
fn keepers_break_no_rule() {
    no_rule_is_broken(Domain::Keeper);
}

#[test]
fn reviews_break_no_rule() {
    no_rule_is_broken(Domain::Reviews);
}

#[test]
fn practice_breaks_no_rule() {
    no_rule_is_broken(Domain::Practice);
}

#[test]
fn a_seed_replays_exactly() {
    for domain in Domain::ALL {
        for seed in [3, 5, 8, 13, 21, 34] {
            let hash = move || run(domain, seed, 600, &Checks::expected()).unwrap().hash;
            let first = hash();
            // Another thread has nothing in common with this one.
            assert_eq!(std::thread::spawn(hash).join().unwrap(), first, "{domain:?} seed {seed}");
        }
    }
}

#[test]
fn a_failure_replays_at_its_step() {
    let case = &CASES[0];
    let first = case.find(1..FAULT.0, FAULT.1).unwrap();
    let again = case.find(first.seed..first.seed + 1, first.step).unwrap();
    let shown = |failure: &Failure| failure.to_string();
    assert_eq!(shown(&again), shown(&first));
}

#[test]
fn every_fault_is_found() {
    for case in CASES {
        let found = case.find(1..FAULT.0 + 1, FAULT.1);
        let failure = found.unwrap_or_else(|| panic!("{} is not found", case.name));
        println!("{}: seed {}, step {}", case.name, failure.seed, failure.step);
    }
}
