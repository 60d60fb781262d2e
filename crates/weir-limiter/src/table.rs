//! The single table of the limiter.

use weir_table::{IndexSpec, Kind, Projection, TableSpec};

/// The default name of the table.
pub const TABLE_DEFAULT: &str = "weir-limiter";

pub(crate) const GSI1: &str = "GSI1";
pub(crate) const GSI2: &str = "GSI2";
pub(crate) const GSI3: &str = "GSI3";
pub(crate) const GSI4: &str = "GSI4";

/// The table with its indexes: parents to children (`GSI1`), resources to buckets and usage (`GSI2`), entities with limits
/// of their own and buckets of an entity (`GSI3`), everything of a namespace (`GSI4`).
///
/// `GSI2` projects keys only: otherwise each acquire would write it too, and all buckets of a resource share one of its
/// partitions. In a table shared with zae-limiter (`shared`) it projects everything, because zae-limiter reads that.
#[must_use]
pub fn spec(name: &str, shared: bool) -> TableSpec {
    let keys = ["GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "GSI3PK", "GSI3SK", "GSI4PK", "GSI4SK"];
    let table = TableSpec::new(name, "PK", Kind::S).sort("SK", Kind::S).ttl("ttl").feed();
    let table = keys.into_iter().fold(table, |table, key| table.attribute(key, Kind::S));
    let gsi2 = if shared { Projection::All } else { Projection::KeysOnly };
    [
        (GSI1, Projection::All),
        (GSI2, gsi2),
        (GSI3, Projection::KeysOnly),
        (GSI4, Projection::KeysOnly),
    ]
    .into_iter()
    .fold(table, |table, (name, projection)| {
        table.index(IndexSpec {
            name: name.to_owned(),
            partition: format!("{name}PK").into(),
            sort: Some(format!("{name}SK").into()),
            projection,
        })
    })
}
