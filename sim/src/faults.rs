//! Faults that were once in the domains, injected again to show that the simulation finds them.

use std::ops::Range;

use weir_keeper::faults::Fault as KeeperFault;
use weir_limiter::faults::Fault as LimiterFault;

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
];

impl FaultCase {
    /// The domain that has the fault.
    #[must_use]
    pub fn domain(&self) -> Domain {
        match self.fault {
            Fault::Limiter(_) => Domain::Limiter,
            Fault::Keeper(_) => Domain::Keeper,
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
        }
    }
}
