//! The stored form of a config level: whole tokens and seconds, `l_{limit}_cp|ra|rp`.

use compact_str::format_compact;
use weir_table::{Item, Name};

use super::cache::UnknownAttribute;
use super::level::LevelRef;
use super::{LevelConfig, OnUnavailable};
use crate::bucket::Limit;
use crate::ids::LimitName;
use crate::keys;

/// How often the level was written.
pub(super) const VERSION: &str = "config_version";
const ON_UNAVAILABLE: &str = "on_unavailable";
const AUTO_UPDATE: &str = "auto_update";
const STRICT_VERSION: &str = "strict_version";
const CAPACITY: &str = "cp";
const REFILL: &str = "ra";
const PERIOD: &str = "rp";

fn attribute(limit: &LimitName, field: &str) -> Name {
    format_compact!("l_{limit}_{field}")
}

/// The limit and the field that an attribute stores.
fn parse(attribute: &str) -> Option<(&str, &str)> {
    let (limit, field) = attribute.strip_prefix("l_")?.rsplit_once('_')?;
    matches!(field, CAPACITY | REFILL | PERIOD).then_some((limit, field))
}

/// Attributes of a level that say nothing about limits. The last one is zae-limiter's.
const OTHERS: [&str; 10] = [
    "PK",
    "SK",
    "entity_id",
    "resource",
    "GSI3PK",
    "GSI3SK",
    "GSI4PK",
    "GSI4SK",
    VERSION,
    "audit_retention_days",
];

/// Decodes a level.
///
/// # Errors
/// Names an attribute that is unknown, or has a value that Weir cannot enforce. What a level means then is unknown, so it
/// may neither be skipped nor overwritten.
pub(super) fn decode(item: &Item) -> Result<LevelConfig, UnknownAttribute> {
    let mut config = LevelConfig::default();
    for (name, value) in item.attrs() {
        let unknown = || UnknownAttribute(name.clone());
        match (&**name, parse(name)) {
            // Reserved by zae-limiter: it limits writes, not users.
            (_, Some((limit, _))) if LimitName::stored(limit).is_wcu() => {}
            (_, Some((limit, CAPACITY))) => config.limits.push(self::limit(item, limit)?),
            (_, Some((limit, _))) => {
                let capacity = attribute(&LimitName::stored(limit), CAPACITY);
                item.get(&capacity).ok_or_else(unknown)?;
            }
            (ON_UNAVAILABLE, _) => {
                let policy = value.as_s().and_then(on_unavailable);
                config.on_unavailable = Some(policy.ok_or_else(unknown)?);
            }
            (AUTO_UPDATE, _) => config.auto_update = value.as_bool(),
            (STRICT_VERSION, _) => config.strict_version = value.as_bool(),
            (other, _) if OTHERS.contains(&other) => {}
            _ => return Err(unknown()),
        }
    }
    config.limits.sort_by(|a, b| a.name.cmp(&b.name));
    let version = item.i64(VERSION).and_then(|version| version.try_into().ok());
    config.version = version.unwrap_or_default();
    Ok(config)
}

fn limit(item: &Item, name: &str) -> Result<Limit, UnknownAttribute> {
    let name = LimitName::stored(name);
    let number = |field| {
        let attribute = attribute(&name, field);
        let value = item.i64(&attribute).and_then(|value| u64::try_from(value).ok());
        value.filter(|value| *value > 0).ok_or(UnknownAttribute(attribute))
    };
    let (capacity, refill_amount) = (number(CAPACITY)?, number(REFILL)?);
    let refill_period_seconds = number(PERIOD)?;
    Ok(Limit { name, capacity, refill_amount, refill_period_seconds })
}

fn on_unavailable(text: &str) -> Option<OnUnavailable> {
    let all = [OnUnavailable::Allow, OnUnavailable::Block];
    all.into_iter().find(|choice| choice.as_str() == text)
}

/// Encodes a level. Attributes of other programs in the `old` item stay.
pub(super) fn encode(level: LevelRef<'_>, config: &LevelConfig, old: Option<&Item>) -> Item {
    let mut item = old.cloned().unwrap_or_default();
    item.attrs_mut().retain(|name, _| {
        parse(name).is_none() && ![ON_UNAVAILABLE, AUTO_UPDATE, STRICT_VERSION].contains(&&**name)
    });
    let key = level.key();
    item.set("GSI4PK", level.ns.as_str());
    item.set("GSI4SK", key.partition.to_value());
    item.set("PK", key.partition.to_value());
    if let Some(sort) = key.sort {
        item.set("SK", sort.to_value());
    }
    if let Some(entity) = level.entity {
        item.set("entity_id", entity.as_str());
        item.set("GSI3PK", keys::gsi3_entity_config(level.ns, level.resource));
        item.set("GSI3SK", entity.as_str());
    }
    if let Some(resource) = level.named_resource() {
        item.set("resource", resource);
    }
    for limit in &config.limits {
        item.set(attribute(&limit.name, CAPACITY), limit.capacity);
        item.set(attribute(&limit.name, REFILL), limit.refill_amount);
        item.set(attribute(&limit.name, PERIOD), limit.refill_period_seconds);
    }
    if let Some(choice) = config.on_unavailable {
        item.set(ON_UNAVAILABLE, choice.as_str());
    }
    for (name, flag) in [(AUTO_UPDATE, config.auto_update), (STRICT_VERSION, config.strict_version)]
    {
        if let Some(flag) = flag {
            item.set(name, flag);
        }
    }
    item.set(VERSION, config.version);
    item
}

#[cfg(test)]
mod tests {
    use weir_table::Value;

    use super::super::Level;
    use super::*;
    use crate::ids::{EntityId, NamespaceId, Resource};

    fn ns() -> NamespaceId {
        NamespaceId::new("abcdefghijk").unwrap()
    }

    fn limit(name: &str, capacity: u64) -> Limit {
        Limit {
            name: LimitName::new(name).unwrap(),
            capacity,
            refill_amount: 7,
            refill_period_seconds: 60,
        }
    }

    fn text(item: &Item) -> Vec<String> {
        item.attrs().iter().map(|(name, value)| format!("{name} {value:?}")).collect()
    }

    #[test]
    fn the_items_of_levels_are_stable() {
        let (user, gpt) = (EntityId::new("user-1").unwrap(), Resource::new("gpt-4").unwrap());
        let config =
            LevelConfig { limits: vec![limit("rpm", 9)], version: 3, ..Default::default() };
        let number = |name: &str, value: i64| format!("{name} {:?}", Value::from(value));
        let word = |name: &str, value: &str| format!("{name} {:?}", Value::from(value));
        let numbers = |more: Vec<String>| {
            let mut all = more;
            all.extend(
                [("config_version", 3), ("l_rpm_cp", 9), ("l_rpm_ra", 7), ("l_rpm_rp", 60)]
                    .map(|(n, v)| number(n, v)),
            );
            all.sort();
            all
        };
        for (level, words) in [
            (
                Level::System,
                vec![
                    ("PK", "abcdefghijk/SYSTEM#"),
                    ("SK", "#CONFIG"),
                    ("GSI4PK", "abcdefghijk"),
                    ("GSI4SK", "abcdefghijk/SYSTEM#"),
                ],
            ),
            (
                Level::Resource(gpt.clone()),
                vec![
                    ("PK", "abcdefghijk/RESOURCE#gpt-4"),
                    ("SK", "#CONFIG"),
                    ("GSI4PK", "abcdefghijk"),
                    ("GSI4SK", "abcdefghijk/RESOURCE#gpt-4"),
                    ("resource", "gpt-4"),
                ],
            ),
            (
                Level::Entity(user, None),
                vec![
                    ("PK", "abcdefghijk/ENTITY#user-1"),
                    ("SK", "#CONFIG#_default_"),
                    ("GSI3PK", "abcdefghijk/ENTITY_CONFIG#_default_"),
                    ("GSI3SK", "user-1"),
                    ("GSI4PK", "abcdefghijk"),
                    ("GSI4SK", "abcdefghijk/ENTITY#user-1"),
                    ("entity_id", "user-1"),
                    ("resource", "_default_"),
                ],
            ),
        ] {
            let ns = ns();
            let item = encode(LevelRef::of(&ns, &level), &config, None);
            let words = words.into_iter().map(|(name, value)| word(name, value)).collect();
            let mut found = text(&item);
            found.sort();
            assert_eq!(found, numbers(words), "{level:?}");
        }
    }

    #[test]
    fn a_level_is_read_back_and_keeps_foreign_attributes() {
        let ns = ns();
        let level = LevelRef::of(&ns, &Level::System);
        let first = LevelConfig {
            limits: vec![limit("a", 1), limit("a_cp", 2), limit("b.c-d", 3)],
            on_unavailable: Some(OnUnavailable::Allow),
            auto_update: Some(true),
            strict_version: Some(false),
            version: 1,
        };
        let old = encode(level, &first, None).with("audit_retention_days", 30);
        assert_eq!(decode(&old).unwrap(), first);
        let second = LevelConfig { limits: vec![limit("b", 4)], version: 2, ..Default::default() };
        let new = encode(level, &second, Some(&old));
        assert_eq!(decode(&new).unwrap(), second);
        assert_eq!(new.i64("audit_retention_days"), Some(30));
    }

    #[test]
    fn what_a_level_cannot_mean_is_an_error() {
        let level = |extra: &[(&str, Value)]| {
            let item = Item::new().with("l_rpm_cp", 5).with("l_rpm_ra", 5).with("l_rpm_rp", 5);
            extra.iter().fold(item, |item, (name, value)| item.with(*name, value.clone()))
        };
        let wcu = [("l_wcu_cp", Value::from(5)), ("audit_retention_days", Value::from(30))];
        assert_eq!(decode(&level(&wcu)).unwrap().limits.len(), 1);
        for (name, value) in [
            ("disabled", Value::from(true)),
            ("disabled", Value::from("bypass")),
            ("cascade", Value::from(false)),
            ("sched_tz", Value::from("UTC")),
            ("l_rpm_sched", Value::from("1|x")),
            ("l_rpm_rsched", Value::from("1|x")),
            ("l_rpm_soft", Value::from(true)),
            ("w_tpm_cp", Value::from(5)),
            ("l_rpm_ra", Value::from(0)),
            ("l_rpm_cp", Value::from("5")),
            ("l_tpm_rp", Value::from(5)),
            ("on_unavailable", Value::from("perhaps")),
        ] {
            let found = decode(&level(&[(name, value)])).unwrap_err();
            assert_eq!(found, UnknownAttribute(name.into()));
        }
        let half = level(&[("l_tpm_cp", Value::from(5))]);
        assert_eq!(decode(&half).unwrap_err(), UnknownAttribute("l_tpm_ra".into()));
    }
}
