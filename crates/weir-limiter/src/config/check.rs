//! Validates a config level.

use super::{Level, LevelConfig};
use crate::bucket::Limit;
use crate::error::{Error, Result};
use crate::ids::{Resource, zae};

/// Resources on which entities cannot have limits of their own: the registry stores a count under the resource's name, beside
/// these attributes. A count under `ttl` would even make the registry expire.
const ATTRIBUTES: &[&str] = &[
    "PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "GSI3PK", "GSI3SK", "GSI4PK", "GSI4SK",
    "ttl",
];

/// Validates the config of a level. `shared` also requires what zae-limiter accepts.
pub(super) fn check(level: &Level, config: &LevelConfig, shared: bool) -> Result<()> {
    let says_else = config.on_unavailable.is_some()
        || config.auto_update.is_some()
        || config.strict_version.is_some();
    if !(config.limits.is_empty() && says_else) {
        Limit::check_all(&config.limits)?;
    }
    if *level != Level::System {
        for (field, flag) in
            [("auto_update", config.auto_update), ("strict_version", config.strict_version)]
        {
            if flag.is_some() {
                return Err(Error::invalid(field, "can only be set on the system level"));
            }
        }
    }
    check_resource(level, shared)?;
    if shared {
        config.limits.iter().try_for_each(|limit| zae::limit(&limit.name))?;
    }
    Ok(())
}

fn check_resource(level: &Level, shared: bool) -> Result<()> {
    let resource: Option<&Resource> = match level {
        Level::System => None,
        Level::Resource(resource) => Some(resource),
        Level::Entity(_, resource) => resource.as_ref(),
    };
    let Some(resource) = resource else { return Ok(()) };
    if matches!(level, Level::Entity(..)) && ATTRIBUTES.contains(&resource.as_str()) {
        let problem = format!(
            "entities cannot have limits of their own on {resource}: it is a reserved name"
        );
        return Err(Error::invalid("resource", problem));
    }
    if shared { zae::resource(resource) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::OnUnavailable;
    use super::*;
    use crate::ids::{EntityId, LimitName};

    fn limit(name: &str) -> Limit {
        Limit::per_minute(LimitName::new(name).unwrap(), 5)
    }

    fn limits(limits: &[Limit]) -> LevelConfig {
        LevelConfig { limits: limits.to_vec(), ..LevelConfig::default() }
    }

    fn on(resource: &str) -> Level {
        Level::Resource(Resource::new(resource).unwrap())
    }

    fn of(resource: &str) -> Level {
        Level::Entity(EntityId::new("e").unwrap(), Some(Resource::new(resource).unwrap()))
    }

    #[test]
    fn invalid_levels_are_refused_by_field() {
        let many: Vec<Limit> = (0..17).map(|number| limit(&format!("l{number}"))).collect();
        let flag = |update, strict| LevelConfig {
            auto_update: update,
            strict_version: strict,
            ..limits(&[limit("rpm")])
        };
        for (level, config, field) in [
            (Level::System, limits(&[]), "limits"),
            (Level::System, limits(&many), "limits"),
            (Level::System, limits(&[limit("a"), limit("b"), limit("a")]), "limits"),
            (Level::System, limits(&[Limit { capacity: 0, ..limit("a") }]), "capacity"),
            (Level::System, limits(&[Limit { capacity: u64::MAX, ..limit("a") }]), "capacity"),
            (Level::System, limits(&[Limit { refill_amount: 0, ..limit("a") }]), "refill_amount"),
            (
                Level::System,
                limits(&[Limit { refill_period_seconds: 0, ..limit("a") }]),
                "refill_period_seconds",
            ),
            (on("gpt"), flag(Some(true), None), "auto_update"),
            (of("gpt"), flag(None, Some(false)), "strict_version"),
            (of("ttl"), limits(&[limit("a")]), "resource"),
            (of("PK"), limits(&[limit("a")]), "resource"),
        ] {
            let error = check(&level, &config, false).unwrap_err();
            assert!(
                matches!(&error, Error::Invalid { field: found, .. } if found == field),
                "{error}"
            );
        }
    }

    #[test]
    fn a_level_may_have_no_limits() {
        let word =
            LevelConfig { on_unavailable: Some(OnUnavailable::Allow), ..LevelConfig::default() };
        check(&of("gpt"), &word, false).unwrap();
        check(&on("ttl"), &limits(&[limit("a")]), false).unwrap();
        let flag = LevelConfig { strict_version: Some(true), ..LevelConfig::default() };
        check(&Level::System, &flag, false).unwrap();
    }

    #[test]
    fn a_shared_table_accepts_only_what_zae_limiter_accepts() {
        for (level, name, good) in [
            (on("gpt-4"), "rpm", true),
            (on("open/ai"), "r_pm", true),
            (on("open:ai"), "rpm", false),
            (Level::System, "r-pm", false),
            (Level::System, "r.pm", false),
        ] {
            let config = limits(&[limit(name)]);
            assert_eq!(check(&level, &config, true).is_ok(), good, "{level:?} {name}");
            assert!(check(&level, &config, false).is_ok());
        }
    }
}
