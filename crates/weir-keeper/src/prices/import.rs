//! Imports as they are listed: all of them in one item.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_table::{Item, Name, Value};

use super::edition::Edition;
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::EventId;
use crate::keys;

const LIST: &str = "imports";
/// How often the list was changed: what a change is conditioned on.
pub(super) const VERSION: &str = "version";
const FROM: &str = "from";
const MODELS: &str = "models";
const BY: &str = "actor";
const AT: &str = "at_epoch";
const IS_OPEN: &str = "open";

/// An import of prices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Import {
    /// Its id; later ones sort behind earlier ones.
    pub id: EventId,
    /// The first day of UTC on which its prices hold.
    pub from: OrgDay,
    /// Of how many models it has prices.
    pub models: u64,
    /// Who imported it.
    pub by: String,
    /// When it was begun, in seconds since 1970.
    pub at_epoch: i64,
    /// Whether more is to come: until then it has no effect.
    pub is_open: bool,
}

/// All imports, as they were at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Imports {
    pub(super) version: i64,
    pub(super) read_ms: i64,
    pub(super) known: BTreeMap<EventId, Import>,
}

impl Imports {
    /// Whether an edition counts: it was fetched, or its import is whole.
    pub(super) fn has(&self, edition: &Edition) -> bool {
        let import = edition.import.as_ref();
        import.is_none_or(|id| self.known.get(id).is_some_and(|import| !import.is_open))
    }

    /// The one item of all of them.
    pub(super) fn encode(&self) -> Item {
        let import = |import: &Import| {
            Value::map([
                (FROM, Value::from(import.from.to_string())),
                (MODELS, Value::from(import.models)),
                (BY, Value::from(import.by.as_str())),
                (AT, Value::from(import.at_epoch)),
                (IS_OPEN, Value::from(import.is_open)),
            ])
        };
        let known = self.known.iter().map(|(id, known)| (Name::from(id.as_str()), import(known)));
        keys::item(keys::imports()).with(VERSION, self.version).with(LIST, Value::map(known))
    }

    /// Reads the item; where there is none there are no imports.
    ///
    /// # Errors
    /// Something is not what it should be.
    pub(super) fn decode(item: &Item) -> Result<Imports> {
        let wrong = || Error::damaged("the list of imported prices", "it is not what was written");
        let Some(list) = item.get(LIST) else { return Ok(Imports::default()) };
        let Value::M(list) = list else { return Err(wrong()) };
        let import = |(id, value): (&Name, &Value)| {
            let Value::M(fields) = value else { return None };
            let id = EventId::new(id.as_str()).ok()?;
            let import = Import {
                id: id.clone(),
                from: fields.get(FROM)?.as_s()?.parse().ok()?,
                models: u64::try_from(fields.get(MODELS)?.as_i64()?).ok()?,
                by: fields.get(BY)?.as_s()?.to_owned(),
                at_epoch: fields.get(AT)?.as_i64()?,
                is_open: fields.get(IS_OPEN)?.as_bool()?,
            };
            Some((id, import))
        };
        let known: Option<_> = list.iter().map(import).collect();
        let version = item.i64(VERSION).ok_or_else(wrong)?;
        Ok(Imports { version, read_ms: 0, known: known.ok_or_else(wrong)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_back_as_it_was_written() {
        let id = EventId::new("01J").unwrap();
        let import = Import {
            id: id.clone(),
            from: OrgDay::new(2026, 1, 23).unwrap(),
            models: 3,
            by: "ann".to_owned(),
            at_epoch: 7,
            is_open: true,
        };
        let list = Imports { version: 2, read_ms: 0, known: BTreeMap::from([(id, import)]) };
        let mut item = list.encode();
        assert_eq!(Imports::decode(&item).unwrap(), list);
        assert_eq!((item.s("PK"), item.i64("version")), (Some("IMPORTS"), Some(2)));
        assert_eq!(Imports::decode(&Item::new()).unwrap(), Imports::default());
        item.set("imports", Value::map([("01J", "x")]));
        assert!(Imports::decode(&item).is_err());
    }
}
