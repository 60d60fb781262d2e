//! A file of limits: YAML, with a section for the system, one for resources and one for entities.
//!
//! ```yaml
//! system:
//!   limits: {rpm: 100/min}
//!   on_unavailable: block
//! resources:
//!   gpt-4:
//!     limits: {rpm: 50/min, tpm: "10000/min,burst=20000"}
//! entities:
//!   user-1:
//!     _default_: {limits: {rpm: 500/min}}
//!     gpt-4: {limits: {rpm: {capacity: 20, refill_amount: 10, refill_period_seconds: 1}}}
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;
use weir_api::limiter::{ALL_RESOURCES, OnUnavailable, SetSystemLimitsRequest};
use weir_limiter::ids::{EntityId, Resource};

use super::level::Level;
use super::spec;
use crate::failure::Failure;
use crate::parse;

/// The configuration of a level, limits sorted by name. Only the system level uses all fields.
pub(super) type LevelConfig = SetSystemLimitsRequest;

/// Levels and their configuration.
pub(super) type Levels = BTreeMap<Level, LevelConfig>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    system: Option<SystemSection>,
    #[serde(default)]
    resources: BTreeMap<String, Section>,
    #[serde(default)]
    entities: BTreeMap<String, BTreeMap<String, Section>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    #[serde(default)]
    limits: BTreeMap<String, FileRate>,
    on_unavailable: Option<OnUnavailable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SystemSection {
    #[serde(default)]
    limits: BTreeMap<String, FileRate>,
    on_unavailable: Option<OnUnavailable>,
    strict_version: Option<bool>,
    auto_update: Option<bool>,
}

/// A rate as it is written, with its place in the file: `100/min`, or its three numbers.
type FileRate = Spanned<WrittenRate>;

#[derive(Debug)]
enum WrittenRate {
    Text(String),
    Numbers(spec::Rate),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    capacity: u64,
    refill_amount: u64,
    refill_period_seconds: u64,
}

impl<'de> Deserialize<'de> for WrittenRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WrittenRate, D::Error> {
        deserializer.deserialize_any(RateVisitor)
    }
}

struct RateVisitor;

impl<'de> Visitor<'de> for RateVisitor {
    type Value = WrittenRate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a rate like 100/min, or capacity, refill_amount and refill_period_seconds")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<WrittenRate, E> {
        Ok(WrittenRate::Text(text.to_owned()))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<WrittenRate, E> {
        Ok(WrittenRate::Text(number.to_string()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WrittenRate, A::Error> {
        let numbers = Numbers::deserialize(MapAccessDeserializer::new(map));
        let Numbers { capacity, refill_amount, refill_period_seconds } =
            numbers.map_err(A::Error::custom)?;
        Ok(WrittenRate::Numbers(spec::Rate { capacity, refill_amount, refill_period_seconds }))
    }
}

/// Parses `text`, the content of the file `name`.
pub(super) fn read(name: &str, text: &str) -> Result<Levels, Failure> {
    let file: File = parse::yaml(text).map_err(|problem| {
        Failure::usage(format!("{name} is not a file of limits")).because(problem)
    })?;
    let levels = levels(file).map_err(|problem| Failure::usage(format!("{name}: {problem}")))?;
    match levels.iter().find(|(_, config)| **config == LevelConfig::default()) {
        Some((level, _)) => {
            Err(Failure::usage(format!("{name}: {level} has no settings; leave it out")))
        }
        None => Ok(levels),
    }
}

fn levels(file: File) -> Result<Levels, String> {
    let mut levels = Levels::new();
    if let Some(section) = file.system {
        let config = config(&Level::System, section.limits, section.on_unavailable)?;
        let (strict_version, auto_update) = (section.strict_version, section.auto_update);
        levels.insert(Level::System, LevelConfig { strict_version, auto_update, ..config });
    }
    for (resource, section) in file.resources {
        Resource::new(&resource).map_err(|error| format!("resources: {error}"))?;
        let level = Level::Resource(resource);
        let config = config(&level, section.limits, section.on_unavailable)?;
        levels.insert(level, config);
    }
    for (entity, sections) in file.entities {
        EntityId::new(&entity).map_err(|error| format!("entities: {error}"))?;
        for (resource, section) in sections {
            if resource != ALL_RESOURCES {
                Resource::new(&resource).map_err(|error| format!("entities: {error}"))?;
            }
            let level = Level::Entity(entity.clone(), resource);
            let config = config(&level, section.limits, section.on_unavailable)?;
            levels.insert(level, config);
        }
    }
    Ok(levels)
}

/// The configuration of a level; its limits are sorted by name, as the map is.
fn config(
    level: &Level,
    rates: BTreeMap<String, FileRate>,
    on_unavailable: Option<OnUnavailable>,
) -> Result<LevelConfig, String> {
    let limit = |(name, rate): (String, FileRate)| {
        let Spanned { value, referenced: at, .. } = rate;
        let rate = match value {
            WrittenRate::Text(text) => spec::rate(&text),
            WrittenRate::Numbers(rate) => Ok(rate),
        };
        rate.and_then(|rate| spec::named(&name, rate)).map_err(|problem| {
            format!("line {}, column {}: {level}, {name}: {problem}", at.line(), at.column())
        })
    };
    let limits = rates.into_iter().map(limit).collect::<Result<_, _>>()?;
    Ok(LevelConfig { limits, on_unavailable, ..LevelConfig::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "
system:
  limits: {rpm: 100/min}
  on_unavailable: block
resources:
  anthropic/claude:
    limits:
      tpm: \"10000/min,burst=20000\"
      rpm: 50/min
entities:
  user-1:
    _default_: {limits: {rpm: 500/min}}
    gpt-4: {limits: {rpm: {capacity: 20, refill_amount: 10, refill_period_seconds: 1}}}
";

    #[test]
    fn a_file_names_levels() {
        let levels = read("limits.yaml", GOOD).unwrap();
        let shown: Vec<_> = levels
            .iter()
            .map(|(level, config)| format!("{level}: {}", spec::line(&config.limits)))
            .collect();
        assert_eq!(
            shown,
            [
                "system: rpm=100/min",
                "resource anthropic/claude: rpm=50/min tpm=10000/min,burst=20000",
                "entity user-1: rpm=500/min",
                "entity user-1 on gpt-4: rpm=10/s,burst=20",
            ]
        );
        assert_eq!(levels[&Level::System].on_unavailable, Some(OnUnavailable::Block));
        assert_eq!(read("x", "{}").unwrap(), Levels::new());
        let strict = read("x", "system: {strict_version: true, auto_update: false}").unwrap();
        let system = &strict[&Level::System];
        assert_eq!((system.strict_version, system.auto_update), (Some(true), Some(false)));
    }

    #[test]
    fn mistakes_in_a_file_are_explained() {
        for (text, expected) in [
            ("systems: {}", "systems"),
            ("system: {limits: {rpm: 100}}", "column 24: system, rpm: \"100\" is not a rate"),
            ("system: {limits: {rpm: 100/week}}", "line 1, column"),
            ("system:\n  limits:\n    rpm: 0/s", "line 3, column 10: system, rpm: "),
            ("system:\n  bounds: {}", "line 2, column "),
            ("system: {limits: {rpm: {capacity: 1}}}", "refill_amount"),
            ("system: {limits: {rpm: 0/s}}", "limit rpm"),
            ("system: {limits: {1: 1/min}}", "is not a limit"),
            ("system: {limits: {}}", "system has no settings; leave it out"),
            ("resources: {gpt-4: {limits: {}}}", "resource gpt-4 has no settings"),
            ("entities: {a: {_default_: {}}}", "entity a has no settings"),
            ("entities: {a: {gpt-4: {strict_version: true}}}", "strict_version"),
            ("system: {on_unavailable: maybe}", "maybe"),
            ("resources: {a b: {limits: {rpm: 1/s}}}", "is not a resource"),
            ("entities: {a/b: {_default_: {limits: {rpm: 1/s}}}}", "is not an entity"),
            ("system: {limits: {rpm: 1/s, rpm: 2/s}}", "rpm"),
            ("system: [", "not a file of limits"),
        ] {
            let failure = read("limits.yaml", text).unwrap_err().text();
            assert!(failure.contains(expected), "{text}: {failure}");
            assert!(!failure.contains('\n'), "{failure}");
        }
    }
}
