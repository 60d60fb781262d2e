//! The table.

use weir_table::{IndexSpec, Kind, Name, Projection, TableSpec};

use crate::keys::{GSI1, GSI2, index_attributes};

/// Attribute with the expiry of an item, in seconds since 1970.
pub const TTL: &str = "ttl";
/// Default name of the table, as in the source.
pub const TABLE: &str = "algoitny_main";

/// The schema of the table. Its changes feed the rollups of usage.
#[must_use]
pub fn spec(name: &Name) -> TableSpec {
    let table = TableSpec::new(name.as_str(), "PK", Kind::S).sort("SK", Kind::S).ttl(TTL).feed();
    [(GSI1, Projection::All), (GSI2, Projection::KeysOnly)].into_iter().fold(
        table,
        |table, (index, projection)| {
            let (partition, sort) = index_attributes(index);
            let spec = IndexSpec {
                sort: Some(sort.clone()),
                projection,
                ..IndexSpec::new(index, partition.clone())
            };
            table.attribute(partition, Kind::S).attribute(sort, Kind::S).index(spec)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_of_the_table_is_stable() {
        let spec = spec(&TABLE.into());
        spec.check().unwrap();
        assert_eq!(spec.name, "algoitny_main");
        assert_eq!((spec.partition.as_str(), spec.sort.as_deref()), ("PK", Some("SK")));
        assert_eq!((spec.ttl.as_deref(), spec.feed), (Some("ttl"), true));
        let [first, second] = &spec.indexes[..] else { panic!("{:?}", spec.indexes) };
        for (index, name, projection) in
            [(first, "GSI1", Projection::All), (second, "GSI2", Projection::KeysOnly)]
        {
            assert_eq!((index.name.as_str(), &index.projection), (name, &projection));
            assert_eq!(index.partition, format!("{name}PK"));
            assert_eq!(index.sort.as_deref(), Some(format!("{name}SK").as_str()));
        }
    }
}
