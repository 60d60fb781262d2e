//! Faults for the simulator to find: some were once in this crate, and the others undo a rule that keeps reviews exact.

weir_table::faults! {
    /// A transaction below a review does not check the revision.
    RevisionUnchecked,
    /// The review is written before its responses, findings and consensus.
    ReviewFirst,
    /// A replacement leaves what is no longer there.
    StaleChildren,
    /// A deletion or replacement does not mark the day of its review.
    DayUnmarked,
    /// A recording that is in the list of those that have begun is removed, although it has ended.
    EndedRemoved,
    /// A review is read without a second look at its revision.
    TornRead,
    /// A deletion forgets raw outputs that a second writer of the same content may still store.
    SecondWriterForgotten,
}
