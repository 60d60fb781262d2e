//! The checks of a run, each of which can be switched off.

use std::collections::BTreeSet;
use std::fmt;

/// A rule that holds after every step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum)]
pub enum Check {
    /// A bucket has no more than the model's, and is refilled at the same times.
    Level,
    /// A bucket has no less than the model's.
    Lost,
    /// A bucket has no fraction of a millitoken that the model has not.
    Fraction,
    /// No take from a bucket that is full by now leaves the time of its last refill in the past.
    Ceiling,
    /// An acquire takes no more than the model has.
    Overdraft,
    /// A refill time more than a minute ahead of the writer's clock is set back to that clock.
    ClockAhead,
    /// The expiry of a bucket is never lowered.
    ExpiryLowered,
    /// A bucket expires only when all its limits are full again.
    ExpiryCovers,
    /// A bucket that is made again after its expiry had been full.
    ExpiryForgets,
    /// A limit that is removed and added again does not refill.
    LimitAgain,
    /// The limits of a bucket are those of a level of the config, or the caller's own of this request.
    CallerLimits,
    /// The counters of consumption grow by what requests took.
    Consumption,
    /// A request with an idempotency key takes once.
    TakesOnce,
    /// A settlement takes effect once, and a lease holds what the model's does.
    Settlement,
    /// A response agrees with what was written.
    Response,
    /// A refusal is what a fresh instance would answer.
    Refusal,
    /// A refused request would be granted after its retry-after, and not before.
    RetryAfter,
    /// Child and parent pay together.
    Cascade,
    /// The recorded usage is the sum of what was consumed.
    Usage,
    /// A submission is counted once.
    CountedOnce,
    /// An accepted submission is counted.
    Counted,
    /// A retry with another timestamp is a retry.
    RebuiltRetry,
    /// A daily total never goes back, and is never more than its shards.
    TotalGrows,
    /// After a full pass a total is the sum of its shards.
    TotalComplete,
    /// No model is recommended whose recorded spend has reached its quota.
    Open,
    /// A sticky chain does not move back within its day.
    Sticky,
    /// The history of an org has all its submissions.
    History,
    /// A review that is completed has exactly what was recorded of it.
    Whole,
    /// Only writers of the present revision write below a review.
    Revision,
    /// The same content again changes nothing, and other content needs `replace`.
    SameContent,
    /// Nothing is left of a review whose deletion has finished.
    Deleted,
    /// The list of expiries names a raw output before it exists, and a response whose raw output is stored.
    RawOutput,
    /// Feedback stays with its finding as long as that is the same.
    Feedback,
    /// Lists have what the table has.
    Lists,
    /// Completed reviews have a summary, and others have none.
    Summary,
    /// After a full pass rollups are the sum of the completed reviews.
    RollupComplete,
    /// A review has the time that was sent, or that of its first recording.
    CreatedAt,
    /// A recording is removed if it began long ago and no reader has seen its review, and only then.
    Abandoned,
    /// No user does an action more often on a day than the plan allows.
    DailyLimit,
    /// A counter is raised by one together with its log item, and equals the number of log items.
    CounterLog,
    /// A request of a user who is inactive is not counted.
    Standing,
    /// A request counts today, or on the latest day on which its user was counted; that day moves back only by a reset.
    DayClosed,
    /// No two users share an email address or a Google id.
    UniqueNames,
    /// The counter of a plan is the number of its users.
    PlanUsers,
    /// A run is in the feed while it is public, and only then.
    Feed,
    /// No status of a job goes backwards, but by a retry.
    JobStatus,
    /// Fencing numbers grow by one with every claim, and only the worker with the last one ends its job, once.
    Fence,
    /// The lease of a job is held while the job is being processed, and only then.
    LeaseHeld,
    /// A job is not claimed more often than the settings allow.
    Attempts,
    /// In the end no job is left that nobody can claim.
    JobsEnd,
}

/// Checks that the present code fails, with the reason. A mended fault leaves this list.
pub const KNOWN_OPEN: &[(Check, &str)] = &[];

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}"))
    }
}

/// The checks that end a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checks {
    off: BTreeSet<Check>,
}

impl Checks {
    /// All checks.
    #[must_use]
    pub fn all() -> Checks {
        Checks { off: BTreeSet::new() }
    }

    /// All checks that the present code passes.
    #[must_use]
    pub fn expected() -> Checks {
        Checks { off: KNOWN_OPEN.iter().map(|(check, _)| *check).collect() }
    }

    /// One check alone.
    #[must_use]
    pub fn only(check: Check) -> Checks {
        use clap::ValueEnum as _;
        Checks {
            off: Check::value_variants().iter().copied().filter(|one| *one != check).collect(),
        }
    }

    /// All but one.
    #[must_use]
    pub fn without(mut self, check: Check) -> Checks {
        self.off.insert(check);
        self
    }

    /// Whether a check ends the run.
    #[must_use]
    pub fn is_on(&self, check: Check) -> bool {
        !self.off.contains(&check)
    }
}

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub check: Check,
    /// What was found, and what the model has.
    pub found: String,
}

impl Violation {
    /// A broken rule.
    pub fn new(check: Check, found: impl Into<String>) -> Violation {
        Violation { check, found: found.into() }
    }
}
