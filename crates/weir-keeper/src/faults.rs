//! Faults that were once in this crate, for the simulator to find again.

weir_table::faults! {
    /// A submission whose response was lost is counted again.
    CountedTwice,
}
