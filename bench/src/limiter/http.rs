//! Acquires over the network, compared with throttlecrab and Redis.
//!
//! The load generators send requests for the same number of keys in a scattered order. The servers
//! do not do the same work: [`LEGEND`] lists the differences.

use std::path::Path;

use super::peers;
use crate::child::Child;
use crate::compare::{self, Case, Options};
use crate::load::Request;
use crate::pinning::Pinning;
use crate::weir;

/// Entities that send requests.
pub(super) const KEYS: usize = 1_000;
/// The capacity of limits that are never reached.
pub(super) const PLENTY: u64 = 1_000_000_000;
pub(super) const MINUTE_SECS: u64 = 60;
/// The capacity of limits that are used up at once. throttlecrab refuses nothing with a burst of 1.
pub(super) const FEW: u64 = 2;
pub(super) const DAY_SECS: u64 = 86_400;

pub(super) const GRANTED_ONE: &str = "granted, one limit";
pub(super) const GRANTED_TWO: &str = "granted, two limits";
pub(super) const REFUSED: &str = "refused";

const LEGEND: &str = "\
weir: buckets on disk (log flushed, synced within 100 ms), API key, signed lease, usage recorded per hour, day and month.
throttlecrab: buckets in memory, no authentication, one limit per request.
Redis: buckets in memory, Lua script, no authentication; Redis AOF: with a log synced every second.";

pub(super) fn run(options: &Options, rate: Option<f64>, folder: &Path) {
    let pinning = options.pinning();
    let peers = match options.weir_before {
        Some(_) => Vec::new(),
        None => peers::all(pinning),
    };
    let contenders = options.contenders(peers, |binary, data| start(pinning, binary, data));
    compare::run(options, rate, folder, &contenders);
    if options.weir_before.is_none() {
        println!("{LEGEND}");
    }
}

fn start(pinning: Pinning, binary: &Path, data: &Path) -> (Child, Vec<Case>) {
    let server = weir::start(pinning, binary, data, &[]);
    weir::set_limits(&server, "one", &[("rpm", PLENTY)], MINUTE_SECS);
    weir::set_limits(&server, "two", &[("rpm", PLENTY), ("tpm", PLENTY)], MINUTE_SECS);
    weir::set_limits(&server, "few", &[("rpm", FEW), ("tpm", PLENTY)], DAY_SECS);
    let acquire =
        |resource, consume: &[(&str, u64)]| weir::acquire(&server, KEYS, resource, consume);
    let both = [("rpm", 1), ("tpm", 100)];
    let refused = Request { expect_refusal: true, ..acquire("few", &both) };
    // Uses up the limits.
    (0..FEW).for_each(|_| server.warm_up(&refused));
    let cases = vec![
        Case::http(GRANTED_ONE, acquire("one", &[("rpm", 1)])),
        Case::http(GRANTED_TWO, acquire("two", &both)).against(GRANTED_ONE),
        Case::http(REFUSED, refused),
    ];
    (server, cases)
}
