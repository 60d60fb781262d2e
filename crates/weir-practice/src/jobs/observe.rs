//! When a lease is over: its worker has sent nothing for the length of the lease, by the clock of one process.
//!
//! Every write of a worker to its lease raises a number, the beat. A process remembers which beat of a lease it saw, and how
//! long it has been the same. So no time of one clock is ever compared with a time of another: a clock that is ahead or
//! behind, by however much, takes nobody's lease (ADR 0036). A process that starts has seen nothing and waits for a whole
//! lease.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::bounds::{LEASE_SCAN_MS, LEASES_OBSERVED_MAX};
use crate::jobs::JobRef;
use crate::kinds::JobType;

/// A state of a lease: every claim raises the fencing number, every write of its worker the number of the beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Beat {
    pub(crate) fence: u64,
    pub(crate) number: u64,
}

/// The observations of a lease by this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Observation {
    beat: Beat,
    lease_ms: i64,
    /// How long the beat has been the same.
    same_ms: i64,
    /// When the lease was last read.
    at_ms: i64,
}

impl Observation {
    fn first(beat: Beat, lease_ms: i64, now_ms: i64) -> Observation {
        Observation { beat, lease_ms, same_ms: 0, at_ms: now_ms }
    }

    /// Reads the lease once more. The time between two reads counts for at most half of the lease, so that a clock that
    /// jumps ahead between them ends no lease; one that jumps back counts for nothing.
    fn again(self, beat: Beat, lease_ms: i64, now_ms: i64) -> Observation {
        if self.beat != beat {
            return Observation::first(beat, lease_ms, now_ms);
        }
        let passed_ms = now_ms.saturating_sub(self.at_ms).clamp(0, (lease_ms + 1) / 2);
        let same_ms = self.same_ms.saturating_add(passed_ms);
        Observation { beat, lease_ms, same_ms, at_ms: now_ms }
    }

    fn is_over(self) -> bool {
        self.same_ms >= self.lease_ms
    }
}

/// The observations of all leases by this process.
#[derive(Debug, Default)]
pub(crate) struct LeaseObserver {
    seen: Mutex<HashMap<JobRef, Observation>>,
    scans: Mutex<HashMap<JobType, Scan>>,
}

/// How far a process has read the list of leases.
#[derive(Debug, Clone, Default)]
struct Scan {
    at_ms: i64,
    cursor: Option<String>,
}

impl LeaseObserver {
    /// Records a lease as it was read; returns whether it is over.
    pub(crate) fn observe(&self, job: &JobRef, beat: Beat, lease_ms: i64, now_ms: i64) -> bool {
        let mut seen = self.seen.lock();
        let observation = match seen.get(job) {
            Some(before) => before.again(beat, lease_ms, now_ms),
            None => Observation::first(beat, lease_ms, now_ms),
        };
        if seen.len() >= LEASES_OBSERVED_MAX && !seen.contains_key(job) {
            // Leases of jobs that another process ended are not read any more.
            seen.retain(|_, other| {
                now_ms.abs_diff(other.at_ms) <= other.lease_ms.saturating_mul(2).unsigned_abs()
            });
        }
        // Too many at once: this one waits until others have ended, and those that are remembered go on.
        if seen.len() < LEASES_OBSERVED_MAX || seen.contains_key(job) {
            seen.insert(job.clone(), observation);
        }
        observation.is_over()
    }

    /// Whether the lease was over when it was last read, and this is its beat.
    pub(crate) fn is_over(&self, job: &JobRef, beat: Beat) -> bool {
        self.seen.lock().get(job).is_some_and(|seen| seen.beat == beat && seen.is_over())
    }

    /// Forgets a lease that has ended.
    pub(crate) fn forget(&self, job: &JobRef) {
        self.seen.lock().remove(job);
    }

    /// Jobs whose lease is over.
    pub(crate) fn abandoned(&self, job_type: JobType) -> Vec<JobRef> {
        let seen = self.seen.lock();
        let is_abandoned = |(job, observation): &(&JobRef, &Observation)| {
            job.job_type == job_type && observation.is_over()
        };
        let mut jobs: Vec<JobRef> =
            seen.iter().filter(is_abandoned).map(|(job, _)| job.clone()).collect();
        drop(seen);
        jobs.sort_unstable();
        jobs
    }

    /// Starts a read of the list of leases: the cursor of the page to read, or `None` if the last read was just now.
    pub(crate) fn start_scan(&self, job_type: JobType, now_ms: i64) -> Option<Option<String>> {
        let mut scans = self.scans.lock();
        match scans.get_mut(&job_type) {
            None => {
                scans.insert(job_type, Scan { at_ms: now_ms, cursor: None });
                Some(None)
            }
            Some(scan) if (now_ms - scan.at_ms).abs() >= LEASE_SCAN_MS => {
                scan.at_ms = now_ms;
                Some(scan.cursor.take())
            }
            Some(_) => None,
        }
    }

    /// Ends a read; the next one goes on at the cursor.
    pub(crate) fn end_scan(&self, job_type: JobType, cursor: Option<String>) {
        if let Some(scan) = self.scans.lock().get_mut(&job_type) {
            scan.cursor = cursor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::JobId;

    const LEASE_MS: i64 = 60_000;

    fn job(id: &str) -> JobRef {
        JobRef { job_type: JobType::ScriptGeneration, id: JobId::new(id).unwrap() }
    }

    /// Whether the lease is over at the last of these times, when the beats are as given.
    fn is_over(reads: &[(i64, u64)]) -> bool {
        let observer = LeaseObserver::default();
        let mut is_over = false;
        for (now_ms, number) in reads {
            is_over =
                observer.observe(&job("1"), Beat { fence: 1, number: *number }, LEASE_MS, *now_ms);
        }
        is_over
    }

    #[test]
    fn a_lease_is_over_when_nothing_changes_for_its_length() {
        assert!(!is_over(&[(0, 1)]));
        assert!(!is_over(&[(0, 1), (30_000, 1), (59_999, 1)]));
        assert!(is_over(&[(0, 1), (30_000, 1), (60_000, 1)]));
        assert!(!is_over(&[(0, 1), (30_000, 2), (60_000, 2)]));
        assert!(is_over(&[(0, 1), (30_000, 2), (60_000, 2), (90_000, 2)]));
    }

    #[test]
    fn a_clock_that_jumps_ends_no_lease_and_holds_up_none() {
        let year = 365 * 86_400_000;
        assert!(!is_over(&[(0, 1), (year, 1)]));
        assert!(!is_over(&[(0, 1), (year, 1), (year + 29_999, 1)]));
        assert!(is_over(&[(0, 1), (year, 1), (year + 30_000, 1)]));
        assert!(!is_over(&[(year, 1), (0, 1), (30_000, 1)]));
        assert!(is_over(&[(year, 1), (0, 1), (30_000, 1), (60_000, 1)]));
    }

    #[test]
    fn an_observer_remembers_a_bounded_number_of_leases() {
        let observer = LeaseObserver::default();
        for number in 0..=LEASES_OBSERVED_MAX {
            observer.observe(&job(&number.to_string()), Beat::default(), LEASE_MS, 0);
        }
        assert_eq!(observer.seen.lock().len(), LEASES_OBSERVED_MAX);
        // Those that it remembers end, and those that are read no more make room.
        for now_ms in [LEASE_MS / 2, LEASE_MS] {
            observer.observe(&job("0"), Beat::default(), LEASE_MS, now_ms);
        }
        assert_eq!(observer.abandoned(JobType::ScriptGeneration), [job("0")]);
        observer.observe(&job("new"), Beat::default(), LEASE_MS, 3 * LEASE_MS);
        assert_eq!(observer.seen.lock().len(), 2);
    }

    #[test]
    fn leases_are_read_at_intervals_by_any_clock() {
        let (observer, of) = (LeaseObserver::default(), JobType::ScriptGeneration);
        assert_eq!(observer.start_scan(of, 1_000), Some(None));
        observer.end_scan(of, Some("next".to_owned()));
        assert_eq!(observer.start_scan(of, 1_000 + LEASE_SCAN_MS - 1), None);
        assert_eq!(observer.start_scan(of, 1_000 + LEASE_SCAN_MS), Some(Some("next".to_owned())));
        assert_eq!(observer.start_scan(of, 0), Some(None), "the clock was set back");
        assert_eq!(observer.start_scan(JobType::ProblemExtraction, 0), Some(None));
    }
}
