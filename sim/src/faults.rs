//! Faults that were once in the domains, or that undo one of their rules, injected to show that the simulation finds them.

use std::ops::Range;

use weir_keeper::faults::Fault as KeeperFault;
use weir_limiter::faults::Fault as LimiterFault;
use weir_practice::faults::Fault as PracticeFault;
use weir_reviews::faults::Fault as ReviewsFault;

use crate::check::{Check, Checks};
use crate::run;
use crate::trace::{Domain, Failure};

/// A fault, and the check that finds it.
#[derive(Debug, Clone, Copy)]
pub struct FaultCase {
    /// What goes wrong.
    pub name: &'static str,
    /// The check that finds it.
    pub check: Check,
    fault: Fault,
}

#[derive(Debug, Clone, Copy)]
enum Fault {
    Limiter(LimiterFault),
    Keeper(KeeperFault),
    Reviews(ReviewsFault),
    Practice(PracticeFault),
}

/// All faults.
pub const CASES: &[FaultCase] = &[
    FaultCase {
        name: "expiry lowered by a clock that jumped back",
        check: Check::ExpiryLowered,
        fault: Fault::Limiter(LimiterFault::ExpiryLowered),
    },
    FaultCase {
        name: "debt forgiven at expiry",
        check: Check::ExpiryCovers,
        fault: Fault::Limiter(LimiterFault::DebtForgiven),
    },
    FaultCase {
        name: "a burst of twice the capacity after a pause",
        check: Check::Ceiling,
        fault: Fault::Limiter(LimiterFault::DoubleBurst),
    },
    FaultCase {
        name: "a cached cascade refusal with the child's retry-after",
        check: Check::Refusal,
        fault: Fault::Limiter(LimiterFault::ChildRefusal),
    },
    FaultCase {
        name: "caller limits that stick",
        check: Check::CallerLimits,
        fault: Fault::Limiter(LimiterFault::StickyCallerLimits),
    },
    FaultCase {
        name: "a duplicate counted after a lost answer",
        check: Check::CountedOnce,
        fault: Fault::Keeper(KeeperFault::CountedTwice),
    },
    FaultCase {
        name: "a day's sum that overflows and is skipped",
        check: Check::TotalComplete,
        fault: Fault::Keeper(KeeperFault::OverflowSkipped),
    },
    FaultCase {
        name: "a slow writer of an older revision that still writes",
        check: Check::Revision,
        fault: Fault::Reviews(ReviewsFault::RevisionUnchecked),
    },
    FaultCase {
        name: "a review that is completed before its findings",
        check: Check::Whole,
        fault: Fault::Reviews(ReviewsFault::ReviewFirst),
    },
    FaultCase {
        name: "a replacement that leaves what is no longer there",
        check: Check::Whole,
        fault: Fault::Reviews(ReviewsFault::StaleChildren),
    },
    FaultCase {
        name: "a deleted review that stays in the sums of its day",
        check: Check::RollupComplete,
        fault: Fault::Reviews(ReviewsFault::DayUnmarked),
    },
    FaultCase {
        name: "a completed review removed as an abandoned recording",
        check: Check::Abandoned,
        fault: Fault::Reviews(ReviewsFault::EndedRemoved),
    },
    FaultCase {
        name: "a raw output that a second writer stores after a deletion",
        check: Check::RawOutput,
        fault: Fault::Reviews(ReviewsFault::SecondWriterForgotten),
    },
    FaultCase {
        name: "the same content answered with a review of other content",
        check: Check::Response,
        fault: Fault::Reviews(ReviewsFault::TornRead),
    },
    FaultCase {
        name: "a daily counter that is raised without a condition",
        check: Check::DailyLimit,
        fault: Fault::Practice(PracticeFault::CounterUnconditional),
    },
    FaultCase {
        name: "a retried key counted again after midnight",
        check: Check::TakesOnce,
        fault: Fault::Practice(PracticeFault::KeyLostAtMidnight),
    },
    FaultCase {
        name: "a closed day that a clock behind opens again",
        check: Check::DayClosed,
        fault: Fault::Practice(PracticeFault::DayReopened),
    },
    FaultCase {
        name: "a request in flight counted for a user who was deactivated",
        check: Check::Standing,
        fault: Fault::Practice(PracticeFault::StandingUnchecked),
    },
    FaultCase {
        name: "two users with one email address",
        check: Check::UniqueNames,
        fault: Fault::Practice(PracticeFault::EmailShared),
    },
    FaultCase {
        name: "a private run that stays in the feed",
        check: Check::Feed,
        fault: Fault::Practice(PracticeFault::FeedEntryStays),
    },
    FaultCase {
        name: "a job that ended and is taken over by a claim in flight",
        check: Check::LeaseHeld,
        fault: Fault::Practice(PracticeFault::EndedTakenOver),
    },
    FaultCase {
        name: "a job that is claimed again and again",
        check: Check::Attempts,
        fault: Fault::Practice(PracticeFault::AttemptsUnbounded),
    },
    FaultCase {
        name: "a worker that lost its lease and ends the job",
        check: Check::Fence,
        fault: Fault::Practice(PracticeFault::FenceUnchecked),
    },
];

impl FaultCase {
    /// The domain that has the fault.
    #[must_use]
    pub fn domain(&self) -> Domain {
        match self.fault {
            Fault::Limiter(_) => Domain::Limiter,
            Fault::Keeper(_) => Domain::Keeper,
            Fault::Reviews(_) => Domain::Reviews,
            Fault::Practice(_) => Domain::Practice,
        }
    }

    /// Runs seeds with the fault until its check finds it.
    ///
    /// # Panics
    /// The check fails in the same run without the fault: then it has found something else.
    #[must_use]
    pub fn find(&self, seeds: Range<u64>, steps: u64) -> Option<Failure> {
        self.inject(true);
        let checks = Checks::only(self.check);
        let found =
            seeds.into_iter().find_map(|seed| run(self.domain(), seed, steps, &checks).err());
        self.inject(false);
        let failure = *found?;
        if let Err(other) = run(self.domain(), failure.seed, failure.step, &checks) {
            panic!("without the fault \"{}\":\n{other}", self.name);
        }
        Some(failure)
    }

    fn inject(&self, is_on: bool) {
        match self.fault {
            Fault::Limiter(fault) => weir_limiter::faults::inject(is_on.then_some(fault)),
            Fault::Keeper(fault) => weir_keeper::faults::inject(is_on.then_some(fault)),
            Fault::Reviews(fault) => weir_reviews::faults::inject(is_on.then_some(fault)),
            Fault::Practice(fault) => weir_practice::faults::inject(is_on.then_some(fault)),
        }
    }
}
