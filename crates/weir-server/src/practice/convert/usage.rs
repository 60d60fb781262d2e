//! Usage.

use weir_api::practice as api;
use weir_calendar::Day;
use weir_framework::time::time;
use weir_practice::Result;
use weir_practice::bounds::METADATA_MAX;
use weir_practice::ids::{IdempotencyKey, ProblemId};
use weir_practice::json::{from_value, object_value};
use weir_practice::kinds::Action;
use weir_practice::usage::{
    ActionUsage, CountDifference, DayReset, DayUsage, Recount, UsageAnswer, UsageLogEntry,
    UsageRequest,
};

use super::ms;

/// A request to do an action once.
pub(in crate::practice) fn usage_request(request: api::TakeUsageRequest) -> Result<UsageRequest> {
    let metadata = request.metadata.as_ref();
    let metadata = metadata.map(|json| object_value("metadata", json, METADATA_MAX));
    let key = request.idempotency_key.as_deref();
    Ok(UsageRequest {
        action: to_action(request.action),
        problem_id: request.problem_id.as_deref().map(ProblemId::new).transpose()?,
        metadata: metadata.transpose()?,
        idempotency_key: key.map(IdempotencyKey::new).transpose()?,
    })
}

fn to_action(action: api::UsageAction) -> Action {
    match action {
        api::UsageAction::Hint => Action::Hint,
        api::UsageAction::Execution => Action::Execution,
    }
}

fn action(action: Action) -> api::UsageAction {
    match action {
        Action::Hint => api::UsageAction::Hint,
        Action::Execution => api::UsageAction::Execution,
    }
}

/// The answer to a request to do an action.
pub(in crate::practice) fn usage_answer(answer: &UsageAnswer) -> api::TakeUsageResponse {
    api::TakeUsageResponse {
        action: action(answer.action),
        date: answer.day.to_string(),
        count: answer.count,
        limit: answer.limit.to_number(),
        remaining: answer.remaining,
        resets_at: time(ms(answer.resets_at_s)),
        is_repeated: answer.is_replay,
    }
}

/// Usage of a user on a day.
pub(in crate::practice) fn day_usage(usage: DayUsage) -> api::UserUsage {
    api::UserUsage {
        date: usage.day.to_string(),
        resets_at: time(ms(usage.resets_at_s)),
        actions: usage.actions.into_iter().map(action_usage).collect(),
    }
}

/// Usage of one action on a day.
pub(super) fn action_usage(usage: ActionUsage) -> api::ActionUsage {
    api::ActionUsage {
        action: action(usage.action),
        count: usage.count,
        limit: usage.limit.to_number(),
        remaining: usage.remaining,
    }
}

/// An action that was counted.
pub(in crate::practice) fn log_entry(entry: UsageLogEntry) -> api::UsageLogEntry {
    api::UsageLogEntry {
        at: time(entry.at_ms),
        action: action(entry.action),
        problem_id: entry.problem_id.map(|id| id.to_string()),
        metadata: entry.metadata.as_ref().map(from_value),
    }
}

/// The result of a recount.
pub(in crate::practice) fn recount(day: Day, recount: Recount) -> api::RecountResponse {
    let difference = |difference: CountDifference| api::CountDifference {
        action: action(difference.action),
        counted: difference.counted,
        logged: difference.logged,
    };
    api::RecountResponse {
        date: day.to_string(),
        differences: recount.differences.into_iter().map(difference).collect(),
        is_repaired: recount.repaired,
    }
}

/// The result of setting back the latest day.
pub(in crate::practice) fn day_reset(reset: Option<DayReset>) -> api::ResetDayResponse {
    api::ResetDayResponse {
        from: reset.map(|reset| reset.from.to_string()),
        to: reset.map(|reset| reset.to.to_string()),
    }
}
