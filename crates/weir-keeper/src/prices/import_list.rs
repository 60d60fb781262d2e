//! The list of price imports: all in one item.

use std::collections::BTreeMap;

use weir_table::{Item, Name, Value};

use super::edition::Edition;
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::EventId;
use crate::keys;

const LIST: &str = "imports";
/// Version of the list: the condition of every change.
pub(super) const VERSION: &str = "version";
const FROM: &str = "from";
const MODELS: &str = "models";
const ACTOR: &str = "actor";
const AT: &str = "at_epoch";
const IS_OPEN: &str = "open";

/// A price import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceImport {
    /// The import id, ordered by time.
    pub id: EventId,
    /// The first UTC day its prices are in force.
    pub from: OrgDay,
    /// Number of models with prices.
    pub models: u64,
    /// The caller who imported it.
    pub actor: String,
    /// When it was begun, in seconds since 1970.
    pub at_epoch: i64,
    /// Whether it is still open: until it is closed it has no effect.
    pub is_open: bool,
}

/// All imports, as read at a time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ImportList {
    pub(super) version: i64,
    pub(super) read_ms: i64,
    pub(super) entries: BTreeMap<EventId, PriceImport>,
}

impl ImportList {
    /// Whether an edition is in force: it was fetched, or its import is closed.
    pub(super) fn is_in_force(&self, edition: &Edition) -> bool {
        let import = edition.import.as_ref();
        import.is_none_or(|id| self.entries.get(id).is_some_and(|import| !import.is_open))
    }

    /// Encodes the list.
    pub(super) fn encode(&self) -> Item {
        let import = |import: &PriceImport| {
            Value::map([
                (FROM, Value::from(import.from.to_string())),
                (MODELS, Value::from(import.models)),
                (ACTOR, Value::from(import.actor.as_str())),
                (AT, Value::from(import.at_epoch)),
                (IS_OPEN, Value::from(import.is_open)),
            ])
        };
        let entries =
            self.entries.iter().map(|(id, entry)| (Name::from(id.as_str()), import(entry)));
        keys::item(keys::imports()).with(VERSION, self.version).with(LIST, Value::map(entries))
    }

    /// Decodes the list; an absent item is an empty list.
    ///
    /// # Errors
    /// An attribute is missing or invalid.
    pub(super) fn decode(item: &Item) -> Result<ImportList> {
        let wrong =
            || Error::damaged("the list of imported prices", "an attribute is missing or invalid");
        let Some(list) = item.get(LIST) else { return Ok(ImportList::default()) };
        let Value::M(list) = list else { return Err(wrong()) };
        let import = |(id, value): (&Name, &Value)| {
            let Value::M(fields) = value else { return None };
            let id = EventId::new(id.as_str()).ok()?;
            let import = PriceImport {
                id: id.clone(),
                from: OrgDay::from_dashed(fields.get(FROM)?.as_s()?)?,
                models: u64::try_from(fields.get(MODELS)?.as_i64()?).ok()?,
                actor: fields.get(ACTOR)?.as_s()?.to_owned(),
                at_epoch: fields.get(AT)?.as_i64()?,
                is_open: fields.get(IS_OPEN)?.as_bool()?,
            };
            Some((id, import))
        };
        let entries: Option<_> = list.iter().map(import).collect();
        let version = item.i64(VERSION).ok_or_else(wrong)?;
        Ok(ImportList { version, read_ms: 0, entries: entries.ok_or_else(wrong)? })
    }
}

#[cfg(test)]
impl PriceImport {
    /// An import whose prices are in force.
    pub(super) fn closed(id: EventId, from: OrgDay) -> PriceImport {
        PriceImport { id, from, models: 1, actor: "ann".into(), at_epoch: 0, is_open: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_import_list_round_trips() {
        let id = EventId::new("01J").unwrap();
        let import = PriceImport {
            id: id.clone(),
            from: OrgDay::new(2026, 1, 23).unwrap(),
            models: 3,
            actor: "ann".to_owned(),
            at_epoch: 7,
            is_open: true,
        };
        let list = ImportList { version: 2, read_ms: 0, entries: BTreeMap::from([(id, import)]) };
        let mut item = list.encode();
        assert_eq!(ImportList::decode(&item).unwrap(), list);
        assert_eq!((item.s("PK"), item.i64("version")), (Some("IMPORTS"), Some(2)));
        assert_eq!(ImportList::decode(&Item::new()).unwrap(), ImportList::default());
        item.set("imports", Value::map([("01J", "x")]));
        assert!(ImportList::decode(&item).is_err());
    }
}
