//! Which changes of a job's status are allowed.

use crate::error::Error;
use crate::faults::{self, Fault};
use crate::jobs::JobRef;
use crate::kinds::JobStatus;

/// A requested change of a job's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// A worker claims the job.
    Claim {
        /// Whether the lease of the worker that has it is over.
        is_lease_over: bool,
        /// Whether the job was claimed as often as it may be.
        is_exhausted: bool,
    },
    /// The worker with this fencing number completes the job.
    Complete(u64),
    /// The worker with this fencing number reports that the job failed.
    Fail(u64),
    /// A failed job goes back into the queue.
    Retry,
    /// The job is cancelled.
    Cancel,
}

/// The decision on a transition of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The status changes to this one.
    Move(JobStatus),
    /// The status stays `PROCESSING`; another worker takes the lease over.
    TakeOver,
    /// The status changes to `FAILED`: too many workers died with the job.
    GiveUp,
    /// The job is already what the request makes it: the request is a repetition.
    AlreadyDone,
    /// A worker may not do this: it does not hold the job.
    LeaseLost(String),
    /// The status does not allow it.
    Conflict(String),
}

/// Decides on a change of a job with this status and this fencing number, which is that of the last claim.
#[must_use]
pub fn decide(status: JobStatus, fence: u64, change: Transition) -> Decision {
    use JobStatus::{Cancelled, Completed, Failed, Pending, Processing};
    match change {
        Transition::Complete(own) => end(status, fence, own, Completed),
        Transition::Fail(own) => end(status, fence, own, Failed),
        Transition::Claim { is_lease_over: true, is_exhausted } if status == Processing => {
            if is_exhausted {
                Decision::GiveUp
            } else {
                Decision::TakeOver
            }
        }
        Transition::Claim { .. } if status == Pending => Decision::Move(Processing),
        Transition::Claim { .. } if status == Processing => {
            Decision::Conflict("another worker holds the job".to_owned())
        }
        Transition::Retry if status.may_become(Pending) => Decision::Move(Pending),
        Transition::Cancel if status == Cancelled => Decision::AlreadyDone,
        Transition::Cancel if status.may_become(Cancelled) => Decision::Move(Cancelled),
        Transition::Claim { .. } | Transition::Retry | Transition::Cancel => {
            Decision::Conflict(format!("the job is {status}"))
        }
    }
}

fn end(status: JobStatus, fence: u64, own: u64, next: JobStatus) -> Decision {
    // The fencing number of a job that nobody has claimed is 0.
    if (own != fence && !faults::is(Fault::FenceUnchecked)) || fence == 0 {
        return Decision::LeaseLost(format!(
            "its fencing number is {own}, that of the job {fence}"
        ));
    }
    if status == next {
        return Decision::AlreadyDone;
    }
    if status.may_become(next) {
        return Decision::Move(next);
    }
    Decision::LeaseLost(format!("the job is {status}"))
}

impl Decision {
    /// The error of a refused change; `None` if it is allowed.
    pub(crate) fn refusal(self, job: &JobRef) -> Option<Error> {
        match self {
            Decision::Conflict(problem) => Some(Error::conflict(problem)),
            Decision::LeaseLost(problem) => {
                Some(Error::LeaseLost { job: job.to_string(), problem })
            }
            Decision::Move(_) | Decision::TakeOver | Decision::GiveUp | Decision::AlreadyDone => {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use JobStatus::{Cancelled, Completed, Failed, Pending, Processing};

    fn transitions() -> impl Strategy<Value = Transition> {
        prop_oneof![
            any::<(bool, bool)>().prop_map(|(is_lease_over, is_exhausted)| {
                Transition::Claim { is_lease_over, is_exhausted }
            }),
            (0..5_u64).prop_map(Transition::Complete),
            (0..5_u64).prop_map(Transition::Fail),
            Just(Transition::Retry),
            Just(Transition::Cancel),
        ]
    }

    /// How far a job is within one attempt; only a retry starts over.
    fn rank(status: JobStatus) -> u32 {
        match status {
            Pending => 0,
            Processing => 1,
            Completed | Failed | Cancelled => 2,
        }
    }

    proptest! {
        #[test]
        fn no_status_goes_backwards_but_by_a_retry(
            changes in proptest::collection::vec(transitions(), 0..40),
        ) {
            let (mut status, mut fence) = (Pending, 0);
            for change in changes {
                match decide(status, fence, change) {
                    Decision::Move(next) => {
                        prop_assert!(status.may_become(next));
                        let is_retry = change == Transition::Retry && status == Failed;
                        prop_assert!(rank(next) > rank(status) || is_retry);
                        prop_assert!(!matches!(status, Completed | Cancelled));
                        if next == Processing {
                            fence += 1;
                        }
                        status = next;
                    }
                    Decision::TakeOver => {
                        let is_exhausted = false;
                        let over = Transition::Claim { is_lease_over: true, is_exhausted };
                        prop_assert_eq!(change, over);
                        prop_assert_eq!(status, Processing);
                        fence += 1;
                    }
                    Decision::GiveUp => {
                        let is_exhausted = true;
                        let over = Transition::Claim { is_lease_over: true, is_exhausted };
                        prop_assert_eq!((change, status), (over, Processing));
                        status = Failed;
                    }
                    Decision::AlreadyDone => prop_assert_eq!(rank(status), 2),
                    Decision::LeaseLost(_) | Decision::Conflict(_) => {}
                }
            }
        }

        #[test]
        fn only_the_last_claim_ends_a_job(own in 0..5_u64, fence in 1..5_u64) {
            for change in [Transition::Complete(own), Transition::Fail(own)] {
                let is_moved = matches!(decide(Processing, fence, change), Decision::Move(_));
                prop_assert_eq!(is_moved, own == fence);
                prop_assert!(!matches!(decide(Pending, fence, change), Decision::Move(_)));
                prop_assert!(!matches!(decide(Cancelled, fence, change), Decision::Move(_)));
            }
        }
    }

    #[test]
    fn a_repeated_request_is_already_done() {
        for (status, change) in [
            (Completed, Transition::Complete(3)),
            (Failed, Transition::Fail(3)),
            (Cancelled, Transition::Cancel),
        ] {
            assert_eq!(decide(status, 3, change), Decision::AlreadyDone);
        }
        assert!(matches!(decide(Completed, 3, Transition::Fail(3)), Decision::LeaseLost(_)));
        assert!(matches!(decide(Pending, 0, Transition::Retry), Decision::Conflict(_)));
    }
}
