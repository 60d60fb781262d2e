//! From the wire to the domain. A value that the domain refuses becomes an error that names the field it came in.

use std::collections::BTreeMap;

use weir_api::limiter as api;
use weir_framework::ApiError;
use weir_limiter::acquire::Acquire;
use weir_limiter::bounds::{LEASE_TTL_DEFAULT_MS, LEASE_TTL_MAX_MS};
use weir_limiter::bucket::Limit;
use weir_limiter::config::{Level, LevelConfig, OnUnavailable};
use weir_limiter::entities::NewEntity;
use weir_limiter::ids::{EntityId, LimitName, Resource};
use weir_limiter::lease::OnExpiry;
use weir_limiter::{Error, usage};

use crate::limiter::error::LimiterError;

const SECOND_MS: i64 = 1_000;

type Result<T> = std::result::Result<T, LimiterError>;

/// The result of checking a value, with an error that names `field`.
fn in_field<T>(field: &str, checked: weir_limiter::Result<T>) -> Result<T> {
    checked.map_err(|error| match error {
        Error::Invalid { problem, .. } => ApiError::invalid(field, problem).into(),
        other => other.into(),
    })
}

pub(in crate::limiter) fn entity_id(field: &str, text: &str) -> Result<EntityId> {
    in_field(field, EntityId::new(text))
}

pub(in crate::limiter) fn resource(text: &str) -> Result<Resource> {
    in_field("resource", Resource::new(text))
}

/// A resource, or none for [`api::ALL_RESOURCES`].
pub(in crate::limiter) fn resource_or_all(text: &str) -> weir_limiter::Result<Option<Resource>> {
    if text == api::ALL_RESOURCES { Ok(None) } else { Resource::new(text).map(Some) }
}

pub(in crate::limiter) fn amounts(
    field: &str,
    amounts: api::Amounts,
) -> Result<BTreeMap<LimitName, i64>> {
    let checked = |(name, amount)| Ok((in_field(field, LimitName::new(name))?, amount));
    amounts.into_iter().map(checked).collect()
}

/// Parses `rpm:1,tpm:500`.
pub(in crate::limiter) fn query_amounts(text: &str) -> Result<BTreeMap<LimitName, i64>> {
    let mut amounts = BTreeMap::new();
    for part in text.split(',') {
        let invalid = || {
            let problem = format!("{part:?} is not LIMIT:AMOUNT, for example rpm:1");
            ApiError::invalid("amounts", problem)
        };
        let (name, amount) = part.split_once(':').ok_or_else(invalid)?;
        let amount = amount.parse().map_err(|_| invalid())?;
        let name = in_field("amounts", LimitName::new(name))?;
        if amounts.contains_key(&name) {
            return Err(ApiError::invalid("amounts", format!("names {name} twice")).into());
        }
        amounts.insert(name, amount);
    }
    Ok(amounts)
}

fn limits(limits: Vec<api::RateLimit>) -> Result<Vec<Limit>> {
    let checked = |(index, limit): (usize, api::RateLimit)| {
        let name = LimitName::new(&limit.name);
        Ok(Limit {
            name: in_field(&format!("limits[{index}].name"), name)?,
            capacity: limit.capacity,
            refill_amount: limit.refill_amount,
            refill_period_seconds: limit.refill_period_seconds,
        })
    };
    limits.into_iter().enumerate().map(checked).collect()
}

pub(in crate::limiter) fn acquire(
    request: api::AcquireRequest,
    idempotency_key: Option<&str>,
) -> Result<Acquire> {
    let lease_ttl_ms = match request.lease_ttl_secs {
        None => LEASE_TTL_DEFAULT_MS,
        Some(secs) if (1..=LEASE_TTL_MAX_MS / SECOND_MS).contains(&secs) => secs * SECOND_MS,
        Some(secs) => {
            let max = LEASE_TTL_MAX_MS / SECOND_MS;
            let problem = format!("is {secs}; it must be from 1 to {max}");
            return Err(ApiError::invalid("lease_ttl_secs", problem).into());
        }
    };
    Ok(Acquire {
        entity: entity_id("entity", &request.entity)?,
        resource: resource(&request.resource)?,
        consume: amounts("consume", request.consume)?,
        limits: request.limits.map(limits).transpose()?,
        lease_ttl_ms,
        on_expiry: match request.on_expiry {
            api::OnExpiry::Keep => OnExpiry::Keep,
            api::OnExpiry::Rollback => OnExpiry::Rollback,
        },
        dry_run: request.dry_run,
        idempotency_key: idempotency_key.map(str::to_owned),
    })
}

pub(in crate::limiter) fn level_config(request: api::SetLimitsRequest) -> Result<LevelConfig> {
    Ok(LevelConfig {
        limits: limits(request.limits)?,
        on_unavailable: request.on_unavailable.map(on_unavailable),
        ..LevelConfig::default()
    })
}

pub(in crate::limiter) fn system_config(
    request: api::SetSystemLimitsRequest,
) -> Result<LevelConfig> {
    Ok(LevelConfig {
        limits: limits(request.limits)?,
        on_unavailable: request.on_unavailable.map(on_unavailable),
        auto_update: request.auto_update,
        strict_version: request.strict_version,
        version: 0,
    })
}

/// A level with its new config; none to delete it.
pub(in crate::limiter) fn planned_level(
    request: api::PlannedLevel,
) -> Result<(Level, Option<LevelConfig>)> {
    let missing = |field: &str| ApiError::invalid(field, "is missing for this level");
    let unknown = |field: &str| ApiError::invalid(field, "is not a part of this level");
    let level = match (request.level, &request.entity, &request.resource) {
        (api::LevelKind::System, None, None) => Level::System,
        (api::LevelKind::Resource, None, Some(name)) => Level::Resource(resource(name)?),
        (api::LevelKind::Entity, Some(id), name) => {
            let name = name.as_deref().unwrap_or(api::ALL_RESOURCES);
            Level::Entity(entity_id("entity", id)?, resource_or_all(name)?)
        }
        (api::LevelKind::Resource, None, None) => return Err(missing("resource").into()),
        (api::LevelKind::Entity, None, _) => return Err(missing("entity").into()),
        (api::LevelKind::System | api::LevelKind::Resource, Some(_), _) => {
            return Err(unknown("entity").into());
        }
        (api::LevelKind::System, None, Some(_)) => return Err(unknown("resource").into()),
    };
    let Some(rates) = request.limits else { return Ok((level, None)) };
    let config = LevelConfig {
        limits: limits(rates)?,
        on_unavailable: request.on_unavailable.map(on_unavailable),
        ..LevelConfig::default()
    };
    Ok((level, Some(config)))
}

fn on_unavailable(decision: api::OnUnavailable) -> OnUnavailable {
    match decision {
        api::OnUnavailable::Allow => OnUnavailable::Allow,
        api::OnUnavailable::Block => OnUnavailable::Block,
    }
}

pub(in crate::limiter) fn new_entity(
    id: &EntityId,
    request: api::PutEntityRequest,
) -> Result<NewEntity> {
    if request.name.as_ref().is_some_and(String::is_empty) {
        return Err(ApiError::invalid("name", "is empty; leave it out to use the id").into());
    }
    Ok(NewEntity {
        name: request.name.unwrap_or_else(|| id.to_string()),
        parent: parent(request.parent.as_deref())?,
        cascade: request.cascade,
        metadata: request.metadata,
    })
}

pub(in crate::limiter) fn parent(text: Option<&str>) -> Result<Option<EntityId>> {
    text.map(|text| entity_id("parent", text)).transpose()
}

pub(in crate::limiter) fn usage_window(window: api::UsageWindow) -> usage::Window {
    match window {
        api::UsageWindow::Hourly => usage::Window::Hourly,
        api::UsageWindow::Daily => usage::Window::Daily,
        api::UsageWindow::Monthly => usage::Window::Monthly,
    }
}

#[cfg(test)]
mod tests {
    use weir_framework::Code;

    use super::*;

    #[test]
    fn amounts_of_a_query_name_each_limit_once() {
        let amounts = query_amounts("rpm:1,tpm:500").unwrap();
        let amounts: Vec<_> =
            amounts.iter().map(|(name, amount)| (name.as_str(), *amount)).collect();
        assert_eq!(amounts, [("rpm", 1), ("tpm", 500)]);
        for wrong in ["", "rpm", "rpm:", "rpm:x", "1:1", "rpm:1,", "rpm:1,rpm:2"] {
            let error = ApiError::from(query_amounts(wrong).unwrap_err());
            assert_eq!(error.code(), Code::INVALID_REQUEST, "{wrong}");
        }
    }
}
