//! The table.

use weir_table::{IndexSpec, Kind, Name, TableSpec};

use crate::keys::{GSI1, GSI2, GSI3, index_attributes};

/// Attribute with the expiry of an item, in seconds since 1970.
pub const TTL: &str = "ttl";
/// The environment in the default name of the table.
pub const ENVIRONMENT: &str = "dev";

/// The name of the table of an environment: `quorum-metrics-dev`.
#[must_use]
pub fn table_name(environment: &str) -> Name {
    format!("quorum-metrics-{environment}").into()
}

/// The schema of the table.
#[must_use]
pub fn spec(name: &Name) -> TableSpec {
    let table = TableSpec::new(name.as_str(), "PK", Kind::S).sort("SK", Kind::S).ttl(TTL);
    [GSI1, GSI2, GSI3].into_iter().fold(table, |table, index| {
        let (partition, sort) = index_attributes(index);
        table
            .attribute(partition.clone(), Kind::S)
            .attribute(sort.clone(), Kind::S)
            .index(IndexSpec { sort: Some(sort), ..IndexSpec::new(index, partition) })
    })
}

#[cfg(test)]
mod tests {
    use weir_table::Projection;

    use super::*;

    #[test]
    fn the_schema_of_the_table_is_stable() {
        let spec = spec(&table_name(ENVIRONMENT));
        spec.check().unwrap();
        assert_eq!(spec.name, "quorum-metrics-dev");
        assert_eq!((spec.partition.as_str(), spec.sort.as_deref()), ("PK", Some("SK")));
        assert_eq!((spec.ttl.as_deref(), spec.feed), (Some("ttl"), false));
        let indexes = spec.indexes.iter().map(|index| {
            assert_eq!(index.projection, Projection::All);
            (index.name.as_str(), index.partition.as_str(), index.sort.as_deref().unwrap())
        });
        assert_eq!(
            indexes.collect::<Vec<_>>(),
            [
                ("GSI1", "GSI1PK", "GSI1SK"),
                ("GSI2", "GSI2PK", "GSI2SK"),
                ("GSI3", "GSI3PK", "GSI3SK")
            ]
        );
    }
}
