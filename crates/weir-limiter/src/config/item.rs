//! The stored form of a config level: whole tokens and seconds, `l_{limit}_cp|ra|rp`.

use compact_str::format_compact;
use weir_table::{Item, Name, Value};

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

/// Decodes a level. Ignores attributes of other programs, incomplete limits and `wcu`.
pub(super) fn decode(item: &Item) -> LevelConfig {
    let limit = |attribute: &str| {
        let (name, CAPACITY) = parse(attribute)? else { return None };
        let name = LimitName::stored(name);
        let number = |field| {
            let value = item.i64(&self::attribute(&name, field))?;
            u64::try_from(value).ok().filter(|value| *value > 0)
        };
        let (capacity, refill_amount) = (number(CAPACITY)?, number(REFILL)?);
        let refill_period_seconds = number(PERIOD)?;
        (!name.is_wcu()).then_some(Limit { name, capacity, refill_amount, refill_period_seconds })
    };
    let mut limits: Vec<Limit> = item.attrs().keys().filter_map(|name| limit(name)).collect();
    limits.sort_by(|a, b| a.name.cmp(&b.name));
    let flag = |name| item.get(name).and_then(Value::as_bool);
    LevelConfig {
        limits,
        on_unavailable: item.s(ON_UNAVAILABLE).and_then(on_unavailable),
        auto_update: flag(AUTO_UPDATE),
        strict_version: flag(STRICT_VERSION),
        version: item.i64(VERSION).and_then(|version| version.try_into().ok()).unwrap_or_default(),
    }
}

fn on_unavailable(text: &str) -> Option<OnUnavailable> {
    match text {
        "allow" => Some(OnUnavailable::Allow),
        "block" => Some(OnUnavailable::Block),
        _ => None,
    }
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
        assert_eq!(decode(&old), first);
        let second = LevelConfig { limits: vec![limit("b", 4)], version: 2, ..Default::default() };
        let new = encode(level, &second, Some(&old));
        assert_eq!(decode(&new), second);
        assert_eq!(new.i64("audit_retention_days"), Some(30));
    }

    #[test]
    fn incomplete_limits_are_ignored() {
        let item = Item::new()
            .with("l_rpm_cp", 5)
            .with("l_tpm_cp", 5)
            .with("l_tpm_ra", 5)
            .with("l_tpm_rp", 0)
            .with("l_wcu_cp", 5)
            .with("l_wcu_ra", 5)
            .with("l_wcu_rp", 5)
            .with("on_unavailable", "perhaps");
        assert_eq!(decode(&item), LevelConfig::default());
    }
}
