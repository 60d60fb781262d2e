//! Faults that were once in this crate, for the simulator to find again.

weir_table::faults! {
    /// A submission whose response was lost is counted again.
    CountedTwice,
    /// A total whose sum exceeds its bound is left as it is, and its chain stays open.
    OverflowSkipped,
}
