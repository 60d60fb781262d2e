//! Validation of requests before they reach a back-end.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::expr::{self, Change, Condition, Update};
use crate::item::Item;
use crate::key::KeyValue;
use crate::limits;
use crate::request::{Action, Consistency, Extent, Get, Query, SortRange, Write};
use crate::spec::{IndexSpec, TableSpec};
use crate::value::{Kind, Name, Value};

/// Checks a get.
pub(crate) fn get(spec: &TableSpec, get: &Get) -> Result<()> {
    spec.check_key(&get.key)?;
    projection(get.projection.as_deref())
}

/// Checks a write.
pub(crate) fn write(spec: &TableSpec, write: &Write) -> Result<()> {
    condition(write.condition.as_ref())?;
    match &write.action {
        Action::Put(item) => self::item(spec, item),
        Action::Update(key, update) => {
            spec.check_key(key)?;
            expr::check::update(spec, update)
        }
        Action::Delete(key) => spec.check_key(key),
        Action::Check(key) => {
            spec.check_key(key)?;
            if write.condition.is_none() {
                return Err(Error::invalid("condition", "a check needs a condition"));
            }
            Ok(())
        }
    }
}

/// Checks an update and its condition, for any item.
pub(crate) fn update(
    spec: &TableSpec,
    update: &Update,
    condition: Option<&Condition>,
) -> Result<()> {
    self::condition(condition)?;
    expr::check::update(spec, update)
}

fn condition(condition: Option<&Condition>) -> Result<()> {
    condition.map_or(Ok(()), |condition| expr::check::condition("condition", condition))
}

/// Checks a whole item, before a put or after an update.
///
/// # Errors
/// Names the invalid attribute, or `item` if it is too large.
pub fn item(spec: &TableSpec, item: &Item) -> Result<()> {
    spec.key_of(item)?;
    for (name, value) in item.attrs() {
        attribute(name, value)?;
    }
    size(item)?;
    index_keys(spec, item)
}

/// Checks the item that an update made of the valid item `old`: only the changed attributes, and the size.
///
/// # Errors
/// An attribute is invalid, or the item is too large.
pub fn updated_item(spec: &TableSpec, old: &Item, new: &Item) -> Result<()> {
    let changed: Vec<&Name> = old.attrs().differences(new.attrs()).map(|(name, ..)| name).collect();
    changed_attributes(spec, changed.iter().copied(), new)?;
    size(new)
}

/// Checks the attributes that an update changed in a valid item, but not the size.
pub(crate) fn changed_attributes<'a>(
    spec: &TableSpec,
    names: impl Iterator<Item = &'a Name> + Clone,
    new: &Item,
) -> Result<()> {
    attributes(names.clone(), new)?;
    // A key of the table or of an index.
    if names.into_iter().any(|name| spec.attributes.contains_key(name)) {
        return item(spec, new);
    }
    Ok(())
}

/// Checks the attributes that an update set. Sums are numbers or sets and need no check.
pub(crate) fn set_attributes(update: &Update, new: &Item) -> Result<()> {
    let set = update.changes.iter().filter(|change| match change {
        Change::Set(..) => true,
        other => other.path().attribute.len() > limits::NAME_MAX,
    });
    attributes(set.map(|change| &change.path().attribute), new)
}

/// Checks the named attributes that the item has.
fn attributes<'a>(names: impl Iterator<Item = &'a Name>, item: &Item) -> Result<()> {
    for name in names {
        if let Some(value) = item.get(name) {
            attribute(name, value)?;
        }
    }
    Ok(())
}

fn attribute(name: &Name, value: &Value) -> Result<()> {
    if name.is_empty() || name.len() > limits::NAME_MAX {
        let max = limits::NAME_MAX;
        return Err(Error::invalid("item", format!("an attribute name has 1 to {max} bytes")));
    }
    expr::check::value(name, value)
}

/// Whether an item with an encoding of `encoded` bytes needs a check of its size. An encoding contains each name and at least
/// a byte per value, so the size is less than twice as much, and most items are far from the bound.
pub(crate) fn may_be_too_large(encoded: usize) -> bool {
    encoded > limits::ITEM_MAX / 2
}

/// Checks the size of an item.
///
/// # Errors
/// It is too large.
pub(crate) fn size(item: &Item) -> Result<()> {
    match item.size() {
        size if size <= limits::ITEM_MAX => Ok(()),
        size => {
            let max = limits::ITEM_MAX;
            let problem = format!("has {size} bytes; at most {max} are allowed");
            Err(Error::invalid("item", problem))
        }
    }
}

/// A key attribute of an index must have its declared kind and be neither empty nor too long.
fn index_keys(spec: &TableSpec, item: &Item) -> Result<()> {
    for index in &spec.indexes {
        let parts = [
            Some((&index.partition, limits::PARTITION_KEY_MAX)),
            index.sort.as_ref().map(|name| (name, limits::SORT_KEY_MAX)),
        ];
        for (name, max) in parts.into_iter().flatten() {
            if let Some(value) = item.get(name) {
                index_key(spec, &index.name, name, value, max)?;
            }
        }
    }
    Ok(())
}

fn index_key(spec: &TableSpec, index: &str, name: &Name, value: &Value, max: usize) -> Result<()> {
    let declared = spec.attributes.get(name).copied().unwrap_or(Kind::S);
    let wrong = |problem: String| {
        Error::invalid(name.as_str(), format!("the key of index {index:?} {problem}"))
    };
    if value.kind() != declared {
        return Err(wrong(format!("is declared {declared}, not {}", value.kind())));
    }
    match value.kind() {
        Kind::N => Ok(()),
        _ if value.size() == 0 => Err(wrong("must not be empty".into())),
        _ if value.size() > max => Err(wrong(format!("has {} bytes; at most {max}", value.size()))),
        _ => Ok(()),
    }
}

/// Checks the writes of a transaction together: their number, their size, no item twice.
pub(crate) fn transaction(specs: &[std::sync::Arc<TableSpec>], writes: &[Write]) -> Result<()> {
    count("writes", writes.len(), limits::TRANSACT_MAX)?;
    no_item_twice(specs, writes)?;
    let bytes: usize = writes.iter().map(write_size).sum();
    if bytes > limits::TRANSACT_BYTES_MAX {
        let max = limits::TRANSACT_BYTES_MAX;
        return Err(Error::invalid(
            "writes",
            format!("have {bytes} bytes; at most {max} are allowed"),
        ));
    }
    Ok(())
}

/// Checks the writes of a batch together.
pub(crate) fn batch_write(specs: &[std::sync::Arc<TableSpec>], writes: &[Write]) -> Result<()> {
    count("writes", writes.len(), limits::BATCH_WRITE_MAX)?;
    for (position, write) in writes.iter().enumerate() {
        if write.condition.is_some() || !matches!(write.action, Action::Put(_) | Action::Delete(_))
        {
            return Err(Error::invalid(
                format!("writes[{position}]"),
                "a batch takes puts and deletes without conditions",
            ));
        }
    }
    no_item_twice(specs, writes)
}

/// Checks the number of gets, and that no item is read twice.
pub(crate) fn gets(gets: &[Get], max: usize) -> Result<()> {
    count("gets", gets.len(), max)?;
    let mut seen = BTreeSet::new();
    match gets.iter().position(|get| !seen.insert((&get.table, &get.key))) {
        Some(twice) => {
            Err(Error::invalid(format!("gets[{twice}]"), "reads the same item as an earlier get"))
        }
        None => Ok(()),
    }
}

fn count(field: &str, found: usize, max: usize) -> Result<()> {
    if (1..=max).contains(&found) {
        return Ok(());
    }
    Err(Error::invalid(field, format!("got {found}; 1 to {max} are allowed")))
}

fn no_item_twice(specs: &[std::sync::Arc<TableSpec>], writes: &[Write]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for (position, (write, spec)) in writes.iter().zip(specs).enumerate() {
        let key = match &write.action {
            Action::Put(item) => spec.key_of(item)?,
            Action::Update(key, _) | Action::Delete(key) | Action::Check(key) => key.clone(),
        };
        if !seen.insert((&write.table, key)) {
            return Err(Error::invalid(
                format!("writes[{position}]"),
                "writes the same item as an earlier write",
            ));
        }
    }
    Ok(())
}

fn write_size(write: &Write) -> usize {
    match &write.action {
        Action::Put(item) => item.size(),
        Action::Update(..) | Action::Delete(_) | Action::Check(_) => 0,
    }
}

/// Checks a query or scan.
pub(crate) fn query(spec: &TableSpec, query: &Query) -> Result<()> {
    let (partition_name, sort_name) = match &query.index {
        Some(index) => {
            let index = spec.find_index(index)?;
            if query.consistency == Consistency::Strong {
                return Err(Error::invalid(
                    "consistency",
                    "an index cannot be read strongly consistent",
                ));
            }
            (&index.partition, index.sort.as_ref())
        }
        None => (&spec.partition, spec.sort.as_ref()),
    };
    match &query.extent {
        Extent::Partition { partition, sort, .. } => {
            spec.check_key_value(partition_name, partition, limits::PARTITION_KEY_MAX)?;
            sort_range(spec, sort_name, sort)?;
        }
        Extent::Everything { segment: Some((number, of)) } => {
            if !(1..=1_000_000).contains(of) || number >= of {
                return Err(Error::invalid(
                    "segment",
                    format!("{number} of {of} is not a valid segment"),
                ));
            }
        }
        Extent::Everything { segment: None } => {}
    }
    if query.limit == Some(0) {
        return Err(Error::invalid("limit", "must be at least 1"));
    }
    if query.count_only && query.projection.is_some() {
        return Err(Error::invalid("projection", "counting returns no items to project"));
    }
    if let Some(filter) = &query.filter {
        expr::check::condition("filter", filter)?;
        filter_spares_keys(filter, &[Some(partition_name), sort_name], &query.extent)?;
    }
    projection(query.projection.as_deref())?;
    match &query.index {
        Some(index) => index_holds(spec, spec.find_index(index)?, query),
        None => Ok(()),
    }
}

/// DynamoDB refuses to project attributes that an index lacks, and a query (not a scan) of an index that filters by them.
fn index_holds(spec: &TableSpec, index: &IndexSpec, query: &Query) -> Result<()> {
    let mut named: Vec<&Name> = Vec::new();
    if let (Some(filter), Extent::Partition { .. }) = (&query.filter, &query.extent) {
        expr::check::attributes(filter, &mut named);
    }
    let projected = query.projection.iter().flatten();
    named.extend(projected.map(|path| &path.attribute));
    match named.iter().find(|name| !index.holds(spec, name)) {
        Some(name) => Err(Error::invalid(
            name.as_str(),
            format!("index {:?} does not project this attribute", index.name),
        )),
        None => Ok(()),
    }
}

fn sort_range(spec: &TableSpec, name: Option<&Name>, range: &SortRange) -> Result<()> {
    let values = range.values();
    let Some(name) = name else {
        return if values.is_empty() {
            Ok(())
        } else {
            Err(Error::invalid("sort", "the table or index has no sort key"))
        };
    };
    for value in &values {
        spec.check_key_value(name, value, limits::SORT_KEY_MAX)?;
    }
    match range {
        SortRange::BeginsWith(KeyValue::N(_)) => {
            Err(Error::invalid(name.as_str(), "begins_with takes S or B, not N"))
        }
        SortRange::Between(low, high) if low > high => Err(Error::invalid(
            name.as_str(),
            "the lower bound of BETWEEN is greater than the upper one",
        )),
        _ => Ok(()),
    }
}

/// DynamoDB refuses a query whose filter names a key attribute; a scan may.
fn filter_spares_keys(
    filter: &expr::Condition,
    keys: &[Option<&Name>],
    extent: &Extent,
) -> Result<()> {
    if matches!(extent, Extent::Everything { .. }) {
        return Ok(());
    }
    let mut named = Vec::new();
    expr::check::attributes(filter, &mut named);
    match named.iter().find(|name| keys.contains(&Some(name))) {
        Some(name) => Err(Error::invalid(
            name.as_str(),
            "a query's filter cannot name a key attribute; narrow the sort range instead",
        )),
        None => Ok(()),
    }
}

fn projection(paths: Option<&[expr::Path]>) -> Result<()> {
    let Some(paths) = paths else { return Ok(()) };
    if paths.is_empty() {
        return Err(Error::invalid("projection", "names no attribute"));
    }
    for (position, path) in paths.iter().enumerate() {
        if path.attribute.is_empty() || path.steps.len() >= limits::NESTING_MAX {
            return Err(Error::invalid(format!("projection[{position}]"), "is not a valid path"));
        }
        if paths.iter().skip(position + 1).any(|other| path.overlaps(other)) {
            return Err(Error::invalid(path.to_string(), "two paths of the projection overlap"));
        }
    }
    Ok(())
}
