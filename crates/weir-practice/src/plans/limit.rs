//! A limit of a plan; -1 is unlimited, as in the source.

use crate::bounds::PLAN_LIMIT_MAX;
use crate::error::{Error, Result};

/// How often something may be done, or how many there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlanLimit {
    /// Any number.
    Unlimited,
    /// At most this number.
    AtMost(u32),
}

impl PlanLimit {
    /// Reads a number; -1 is unlimited.
    ///
    /// # Errors
    /// The number is out of its bounds; the error names `field`.
    pub fn from_number(field: &str, number: i64) -> Result<PlanLimit> {
        if number == -1 {
            return Ok(PlanLimit::Unlimited);
        }
        let limit = u32::try_from(number).ok().filter(|limit| *limit <= PLAN_LIMIT_MAX);
        limit.map(PlanLimit::AtMost).ok_or_else(|| {
            let problem = format!("is {number}; -1 for unlimited, or 0 to {PLAN_LIMIT_MAX}");
            Error::invalid(field, problem)
        })
    }

    /// The number; -1 is unlimited.
    #[must_use]
    pub fn to_number(self) -> i64 {
        match self {
            PlanLimit::Unlimited => -1,
            PlanLimit::AtMost(limit) => i64::from(limit),
        }
    }

    /// Whether there may be one more after `count`.
    #[must_use]
    pub fn allows_after(self, count: u64) -> bool {
        match self {
            PlanLimit::Unlimited => true,
            PlanLimit::AtMost(limit) => count < u64::from(limit),
        }
    }

    /// How many there may be after `count`; `None` for any number.
    #[must_use]
    pub fn remaining(self, count: u64) -> Option<u64> {
        match self {
            PlanLimit::Unlimited => None,
            PlanLimit::AtMost(limit) => Some(u64::from(limit).saturating_sub(count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minus_one_is_unlimited() {
        for number in [-1, 0, 5, i64::from(PLAN_LIMIT_MAX)] {
            assert_eq!(PlanLimit::from_number("f", number).unwrap().to_number(), number);
        }
        for bad in [-2, i64::MIN, i64::from(PLAN_LIMIT_MAX) + 1, i64::MAX] {
            let error = PlanLimit::from_number("max_problems", bad).unwrap_err();
            assert!(error.to_string().starts_with("max_problems: "), "{error}");
        }
    }

    #[test]
    fn a_limit_allows_as_many_as_it_says() {
        let limit = PlanLimit::AtMost(2);
        assert!(limit.allows_after(1) && !limit.allows_after(2) && !limit.allows_after(3));
        assert_eq!((limit.remaining(0), limit.remaining(5)), (Some(2), Some(0)));
        assert!(!PlanLimit::AtMost(0).allows_after(0));
        assert!(PlanLimit::Unlimited.allows_after(u64::MAX));
        assert_eq!(PlanLimit::Unlimited.remaining(7), None);
    }
}
