//! Faults that a crate once had, for the simulator to find again.

/// Declares `Fault` with these variants, `is` to consult one where its fix decides, and, with the crate's feature `faults`,
/// `inject` to switch one on for the present thread. Without the feature no fault exists, and the compiler removes the
/// question.
#[macro_export]
macro_rules! faults {
    ($($(#[$doc:meta])* $fault:ident,)*) => {
        /// A fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Fault {$(
            $(#[$doc])*
            $fault,
        )*}

        #[cfg(feature = "faults")]
        thread_local! {
            static INJECTED: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
        }

        /// Injects a fault into everything that this thread does, or none.
        #[cfg(feature = "faults")]
        pub fn inject(fault: Option<Fault>) {
            INJECTED.set(fault);
        }

        /// Whether this fault is injected.
        #[cfg(feature = "faults")]
        pub(crate) fn is(fault: Fault) -> bool {
            INJECTED.get() == Some(fault)
        }

        /// Whether this fault is injected.
        #[cfg(not(feature = "faults"))]
        pub(crate) const fn is(_: Fault) -> bool {
            false
        }
    };
}
