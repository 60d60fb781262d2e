//! Statistics.

use weir_api::practice as api;
use weir_calendar::Day;
use weir_framework::time::time;
use weir_practice::stats::{
    DayStats, DayTopUser, RollupCheck, RollupDifference, Stats, TopUser, UsageCounts,
};
use weir_practice::usage::ClockReading;

/// Usage in a range of days.
pub(in crate::practice) fn stats((from, to): (Day, Day), stats: Stats) -> api::UsageStats {
    let day = |day: DayStats| api::DayStats {
        date: day.day.to_string(),
        hints: day.counts.hints,
        executions: day.counts.executions,
        active_users: day.active_users,
    };
    let top_user =
        |user: TopUser| api::TopUser { user_id: user.user.to_string(), total: user.total };
    api::UsageStats {
        from: from.to_string(),
        to: to.to_string(),
        hints: stats.counts.hints,
        executions: stats.counts.executions,
        days: stats.days.into_iter().map(day).collect(),
        top_users: stats.top_users.into_iter().map(top_user).collect(),
    }
}

/// The most active users of a day.
pub(in crate::practice) fn day_top_users(day: Day, users: Vec<DayTopUser>) -> api::DayTopUsers {
    let user = |one: DayTopUser| api::DayTopUser {
        user_id: one.user.to_string(),
        name: one.name,
        total: one.total,
        actions: one.actions.into_iter().map(super::usage::action_usage).collect(),
    };
    api::DayTopUsers { date: day.to_string(), users: users.into_iter().map(user).collect() }
}

/// The result of a verification.
pub(in crate::practice) fn verification(
    day: Day,
    check: RollupCheck,
    repair: bool,
) -> api::VerifyStatsResponse {
    let difference = |one: RollupDifference| api::UsageRollupDifference {
        user_id: one.user.map(|user| user.to_string()),
        stored: counts(one.stored),
        computed: counts(one.computed),
    };
    api::VerifyStatsResponse {
        date: day.to_string(),
        active_users: check.active_users,
        computed: counts(check.computed),
        is_repaired: repair && !check.differences.is_empty(),
        differences: check.differences.into_iter().map(difference).collect(),
    }
}

fn counts(counts: UsageCounts) -> api::UsageCounts {
    api::UsageCounts { hints: counts.hints, executions: counts.executions }
}

/// The clock, and the newest usage item.
pub(in crate::practice) fn clock(now_ms: i64, reading: &ClockReading) -> api::ClockResponse {
    api::ClockResponse {
        now: time(now_ms),
        newest_item_at: reading.newest_ms.map(time),
        ahead_ms: reading.ahead_ms,
        requests_ahead: reading.ahead_total,
    }
}
