//! The limits that a file wants: YAML, with a part for the system, one for resources and one for entities.
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
use weir_server::limiter::shapes::{EntityId, Limit, LimitName, Resource};

use super::level::{ALL_RESOURCES, Level};
use super::spec;
use crate::failure::Failure;

/// What a level is to say; compared with what it says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Wanted {
    /// Sorted by name.
    pub(super) limits: Vec<Limit>,
    pub(super) on_unavailable: Option<String>,
    /// Of the system only, as the one below; where the file does not name it, it stays as it is.
    pub(super) strict_version: Option<bool>,
    pub(super) auto_update: Option<bool>,
}

impl Wanted {
    /// What the level is to say where it says `there` now.
    pub(super) fn over(&self, there: Option<&Wanted>) -> Wanted {
        Wanted {
            strict_version: self.strict_version.or(there.and_then(|there| there.strict_version)),
            auto_update: self.auto_update.or(there.and_then(|there| there.auto_update)),
            ..self.clone()
        }
    }

    fn says_nothing(&self) -> bool {
        *self == Wanted::default()
    }
}

/// The levels that a file names.
pub(super) type Levels = BTreeMap<Level, Wanted>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    system: Option<SystemPart>,
    #[serde(default)]
    resources: BTreeMap<String, Part>,
    #[serde(default)]
    entities: BTreeMap<String, BTreeMap<String, Part>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    #[serde(default)]
    limits: BTreeMap<String, Rate>,
    on_unavailable: Option<Does>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SystemPart {
    #[serde(default)]
    limits: BTreeMap<String, Rate>,
    on_unavailable: Option<Does>,
    strict_version: Option<bool>,
    auto_update: Option<bool>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Does {
    Allow,
    Block,
}

/// A limit without its name: `100/min`, or its three numbers.
#[derive(Debug)]
enum Rate {
    Short(String),
    Full(Numbers),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    capacity: u64,
    refill_amount: u64,
    refill_period_seconds: u64,
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rate, D::Error> {
        deserializer.deserialize_any(RateVisitor)
    }
}

struct RateVisitor;

impl<'de> Visitor<'de> for RateVisitor {
    type Value = Rate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a rate like 100/min, or capacity, refill_amount and refill_period_seconds")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Rate, E> {
        // Its name is not known here, but its mistakes are told with their line.
        spec::named("x", text).map_err(E::custom)?;
        Ok(Rate::Short(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Rate, A::Error> {
        let numbers = Numbers::deserialize(MapAccessDeserializer::new(map));
        numbers.map(Rate::Full).map_err(A::Error::custom)
    }
}

/// The levels that the file `name` wants, whose content is `text`.
pub(super) fn read(name: &str, text: &str) -> Result<Levels, Failure> {
    let file: File = serde_saphyr::from_str(text).map_err(|error| {
        Failure::usage(format!("{name} is not a file of limits")).because(error)
    })?;
    let wrong = |problem: String| Failure::usage(format!("{name}: {problem}"));
    let mut levels = Levels::new();
    if let Some(part) = file.system {
        let wanted = wanted(&Level::System, part.limits, part.on_unavailable).map_err(wrong)?;
        let (strict_version, auto_update) = (part.strict_version, part.auto_update);
        levels.insert(Level::System, Wanted { strict_version, auto_update, ..wanted });
    }
    for (resource, part) in file.resources {
        Resource::new(&resource).map_err(|error| wrong(format!("resources: {error}")))?;
        let level = Level::Resource(resource);
        let wanted = wanted(&level, part.limits, part.on_unavailable).map_err(wrong)?;
        levels.insert(level, wanted);
    }
    for (entity, parts) in file.entities {
        EntityId::new(&entity).map_err(|error| wrong(format!("entities: {error}")))?;
        for (resource, part) in parts {
            if resource != ALL_RESOURCES {
                Resource::new(&resource).map_err(|error| wrong(format!("entities: {error}")))?;
            }
            let level = Level::Entity(entity.clone(), resource);
            let wanted = wanted(&level, part.limits, part.on_unavailable).map_err(wrong)?;
            levels.insert(level, wanted);
        }
    }
    match levels.iter().find(|(_, wanted)| wanted.says_nothing()) {
        Some((level, _)) => Err(wrong(format!("{level} says nothing; leave it out"))),
        None => Ok(levels),
    }
}

fn wanted(
    level: &Level,
    rates: BTreeMap<String, Rate>,
    does: Option<Does>,
) -> Result<Wanted, String> {
    let mut limits = Vec::with_capacity(rates.len());
    for (name, rate) in rates {
        limits.push(limit(&name, rate).map_err(|problem| format!("{level}, {name}: {problem}"))?);
    }
    let on_unavailable = does.map(|does| match does {
        Does::Allow => "allow".to_owned(),
        Does::Block => "block".to_owned(),
    });
    limits.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Wanted { limits, on_unavailable, ..Wanted::default() })
}

fn limit(name: &str, rate: Rate) -> Result<Limit, String> {
    let numbers = match rate {
        Rate::Short(text) => return spec::named(name, &text),
        Rate::Full(numbers) => numbers,
    };
    let limit = Limit {
        name: LimitName::new(name).map_err(|error| error.to_string())?,
        capacity: numbers.capacity,
        refill_amount: numbers.refill_amount,
        refill_period_seconds: numbers.refill_period_seconds,
    };
    limit.check().map_err(|error| error.to_string())?;
    Ok(limit)
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
        let told: Vec<_> = levels
            .iter()
            .map(|(level, wanted)| format!("{level}: {}", spec::line(&wanted.limits)))
            .collect();
        assert_eq!(
            told,
            [
                "system: rpm=100/min",
                "resource anthropic/claude: rpm=50/min tpm=10000/min,burst=20000",
                "entity user-1: rpm=500/min",
                "entity user-1 on gpt-4: rpm=10/s,burst=20",
            ]
        );
        assert_eq!(levels[&Level::System].on_unavailable.as_deref(), Some("block"));
        assert_eq!(read("x", "{}").unwrap(), Levels::new());
        let strict = read("x", "system: {strict_version: true, auto_update: false}").unwrap();
        let system = &strict[&Level::System];
        assert_eq!((system.strict_version, system.auto_update), (Some(true), Some(false)));
    }

    #[test]
    fn mistakes_in_a_file_are_told() {
        for (text, told) in [
            ("systems: {}", "systems"),
            ("system: {limits: {rpm: 100}}", "a rate like 100/min"),
            ("system: {limits: {rpm: 100/week}}", "is no limit"),
            ("system: {limits: {rpm: {capacity: 1}}}", "refill_amount"),
            ("system: {limits: {1: 1/min}}", "is not a limit"),
            ("system: {limits: {}}", "system says nothing; leave it out"),
            ("resources: {gpt-4: {limits: {}}}", "resource gpt-4 says nothing"),
            ("entities: {a: {_default_: {}}}", "entity a says nothing"),
            ("entities: {a: {gpt-4: {strict_version: true}}}", "strict_version"),
            ("system: {on_unavailable: maybe}", "maybe"),
            ("resources: {a b: {limits: {rpm: 1/s}}}", "is not a resource"),
            ("entities: {a/b: {_default_: {limits: {rpm: 1/s}}}}", "is not an entity"),
            ("system: {limits: {rpm: 1/s, rpm: 2/s}}", "rpm"),
            ("system: [", "not a file of limits"),
        ] {
            let failure = read("limits.yaml", text).unwrap_err().text();
            assert!(failure.contains(told), "{text}: {failure}");
        }
    }
}
