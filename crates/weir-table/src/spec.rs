//! The schema of a table: its keys, indexes, expiry attribute and change feed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::item::Item;
use crate::key::{Key, KeyValue};
use crate::limits;
use crate::value::{Kind, Name};

/// The schema of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// The table's name.
    pub name: String,
    /// The kind (S, N or B) of every key attribute of the table and its indexes.
    pub attributes: BTreeMap<Name, Kind>,
    /// The partition attribute.
    pub partition: Name,
    /// The sort attribute, if the table has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<Name>,
    /// Global secondary indexes.
    #[serde(default)]
    pub indexes: Vec<IndexSpec>,
    /// The attribute with an item's expiry, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Name>,
    /// Whether the table has a change feed.
    #[serde(default)]
    pub feed: bool,
}

/// A global secondary index. It is sparse: an item without its key attributes is not in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexSpec {
    /// The index's name.
    pub name: String,
    /// The partition attribute of the index.
    pub partition: Name,
    /// The sort attribute of the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<Name>,
    /// The attributes that the index projects.
    #[serde(default)]
    pub projection: Projection,
}

/// The attributes that an index projects besides the keys.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Projection {
    /// All attributes.
    #[default]
    All,
    /// No others.
    KeysOnly,
    /// These attributes.
    Include(BTreeSet<Name>),
}

impl Projection {
    /// Whether it includes an attribute that is part of no key.
    pub(crate) fn holds(&self, name: &str) -> bool {
        match self {
            Projection::All => true,
            Projection::KeysOnly => false,
            Projection::Include(names) => names.contains(name),
        }
    }
}

impl TableSpec {
    /// A table whose partition attribute is `partition`.
    pub fn new(name: impl Into<String>, partition: impl Into<Name>, kind: Kind) -> TableSpec {
        let partition = partition.into();
        TableSpec {
            name: name.into(),
            attributes: BTreeMap::from([(partition.clone(), kind)]),
            partition,
            sort: None,
            indexes: Vec::new(),
            ttl: None,
            feed: false,
        }
    }

    /// Adds the sort attribute.
    #[must_use]
    pub fn sort(mut self, name: impl Into<Name>, kind: Kind) -> TableSpec {
        let name = name.into();
        self.attributes.insert(name.clone(), kind);
        self.sort = Some(name);
        self
    }

    /// Declares the kind of an attribute that an index uses as a key.
    #[must_use]
    pub fn attribute(mut self, name: impl Into<Name>, kind: Kind) -> TableSpec {
        self.attributes.insert(name.into(), kind);
        self
    }

    /// Adds an index; its key attributes are declared with [`TableSpec::attribute`].
    #[must_use]
    pub fn index(mut self, index: IndexSpec) -> TableSpec {
        self.indexes.push(index);
        self
    }

    /// Sets the expiry attribute.
    #[must_use]
    pub fn ttl(mut self, name: impl Into<Name>) -> TableSpec {
        self.ttl = Some(name.into());
        self
    }

    /// Turns the change feed on.
    #[must_use]
    pub fn feed(mut self) -> TableSpec {
        self.feed = true;
        self
    }

    /// Whether `name` is part of the table's own key.
    #[must_use]
    pub fn is_key(&self, name: &str) -> bool {
        self.partition == name || self.sort.as_ref().is_some_and(|sort| sort == name)
    }

    /// The index called `name`.
    ///
    /// # Errors
    /// There is none.
    pub fn find_index(&self, name: &str) -> Result<&IndexSpec> {
        self.indexes.iter().find(|index| index.name == name).ok_or_else(|| {
            Error::invalid("index", format!("table {:?} has no index {name:?}", self.name))
        })
    }

    /// The key of `item`, checked.
    ///
    /// # Errors
    /// A key attribute is missing, of the wrong kind, empty or too long.
    pub fn key_of(&self, item: &Item) -> Result<Key> {
        let partition = self.key_value(item, &self.partition, limits::PARTITION_KEY_MAX)?;
        let sort = match &self.sort {
            Some(name) => Some(self.key_value(item, name, limits::SORT_KEY_MAX)?),
            None => None,
        };
        Ok(Key { partition, sort })
    }

    /// The key attributes of an item for a cursor: those of the table, and those of the index that is read.
    pub(crate) fn cursor_key(&self, index: Option<&IndexSpec>, item: &Item) -> Item {
        let of_index = index.map(|index| [Some(&index.partition), index.sort.as_ref()]);
        [Some(&self.partition), self.sort.as_ref()]
            .into_iter()
            .chain(of_index.into_iter().flatten())
            .flatten()
            .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
            .collect()
    }

    fn key_value(&self, item: &Item, name: &Name, max: usize) -> Result<KeyValue> {
        let value = item
            .get(name)
            .ok_or_else(|| Error::invalid(name.as_str(), "the key attribute is missing"))?;
        let key = KeyValue::from_value(value).ok_or_else(|| {
            Error::invalid(name.as_str(), format!("a key must be S, N or B, not {}", value.kind()))
        })?;
        self.check_key_value(name, &key, max)?;
        Ok(key)
    }

    /// Checks a key.
    ///
    /// # Errors
    /// A part is missing, superfluous, of the wrong kind, empty or too long.
    pub fn check_key(&self, key: &Key) -> Result<()> {
        self.check_key_value(&self.partition, &key.partition, limits::PARTITION_KEY_MAX)?;
        match (&self.sort, &key.sort) {
            (Some(name), Some(value)) => self.check_key_value(name, value, limits::SORT_KEY_MAX),
            (None, None) => Ok(()),
            (Some(name), None) => {
                Err(Error::invalid(name.as_str(), "the key attribute is missing"))
            }
            (None, Some(_)) => {
                Err(Error::invalid("key.sort", format!("table {:?} has no sort key", self.name)))
            }
        }
    }

    /// The kind of a key attribute. There are few, and most differ in length, so a linear search is faster than a lookup.
    pub(crate) fn declared(&self, name: &str) -> Option<Kind> {
        let found = self.attributes.iter().find(|(known, _)| known.as_str() == name);
        found.map(|(_, kind)| *kind)
    }

    pub(crate) fn check_key_value(&self, name: &Name, value: &KeyValue, max: usize) -> Result<()> {
        let declared = self.declared(name).unwrap_or(Kind::S);
        if value.kind() != declared {
            return Err(Error::invalid(
                name.as_str(),
                format!("the key is declared {declared}, not {}", value.kind()),
            ));
        }
        let length = match value {
            KeyValue::S(text) => text.len(),
            KeyValue::B(bytes) => bytes.len(),
            KeyValue::N(_) => return Ok(()),
        };
        if length == 0 {
            return Err(Error::invalid(name.as_str(), "a key must not be empty"));
        }
        if length > max {
            return Err(Error::invalid(
                name.as_str(),
                format!("the key has {length} bytes; at most {max} are allowed"),
            ));
        }
        Ok(())
    }

    /// Checks that every back-end supports the schema.
    ///
    /// # Errors
    /// Names the invalid field.
    pub fn check(&self) -> Result<()> {
        check_name("name", &self.name)?;
        for (name, kind) in &self.attributes {
            if !matches!(kind, Kind::S | Kind::N | Kind::B) {
                return Err(Error::invalid(
                    format!("attributes.{name}"),
                    format!("a key attribute must be S, N or B, not {kind}"),
                ));
            }
        }
        self.check_declared("partition", Some(&self.partition))?;
        self.check_declared("sort", self.sort.as_ref())?;
        if self.sort.as_ref() == Some(&self.partition) {
            return Err(Error::invalid("sort", "the sort attribute is the partition attribute"));
        }
        if self.indexes.len() > limits::INDEXES_MAX {
            return Err(Error::invalid(
                "indexes",
                format!("has more than {} indexes", limits::INDEXES_MAX),
            ));
        }
        let mut used: BTreeSet<&Name> = self.sort.iter().chain([&self.partition]).collect();
        let mut names = BTreeSet::new();
        for index in &self.indexes {
            let at = format!("indexes.{}", index.name);
            check_name(&at, &index.name)?;
            if !names.insert(&index.name) {
                return Err(Error::invalid(at, "two indexes have this name"));
            }
            self.check_declared(&format!("{at}.partition"), Some(&index.partition))?;
            self.check_declared(&format!("{at}.sort"), index.sort.as_ref())?;
            if index.sort.as_ref() == Some(&index.partition) {
                return Err(Error::invalid(
                    format!("{at}.sort"),
                    "the sort attribute is the partition attribute",
                ));
            }
            if index.projection == Projection::Include(BTreeSet::new()) {
                return Err(Error::invalid(format!("{at}.projection"), "includes no attribute"));
            }
            used.extend(index.sort.iter().chain([&index.partition]));
        }
        match self.attributes.keys().find(|name| !used.contains(name)) {
            Some(name) => Err(Error::invalid(
                format!("attributes.{name}"),
                "is declared but no key uses it; only key attributes are declared",
            )),
            None => Ok(()),
        }
    }

    fn check_declared(&self, at: &str, name: Option<&Name>) -> Result<()> {
        match name {
            Some(name) if !self.attributes.contains_key(name) => Err(Error::invalid(
                at,
                format!("unknown attribute {name:?}: declare its kind under `attributes`"),
            )),
            _ => Ok(()),
        }
    }

    /// The differences to `other`, as sentences; empty if there are none.
    #[must_use]
    pub fn differences(&self, other: &TableSpec) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |what: &str, ours: String, theirs: String| {
            if ours != theirs {
                found.push(format!("{what}: expected {ours}, found {theirs}"));
            }
        };
        let text = |name: Option<&Name>| name.map_or_else(|| "none".to_owned(), Name::to_string);
        let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
        compare("partition", self.partition.to_string(), other.partition.to_string());
        compare("sort", text(self.sort.as_ref()), text(other.sort.as_ref()));
        let kind = |spec: &TableSpec, name: &Name| {
            spec.attributes.get(name).map_or_else(|| "none".to_owned(), Kind::to_string)
        };
        let names = self.attributes.keys().chain(other.attributes.keys());
        for name in names.collect::<BTreeSet<_>>() {
            compare(&format!("attributes.{name}"), kind(self, name), kind(other, name));
        }
        compare("ttl", text(self.ttl.as_ref()), text(other.ttl.as_ref()));
        compare("feed", switch(self.feed), switch(other.feed));
        let index = |spec: &TableSpec, name: &str| {
            let index = spec.indexes.iter().find(|index| index.name == name);
            index.map_or_else(|| "none".to_owned(), IndexSpec::text)
        };
        let names = self.indexes.iter().chain(&other.indexes).map(|index| index.name.as_str());
        for name in names.collect::<BTreeSet<_>>() {
            compare(&format!("index {name}"), index(self, name), index(other, name));
        }
        found
    }
}

fn check_name(at: &str, name: &str) -> Result<()> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if (3..=255).contains(&name.len()) && name.chars().all(good) {
        return Ok(());
    }
    Err(Error::invalid(
        at,
        format!("{name:?} must be 3 to 255 of letters, digits, '_', '-' and '.'"),
    ))
}

impl IndexSpec {
    /// The keys and the projection as text.
    fn text(&self) -> String {
        let keys: Vec<&str> = [Some(&self.partition), self.sort.as_ref()]
            .into_iter()
            .flatten()
            .map(Name::as_str)
            .collect();
        let projection = match &self.projection {
            Projection::All => "all attributes".to_owned(),
            Projection::KeysOnly => "keys only".to_owned(),
            Projection::Include(names) => {
                names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")
            }
        };
        format!("{} with {projection}", keys.join(" and "))
    }

    /// An index that projects all attributes.
    pub fn new(name: impl Into<String>, partition: impl Into<Name>) -> IndexSpec {
        IndexSpec {
            name: name.into(),
            partition: partition.into(),
            sort: None,
            projection: Projection::All,
        }
    }

    /// Whether the index projects an attribute.
    #[must_use]
    pub fn holds(&self, table: &TableSpec, name: &str) -> bool {
        table.is_key(name)
            || self.partition == name
            || self.sort.as_ref().is_some_and(|sort| sort == name)
            || self.projection.holds(name)
    }

    /// Adds the sort attribute.
    #[must_use]
    pub fn sort(mut self, name: impl Into<Name>) -> IndexSpec {
        self.sort = Some(name.into());
        self
    }

    /// Projects keys only.
    #[must_use]
    pub fn keys_only(mut self) -> IndexSpec {
        self.projection = Projection::KeysOnly;
        self
    }

    /// Projects keys and these attributes.
    #[must_use]
    pub fn include<N: Into<Name>>(mut self, names: impl IntoIterator<Item = N>) -> IndexSpec {
        self.projection = Projection::Include(names.into_iter().map(Into::into).collect());
        self
    }
}
