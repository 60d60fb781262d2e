//! From the domain to the wire. Tokens are whole there: available ones round down, missing ones round up.

use std::collections::BTreeMap;

use weir_api::limiter as api;
use weir_framework::time::time;
use weir_limiter::acquire::LimitStatus;
use weir_limiter::bucket::{Limit, MILLI};
use weir_limiter::buckets::{BucketView, LimitView};
use weir_limiter::config::{Level, LevelConfig, OnUnavailable, PlannedChange, Resolved, Source};
use weir_limiter::entities::Entity;
use weir_limiter::ids::LimitName;
use weir_limiter::lease::{LeaseState, Settled};
use weir_limiter::namespaces::{Record, State};
use weir_limiter::{audit, usage};

fn named(amounts: BTreeMap<LimitName, i64>) -> api::Amounts {
    amounts.into_iter().map(|(name, amount)| (name.to_string(), amount)).collect()
}

fn rate_limits(limits: Vec<Limit>) -> Vec<api::RateLimit> {
    let rate_limit = |limit: Limit| api::RateLimit {
        name: limit.name.to_string(),
        capacity: limit.capacity,
        refill_amount: limit.refill_amount,
        refill_period_seconds: limit.refill_period_seconds,
    };
    limits.into_iter().map(rate_limit).collect()
}

pub(in crate::limiter) fn limit_status(status: LimitStatus) -> api::LimitStatus {
    api::LimitStatus {
        entity: status.entity.into(),
        name: status.limit.name.into(),
        capacity: status.limit.capacity,
        refill_amount: status.limit.refill_amount,
        refill_period_seconds: status.limit.refill_period_seconds,
        available: whole_tokens(status.available_milli),
        requested: status.requested,
        deficit: whole_tokens_up(status.deficit_milli),
        retry_after_ms: status.retry_after_ms,
    }
}

pub(in crate::limiter) fn lease_response(settled: Settled) -> api::LeaseResponse {
    api::LeaseResponse {
        id: settled.id,
        state: match settled.state {
            LeaseState::Open => api::LeaseState::Open,
            LeaseState::Committed => api::LeaseState::Committed,
            LeaseState::Released => api::LeaseState::Released,
            LeaseState::RolledBack => api::LeaseState::RolledBack,
            LeaseState::Expired => api::LeaseState::Expired,
        },
        net: named(settled.net),
        degraded: settled.degraded,
    }
}

pub(in crate::limiter) fn limits_response(level: LevelConfig) -> api::LimitsResponse {
    api::LimitsResponse {
        limits: rate_limits(level.limits),
        on_unavailable: level.on_unavailable.map(api_on_unavailable),
        auto_update: level.auto_update,
        strict_version: level.strict_version,
        version: level.version,
    }
}

pub(in crate::limiter) fn planned_change(change: PlannedChange) -> api::PlannedChange {
    let action = match (&change.before, &change.after) {
        _ if !change.is_change() => api::PlannedAction::None,
        (None, _) => api::PlannedAction::Add,
        (Some(_), None) => api::PlannedAction::Remove,
        (Some(_), Some(_)) => api::PlannedAction::Change,
    };
    let (level, entity, resource) = match change.level {
        Level::System => (api::LevelKind::System, None, None),
        Level::Resource(resource) => (api::LevelKind::Resource, None, Some(resource.to_string())),
        Level::Entity(entity, resource) => {
            let all = || api::ALL_RESOURCES.to_owned();
            let resource = resource.map_or_else(all, |resource| resource.to_string());
            (api::LevelKind::Entity, Some(entity.to_string()), Some(resource))
        }
    };
    let limits = |config: LevelConfig| api::LevelLimits {
        limits: rate_limits(config.limits),
        on_unavailable: config.on_unavailable.map(api_on_unavailable),
    };
    api::PlannedChange {
        level,
        resource,
        entity,
        action,
        before: change.before.map(limits),
        after: change.after.map(limits),
        entities: change.entities,
        is_complete: change.is_complete,
    }
}

pub(in crate::limiter) fn effective_limits(resolved: Resolved) -> api::EffectiveLimitsResponse {
    api::EffectiveLimitsResponse {
        limits: rate_limits(resolved.limits),
        limits_from: source(resolved.limits_from),
        on_unavailable: api_on_unavailable(resolved.on_unavailable),
        on_unavailable_from: source(resolved.on_unavailable_from),
    }
}

fn api_on_unavailable(decision: OnUnavailable) -> api::OnUnavailable {
    match decision {
        OnUnavailable::Allow => api::OnUnavailable::Allow,
        OnUnavailable::Block => api::OnUnavailable::Block,
    }
}

fn source(source: Source) -> api::LimitsSource {
    match source {
        Source::Entity => api::LimitsSource::Entity,
        Source::EntityDefault => api::LimitsSource::EntityDefault,
        Source::Resource => api::LimitsSource::Resource,
        Source::System => api::LimitsSource::System,
        Source::Caller => api::LimitsSource::Caller,
        Source::BuiltIn => api::LimitsSource::BuiltIn,
    }
}

pub(in crate::limiter) fn entity_response(entity: Entity) -> api::EntityResponse {
    api::EntityResponse {
        id: entity.id.to_string(),
        name: entity.name,
        parent: entity.parent.map(|parent| parent.to_string()),
        cascade: entity.cascade,
        metadata: entity.metadata,
        created_at: time(entity.created_ms),
        updated_at: time(entity.updated_ms),
        version: entity.version,
    }
}

pub(in crate::limiter) fn bucket_response(bucket: BucketView) -> api::BucketResponse {
    api::BucketResponse {
        entity: bucket.entity.to_string(),
        resource: bucket.resource.to_string(),
        shards: bucket.shards,
        limits: bucket.limits.into_iter().map(bucket_limit).collect(),
        expires_at: bucket.expires_ms.map(time),
        cascade: bucket.cascade,
        parent: bucket.parent.map(|parent| parent.to_string()),
    }
}

fn bucket_limit(view: LimitView) -> api::BucketLimit {
    api::BucketLimit {
        name: view.limit.name.to_string(),
        capacity: view.limit.capacity,
        refill_amount: view.limit.refill_amount,
        refill_period_seconds: view.limit.refill_period_seconds,
        available: whole_tokens(view.available_milli),
        consumed: whole_tokens(view.consumed_milli),
        full_in_ms: view.full_in_ms,
    }
}

fn api_usage_window(window: usage::Window) -> api::UsageWindow {
    match window {
        usage::Window::Hourly => api::UsageWindow::Hourly,
        usage::Window::Daily => api::UsageWindow::Daily,
        usage::Window::Monthly => api::UsageWindow::Monthly,
    }
}

pub(in crate::limiter) fn usage_snapshot(snapshot: usage::Snapshot) -> api::UsageSnapshot {
    api::UsageSnapshot {
        entity: snapshot.entity.to_string(),
        resource: snapshot.resource.to_string(),
        window: api_usage_window(snapshot.window),
        start: time(snapshot.start_ms),
        used: named(snapshot.used),
        events: snapshot.events,
    }
}

pub(in crate::limiter) fn usage_summary(
    filter: &usage::Filter,
    sums: usage::Summary,
) -> api::UsageSummary {
    api::UsageSummary {
        from: time(filter.from_ms),
        to: time(filter.to_ms),
        window: api_usage_window(filter.window),
        snapshots: sums.snapshots,
        total: named(sums.total),
        peak: named(sums.peak),
        events: sums.events,
    }
}

pub(in crate::limiter) fn audit_event(event: audit::AuditEvent) -> api::LimiterAuditEvent {
    api::LimiterAuditEvent {
        id: event.id,
        at: time(event.at_ms),
        action: event.action.as_str().to_owned(),
        subject: event.subject,
        principal: event.actor,
        resource: event.resource,
        before: event.before,
        after: event.after,
    }
}

pub(in crate::limiter) fn namespace_response(record: Record) -> api::NamespaceResponse {
    api::NamespaceResponse {
        name: record.name.to_string(),
        id: record.id.to_string(),
        state: match record.state {
            State::Active => api::NamespaceState::Active,
            State::Deleted => api::NamespaceState::Deleted,
            State::Purging => api::NamespaceState::Purging,
        },
        created_at: time(record.created_ms),
        deleted_at: record.deleted_ms.map(time),
    }
}

/// Whole tokens, rounded down.
pub(in crate::limiter) fn whole_tokens(milli: i64) -> i64 {
    milli.div_euclid(MILLI)
}

/// Whole tokens, rounded up.
fn whole_tokens_up(milli: i64) -> i64 {
    milli.div_euclid(MILLI) + i64::from(milli.rem_euclid(MILLI) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_tokens_round_down_and_missing_tokens_round_up() {
        for (milli, down, up) in
            [(0, 0, 0), (1, 0, 1), (999, 0, 1), (1_000, 1, 1), (-1, -1, 0), (-1_500, -2, -1)]
        {
            assert_eq!((whole_tokens(milli), whole_tokens_up(milli)), (down, up), "{milli}");
        }
    }
}
