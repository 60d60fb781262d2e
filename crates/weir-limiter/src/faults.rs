//! Faults that were once in this crate, for the simulator to find again.
//!
//! Each is consulted where its fix decides. Without the feature `faults` none exists, and the compiler removes the question.

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
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

#[cfg(feature = "faults")]
mod injected {
    use std::cell::Cell;

    use super::Fault;

    thread_local! {
        static INJECTED: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    /// Injects a fault into everything that this thread does, or none.
    pub fn inject(fault: Option<Fault>) {
        INJECTED.set(fault);
    }

    /// Whether this fault is injected.
    pub(crate) fn is(fault: Fault) -> bool {
        INJECTED.get() == Some(fault)
    }
}

#[cfg(not(feature = "faults"))]
mod injected {
    use super::Fault;

    /// Whether this fault is injected.
    pub(crate) const fn is(_: Fault) -> bool {
        false
    }
}

#[cfg(feature = "faults")]
pub use injected::inject;
pub(crate) use injected::is;
