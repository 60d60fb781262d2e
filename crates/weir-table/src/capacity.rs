//! The cost of requests on DynamoDB, computed from the items they touch.
//!
//! Pure arithmetic over item sizes, by the rules that AWS publishes. Writes cost whole units of 1 KB; reads are in thousandths
//! of a unit, because an eventual read of 4 KB is half a unit. `tests/dynamodb` compares the results with DynamoDB Local.

use std::collections::BTreeMap;

use crate::item::Item;
use crate::request::Consistency;
use crate::spec::{IndexSpec, TableSpec};

/// Bytes of one write unit.
pub const WRITE_STEP: usize = 1024;
/// Bytes of one read unit.
pub const READ_STEP: usize = 4096;

/// Thousandths of a read unit for reading `bytes`: of an item, or of all items of a page together. Reading nothing costs as
/// much as reading a small item.
#[must_use]
pub fn read_milliunits(bytes: usize, consistency: Consistency) -> u64 {
    let step = match consistency {
        Consistency::Strong => 1000,
        Consistency::Eventual => 500,
    };
    steps(bytes, READ_STEP) * step
}

/// Thousandths of a read unit for an item read in a transaction.
#[must_use]
pub fn transact_read_milliunits(bytes: usize) -> u64 {
    transactional(read_milliunits(bytes, Consistency::Strong))
}

/// The cost in a transaction, which is prepared and then committed.
#[must_use]
pub fn transactional(units: u64) -> u64 {
    units * 2
}

/// Write units of a write whose condition was refused, by the stored item.
#[must_use]
pub fn refused_write(item: Option<&Item>) -> u64 {
    steps(item.map_or(0, Item::size), WRITE_STEP)
}

/// Write units of one write, of the table and of each index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteUnits {
    /// Units of the table.
    pub table: u64,
    /// Units of each written index, by name.
    pub indexes: BTreeMap<String, u64>,
}

impl WriteUnits {
    /// The cost of a write that replaces `old` by `new`.
    #[must_use]
    pub fn of(spec: &TableSpec, old: Option<&Item>, new: Option<&Item>) -> WriteUnits {
        let size = |item: Option<&Item>| item.map_or(0, Item::size);
        WriteUnits {
            table: steps(size(old).max(size(new)), WRITE_STEP),
            indexes: spec
                .indexes
                .iter()
                .map(|index| (index.name.clone(), index_units(spec, index, old, new)))
                .filter(|(_, units)| *units > 0)
                .collect(),
        }
    }

    /// The same write in a transaction.
    #[must_use]
    pub fn transactional(mut self) -> WriteUnits {
        self.table = transactional(self.table);
        for units in self.indexes.values_mut() {
            *units = transactional(*units);
        }
        self
    }

    /// Units of the table and of all indexes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.table + self.indexes()
    }

    /// Units of all indexes.
    #[must_use]
    pub fn indexes(&self) -> u64 {
        self.indexes.values().sum()
    }
}

/// Write units of an index: none if its entry stays the same, one entry written or removed, or both if the key of the entry
/// changes.
fn index_units(spec: &TableSpec, index: &IndexSpec, old: Option<&Item>, new: Option<&Item>) -> u64 {
    let old = old.and_then(|item| entry(spec, index, item));
    let new = new.and_then(|item| entry(spec, index, item));
    let cost = |entry: &Item| steps(entry.size(), WRITE_STEP);
    match (old, new) {
        (None, None) => 0,
        (None, Some(entry)) | (Some(entry), None) => cost(&entry),
        (Some(old), Some(new)) if old == new => 0,
        (Some(old), Some(new)) if same_key(index, &old, &new) => cost(&old).max(cost(&new)),
        (Some(old), Some(new)) => cost(&old) + cost(&new),
    }
}

fn same_key(index: &IndexSpec, old: &Item, new: &Item) -> bool {
    [&index.partition].into_iter().chain(&index.sort).all(|name| old.get(name) == new.get(name))
}

/// The projection of an item in an index; `None` if the item lacks a key attribute of the index.
fn entry(spec: &TableSpec, index: &IndexSpec, item: &Item) -> Option<Item> {
    item.get(&index.partition)?;
    if let Some(sort) = &index.sort {
        item.get(sort)?;
    }
    let attrs = item.attrs().iter();
    let held = attrs.filter(|(name, _)| index.holds(spec, name));
    Some(held.map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn steps(bytes: usize, step: usize) -> u64 {
    bytes.div_ceil(step).max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Kind;

    fn spec() -> TableSpec {
        TableSpec::new("things", "pk", Kind::S)
            .attribute("g", Kind::S)
            .index(IndexSpec::new("all", "g"))
            .index(IndexSpec::new("keys", "g").keys_only())
            .index(IndexSpec::new("some", "g").include(["x"]))
    }

    fn item(group: &str, x: &str, bytes: usize) -> Item {
        let item = Item::new().with("pk", "p").with("x", x);
        let item = item.with("fill", "f".repeat(bytes));
        if group.is_empty() { item } else { item.with("g", group) }
    }

    fn units(old: Option<Item>, new: Option<Item>) -> (u64, [u64; 3]) {
        let units = WriteUnits::of(&spec(), old.as_ref(), new.as_ref());
        let of = |name: &str| units.indexes.get(name).copied().unwrap_or(0);
        (units.table, [of("all"), of("keys"), of("some")])
    }

    #[test]
    fn reads_are_paid_by_4_kb() {
        for (bytes, strong) in
            [(0, 1000), (1, 1000), (4096, 1000), (4097, 2000), (409_600, 100_000)]
        {
            assert_eq!(read_milliunits(bytes, Consistency::Strong), strong);
            assert_eq!(read_milliunits(bytes, Consistency::Eventual), strong / 2);
            assert_eq!(transact_read_milliunits(bytes), strong * 2);
        }
    }

    #[test]
    fn writes_are_paid_by_the_larger_image() {
        let (small, large) = (item("", "", 10), item("", "", 3000));
        assert_eq!(units(None, Some(small.clone())), (1, [0, 0, 0]));
        assert_eq!(units(None, Some(large.clone())), (3, [0, 0, 0]));
        assert_eq!(units(Some(large.clone()), Some(small)), (3, [0, 0, 0]));
        assert_eq!(units(Some(large), None), (3, [0, 0, 0]));
        assert_eq!(units(None, None), (1, [0, 0, 0]));
    }

    #[test]
    fn indexes_are_paid_when_what_they_hold_changes() {
        let a = || Some(item("a", "1", 1500));
        assert_eq!(units(None, a()), (2, [2, 1, 1]), "enters");
        assert_eq!(units(a(), None), (2, [2, 1, 1]), "leaves");
        assert_eq!(units(a(), a()), (2, [0, 0, 0]), "stays");
        assert_eq!(units(a(), Some(item("a", "1", 1400))), (2, [2, 0, 0]), "fill");
        assert_eq!(units(a(), Some(item("a", "2", 1500))), (2, [2, 0, 1]), "x");
        assert_eq!(units(a(), Some(item("b", "1", 1500))), (2, [4, 2, 2]), "key");
        assert_eq!(units(a(), Some(item("", "1", 1500))), (2, [2, 1, 1]), "no key");
    }

    #[test]
    fn transactions_cost_double() {
        let (old, new) = (item("a", "1", 0), item("b", "1", 0));
        let units = WriteUnits::of(&spec(), Some(&old), Some(&new)).transactional();
        assert_eq!(units.total(), 2 * (1 + 2 + 2 + 2));
    }
}
