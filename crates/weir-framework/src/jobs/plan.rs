//! Decides whether this instance may run a job now. Pure.
//!
//! The times in the item come from another instance's clock, and clocks may be set back. A lease has therefore
//! also expired, and a run is also due, when this instance's monotonic clock shows that the item has been unchanged
//! for the duration stored in it.

use std::time::Duration;

use super::record::Record;

/// The decision about a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Take the lease.
    Take,
    /// Another instance has the lease, for at most this time.
    LeasedBy(String, Duration),
    /// The job is not due for this time.
    NotDue(Duration),
}

/// The decision of instance `me` at `now_ms` about a job whose item has been the same for `unchanged`.
/// `requested` runs the job before it is due.
pub(super) fn plan(
    record: &Record,
    me: &str,
    now_ms: u64,
    unchanged: Duration,
    requested: bool,
) -> Step {
    let left = |until_ms: u64, lasts_ms: u64| {
        let by_wall = Duration::from_millis(until_ms.saturating_sub(now_ms));
        let by_watch = Duration::from_millis(lasts_ms).saturating_sub(unchanged);
        by_wall.min(by_watch)
    };
    if let Some(owner) = record.owner.as_ref().filter(|owner| *owner != me) {
        let left = left(record.lease_until_ms, record.lease_ms);
        if !left.is_zero() {
            return Step::LeasedBy(owner.clone(), left);
        }
        // The owner died in its run, so the run is still due.
        return Step::Take;
    }
    let left = left(record.due_ms, record.due_in_ms);
    if requested || left.is_zero() { Step::Take } else { Step::NotDue(left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn leased() -> Record {
        Record {
            owner: Some("you".into()),
            lease_until_ms: 1_030,
            lease_ms: 30,
            ..Record::default()
        }
    }

    fn ended() -> Record {
        Record { due_ms: 1_100, due_in_ms: 100, ..Record::default() }
    }

    #[test]
    fn a_job_that_never_ran_is_due() {
        assert_eq!(plan(&Record::default(), "me", 0, Duration::ZERO, false), Step::Take);
    }

    #[test]
    fn a_lease_of_another_is_kept_until_it_is_over() {
        let at = |now_ms| plan(&leased(), "me", now_ms, Duration::ZERO, true);
        assert_eq!(at(1_000), Step::LeasedBy("you".into(), 30 * MS));
        assert_eq!(at(1_029), Step::LeasedBy("you".into(), MS));
        assert_eq!(at(1_030), Step::Take);
        let own = plan(&leased(), "you", 1_000, Duration::ZERO, false);
        assert_eq!(own, Step::Take);
    }

    #[test]
    fn a_run_waits_until_it_is_due_or_asked_for() {
        let at = |now_ms, requested| plan(&ended(), "me", now_ms, Duration::ZERO, requested);
        assert_eq!(at(1_060, false), Step::NotDue(40 * MS));
        assert_eq!(at(1_060, true), Step::Take);
        assert_eq!(at(1_100, false), Step::Take);
    }

    #[test]
    fn a_clock_set_back_delays_nothing() {
        let waits = plan(&leased(), "me", 10, Duration::ZERO, false);
        assert_eq!(waits, Step::LeasedBy("you".into(), 30 * MS));
        assert_eq!(plan(&leased(), "me", 10, 30 * MS, false), Step::Take);
        let waits = plan(&ended(), "me", 10, 20 * MS, false);
        assert_eq!(waits, Step::NotDue(80 * MS));
        assert_eq!(plan(&ended(), "me", 10, 100 * MS, false), Step::Take);
    }
}
