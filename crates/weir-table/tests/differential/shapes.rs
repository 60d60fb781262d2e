//! The tables that programs run on: every kind of key, every kind of projection.

use weir_table::{IndexSpec, Kind, TableSpec};

/// The partition attribute of every table.
pub(crate) const PARTITION: &str = "pk";
/// The sort attribute of every table that has one.
pub(crate) const SORT: &str = "sk";
/// The attribute with the expiry of items, in tables that have one. The embedded store only: no side removes expired items.
pub(crate) const EXPIRY: &str = "ttl";
/// How many shapes there are.
pub(crate) const COUNT: usize = 4;

/// Attributes that indexes use as keys, with their kinds.
pub(crate) const INDEX_KEYS: [(&str, Kind); 3] =
    [("gs", Kind::S), ("gn", Kind::N), ("gb", Kind::B)];

/// Shape number `number`, as a table called `name`.
pub(crate) fn shape(number: usize, name: impl Into<String>) -> TableSpec {
    match number % COUNT {
        0 => TableSpec::new(name, PARTITION, Kind::S)
            .sort(SORT, Kind::S)
            .attribute("gs", Kind::S)
            .attribute("gn", Kind::N)
            .index(IndexSpec::new("all", "gs").sort("gn"))
            .index(IndexSpec::new("keys", "gs").keys_only())
            .ttl(EXPIRY),
        1 => TableSpec::new(name, PARTITION, Kind::S)
            .sort(SORT, Kind::N)
            .attribute("gs", Kind::S)
            .attribute("gb", Kind::B)
            .index(IndexSpec::new("some", "gs").include(["n", "m", "l"]))
            .index(IndexSpec::new("bytes", "gb").sort(SORT)),
        2 => TableSpec::new(name, PARTITION, Kind::B)
            .sort(SORT, Kind::B)
            .attribute("gn", Kind::N)
            .attribute("gs", Kind::S)
            .index(IndexSpec::new("some", "gn").sort("gs").include(["s", "ss"])),
        _ => TableSpec::new(name, PARTITION, Kind::N)
            .attribute("gs", Kind::S)
            .attribute("gn", Kind::N)
            .index(IndexSpec::new("keys", "gs").sort("gn").keys_only()),
    }
}
