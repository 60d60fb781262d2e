//! Keys of the positions table: one partition per feed and consumer, with one item per shard and one item for the
//! consumer's start.

use crate::error::{Error, Result};
use crate::item::Item;
use crate::key::Key;
use crate::spec::TableSpec;
use crate::value::Kind;

const PARTITION: &str = "PK";
const SORT: &str = "SK";
const SHARD_PREFIX: &str = "SHARD#";
/// Bytes of a consumer's name.
const NAME_MAX: usize = 255;

/// The schema of a table of consumer positions.
pub fn positions_spec(name: impl Into<String>) -> TableSpec {
    TableSpec::new(name, PARTITION, Kind::S).sort(SORT, Kind::S)
}

/// The partition of a consumer of a table's feed.
pub(super) fn partition(table: &str, consumer: &str) -> String {
    format!("FEED#{table}#{consumer}")
}

/// The item with the start of a consumer.
pub(super) fn start(table: &str, consumer: &str) -> Key {
    Key::new(partition(table, consumer), "START")
}

/// The item with a consumer's position in a shard.
pub(super) fn shard(table: &str, consumer: &str, shard: &str) -> Key {
    Key::new(partition(table, consumer), format!("{SHARD_PREFIX}{shard}"))
}

/// The common prefix of the sort keys of all shards.
pub(super) fn shards() -> &'static str {
    SHARD_PREFIX
}

/// The shard of an item of the positions table; `None` for a start.
#[must_use]
pub fn shard_of(item: &Item) -> Option<&str> {
    item.s(SORT)?.strip_prefix(SHARD_PREFIX)
}

/// The table and the name of the consumer that an item of the positions table belongs to.
#[cfg(feature = "embedded")]
pub(crate) fn consumer_of(item: &Item) -> Option<(&str, &str)> {
    item.s(PARTITION)?.strip_prefix("FEED#")?.split_once('#')
}

/// An item with the attributes of `key`.
pub(super) fn keyed(key: &Key) -> Item {
    key.to_item(&positions_spec("positions"))
}

/// Refuses a name with separators in it.
pub(super) fn check_name(field: &str, name: &str) -> Result<()> {
    if (1..=NAME_MAX).contains(&name.len()) && !name.contains(['#', '/']) {
        return Ok(());
    }
    let problem = format!("{name:?}: 1 to {NAME_MAX} bytes without '#' and '/'");
    Err(Error::invalid(field, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_texts() {
        assert_eq!(
            shard("orders", "totals", "shard-1").to_string(),
            "FEED#orders#totals | SHARD#shard-1"
        );
        assert_eq!(start("orders", "totals").to_string(), "FEED#orders#totals | START");
    }

    #[test]
    fn only_shards_have_a_position() {
        let item = keyed(&shard("orders", "totals", "shard-1"));
        assert_eq!(shard_of(&item), Some("shard-1"));
        #[cfg(feature = "embedded")]
        assert_eq!(consumer_of(&item), Some(("orders", "totals")));
        assert_eq!(shard_of(&keyed(&start("orders", "totals"))), None);
    }

    #[test]
    fn separators_are_refused_in_names() {
        assert!(check_name("consumer", "totals").is_ok());
        for name in ["", "a#b", "a/b"] {
            let error = check_name("consumer", name).unwrap_err();
            assert_eq!(error.field(), Some("consumer"));
        }
    }
}
