//! Faults that were once in this crate, for the simulator to find again.
//!
//! Each is consulted where its fix decides. Without the feature `faults` none exists, and the compiler removes the question.

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A submission whose response was lost is counted again.
    CountedTwice,
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
