//! Faults for the simulator to find: some were once in this crate, and the others undo a rule that keeps it exact.

weir_table::faults! {
    /// The counter of a day is raised without a condition.
    CounterUnconditional,
    /// The record of an idempotency key is one of its day, so a retry after midnight does not find it.
    KeyLostAtMidnight,
    /// A request on an earlier day than the latest one counts on the earlier day.
    DayReopened,
    /// A request in flight does not check that its user still has the plan and the flags that decided.
    StandingUnchecked,
    /// An email address is reserved although another user has it.
    EmailShared,
    /// A run that becomes private stays in the feed.
    FeedEntryStays,
    /// The end of a job does not raise the beat of its lease, so a claim in flight takes it over.
    EndedTakenOver,
    /// The attempts of a job are not bounded.
    AttemptsUnbounded,
    /// A worker that lost its lease ends the job.
    FenceUnchecked,
}
