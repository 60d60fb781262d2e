//! Whether a request is allowed, and on which day it counts. Pure.

use weir_calendar::Day;

use crate::plans::PlanLimit;

/// The inputs of a decision on a user's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Whether the user is active.
    pub is_active: bool,
    /// Whether the user is of the staff, whom no plan limits.
    pub is_staff: bool,
    /// The limit of the user's plan.
    pub limit: PlanLimit,
}

impl Standing {
    /// The limit that applies.
    #[must_use]
    pub fn limit(self) -> PlanLimit {
        if self.is_staff { PlanLimit::Unlimited } else { self.limit }
    }
}

/// The decision about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The request is allowed, and counted.
    Allow {
        /// How many there are with it.
        count: u64,
    },
    /// The limit is reached.
    Refuse {
        /// How many there are.
        count: u64,
    },
    /// The user is inactive.
    Forbid,
}

/// Decides about one more request after `count`.
#[must_use]
pub fn decide(standing: Standing, count: u64) -> Decision {
    if !standing.is_active {
        return Decision::Forbid;
    }
    if standing.limit().allows_after(count) {
        Decision::Allow { count: count.saturating_add(1) }
    } else {
        Decision::Refuse { count }
    }
}

/// The day on which a request counts: today, unless the user was counted on a later day already. So a clock that jumps back
/// does not reopen a day.
#[must_use]
pub fn counted_day(today: Day, latest: Option<Day>) -> Day {
    latest.map_or(today, |latest| latest.max(today))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_limit() -> impl Strategy<Value = PlanLimit> {
        prop_oneof![
            Just(PlanLimit::Unlimited),
            (0..20_u32).prop_map(PlanLimit::AtMost),
            any::<u32>().prop_map(PlanLimit::AtMost)
        ]
    }

    proptest! {
        #[test]
        fn exactly_as_many_as_the_limit_are_allowed(limit in 0..50_u32, requests in 0..100_u64) {
            let limit = PlanLimit::AtMost(limit);
            let standing = Standing { is_active: true, is_staff: false, limit };
            let mut allowed = 0;
            for _ in 0..requests {
                match decide(standing, allowed) {
                    Decision::Allow { count } => {
                        prop_assert_eq!(count, allowed + 1);
                        allowed = count;
                    }
                    other => prop_assert_eq!(other, Decision::Refuse { count: allowed }),
                }
            }
            prop_assert_eq!(Some(allowed), limit.remaining(0).map(|most| most.min(requests)));
        }

        #[test]
        fn staff_and_unlimited_plans_are_always_allowed(limit in any_limit(), count: u64) {
            let staff = Standing { is_active: true, is_staff: true, limit };
            let unlimited =
                Standing { is_active: true, is_staff: false, limit: PlanLimit::Unlimited };
            for standing in [staff, unlimited] {
                let expected = Decision::Allow { count: count.saturating_add(1) };
                prop_assert_eq!(decide(standing, count), expected);
            }
        }

        #[test]
        fn an_inactive_user_is_forbidden_everything(limit in any_limit(), count: u64, is_staff: bool) {
            let standing = Standing { is_active: false, is_staff, limit };
            prop_assert_eq!(decide(standing, count), Decision::Forbid);
        }

        #[test]
        fn a_smaller_limit_never_allows_more(a in any_limit(), b in any_limit(), count: u64) {
            let decision = |limit| decide(Standing { is_active: true, is_staff: false, limit }, count);
            let is_allowed = |limit| matches!(decision(limit), Decision::Allow { .. });
            let left = |limit: PlanLimit| limit.remaining(0).unwrap_or(u64::MAX);
            let (small, large) = if left(a) <= left(b) { (a, b) } else { (b, a) };
            prop_assert!(!is_allowed(small) || is_allowed(large));
        }

        #[test]
        fn the_counted_day_never_moves_back(days in prop::collection::vec(0..40_i64, 1..30)) {
            let first = Day::from_compact("20370120").unwrap();
            let mut latest = None;
            for day in days {
                let today = first.plus_days(day);
                let counted = counted_day(today, latest);
                prop_assert!(counted >= today && latest.is_none_or(|latest| counted >= latest));
                prop_assert!(counted == today || Some(counted) == latest);
                latest = Some(counted);
            }
        }
    }
}
