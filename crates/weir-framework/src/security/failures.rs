//! A bound on the failed sign-ins that this instance records: for each site, and for all sites beyond the first ones.

use std::net::IpAddr;

use parking_lot::Mutex;

use crate::client_address::site;

/// Recorded failures of a site per minute. More are guessing, of which the first ones tell as much.
const PER_SITE: u32 = 10;
/// Sites with a bound of their own. All others share the rest.
const SITES_MAX: usize = 32;
/// Recorded failures per minute of all sites without a bound of their own.
const REST: u32 = 60;
const MINUTE_MS: u64 = 60_000;

/// The failed sign-ins of the current minute.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<Minute>);

#[derive(Debug, Default)]
struct Minute {
    started_ms: u64,
    /// Failures of the first sites. Commands on the machine, which have no address, count as one.
    sites: Vec<(Option<IpAddr>, u32)>,
    rest: u32,
    left_out: u64,
}

/// Whether a failure is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admission {
    pub(super) is_recorded: bool,
    /// Failures of the minute before that were not recorded. They are given out once.
    pub(super) left_out_before: u64,
}

impl Failures {
    /// Counts a failure from `address` at `now_ms`.
    pub(super) fn admit(&self, address: Option<IpAddr>, now_ms: u64) -> Admission {
        let mut minute = self.0.lock();
        let left_out_before = minute.end(now_ms);
        let is_recorded = minute.count(address.map(site));
        minute.left_out += u64::from(!is_recorded);
        Admission { is_recorded, left_out_before }
    }

    /// Takes the number of failures that were not recorded, if their minute is over at `now_ms`.
    pub(super) fn take_left_out(&self, now_ms: u64) -> u64 {
        self.0.lock().end(now_ms)
    }
}

impl Minute {
    /// Starts a new minute when this one is over. Returns the number of failures that this one left out.
    fn end(&mut self, now_ms: u64) -> u64 {
        if now_ms.abs_diff(self.started_ms) < MINUTE_MS {
            return 0;
        }
        let left_out = self.left_out;
        *self = Minute { started_ms: now_ms, ..Minute::default() };
        left_out
    }

    fn count(&mut self, site: Option<IpAddr>) -> bool {
        let is_known = self.sites.iter().any(|(known, _)| *known == site);
        if !is_known && self.sites.len() < SITES_MAX {
            self.sites.push((site, 0));
        }
        let known = self.sites.iter_mut().find(|(known, _)| *known == site);
        let (count, max) =
            known.map_or((&mut self.rest, REST), |(_, recorded)| (recorded, PER_SITE));
        *count = count.saturating_add(1);
        *count <= max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> Option<IpAddr> {
        Some(std::net::Ipv4Addr::from_bits(number).into())
    }

    /// The number of recorded failures of `tries` from an address.
    fn admitted(failures: &Failures, from: Option<IpAddr>, now_ms: u64, tries: u32) -> usize {
        (0..tries).filter(|_| failures.admit(from, now_ms).is_recorded).count()
    }

    #[test]
    fn a_bounded_number_per_minute_is_recorded() {
        let failures = Failures::default();
        assert_eq!(admitted(&failures, address(1), MINUTE_MS, 1000), 10);
        assert_eq!(admitted(&failures, address(1), 2 * MINUTE_MS - 1, 1000), 0);
        assert_eq!(admitted(&failures, address(1), 2 * MINUTE_MS, 1000), 10);
    }

    #[test]
    fn a_noisy_site_does_not_hide_a_quiet_one() {
        let failures = Failures::default();
        assert_eq!(admitted(&failures, address(1), MINUTE_MS, 1000), 10);
        assert_eq!(admitted(&failures, address(2), MINUTE_MS, 2), 2);
        assert_eq!(admitted(&failures, None, MINUTE_MS, 1000), 10);
        let of_site =
            |host: u16| Some(std::net::Ipv6Addr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, host]).into());
        assert_eq!(
            (0..1000).map(|host| admitted(&failures, of_site(host), MINUTE_MS, 1)).sum::<usize>(),
            10
        );
        let many: usize =
            (0..1000).map(|number| admitted(&failures, address(100 + number), MINUTE_MS, 1)).sum();
        assert_eq!(many, SITES_MAX - 4 + REST as usize);
    }

    #[test]
    fn the_number_of_failures_left_out_is_given_out_once() {
        let failures = Failures::default();
        admitted(&failures, address(1), MINUTE_MS, 25);
        assert_eq!(failures.take_left_out(MINUTE_MS + 1), 0);
        let next = failures.admit(address(1), 2 * MINUTE_MS);
        assert_eq!(next, Admission { is_recorded: true, left_out_before: 15 });
        assert_eq!(failures.admit(address(1), 2 * MINUTE_MS).left_out_before, 0);
        admitted(&failures, address(1), 2 * MINUTE_MS, 9);
        assert_eq!(failures.take_left_out(3 * MINUTE_MS), 1);
        assert_eq!(failures.take_left_out(4 * MINUTE_MS), 0);
    }
}
