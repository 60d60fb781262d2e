//! Faults that were once in this crate, for the simulator to find again.

weir_table::faults! {
    /// A clock that jumped back lowers the expiry of a bucket.
    ExpiryLowered,
    /// A bucket expires before its debt is repaid.
    DebtForgiven,
    /// A take from a bucket that is full by now leaves its refill to a later one.
    DoubleBurst,
    /// A remembered refusal of a cascade has the child's limits and retry-after only.
    ChildRefusal,
    /// The limits of a caller apply to later requests without any.
    StickyCallerLimits,
}
