//! The digest of a table: a few numbers that do not depend on the order of its items.

use sha2::{Digest as _, Sha256};
use weir_table::{Item, Query, Result, TableSpec};

use super::{is_of_the_installation, retry};
use crate::tables::Tables;

/// Counts, and a sum over all items.
///
/// The sum adds the first 16 bytes of SHA-256 of every item's DynamoDB JSON, which has its
/// attributes, sets and digits in one order. Two stores with the same items have the same sum
/// whatever the order they come in; a changed, missing or extra item changes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    /// Items.
    pub(crate) items: u64,
    /// Size of the items by DynamoDB's rules.
    pub(crate) bytes: u64,
    /// The sum.
    pub(crate) sum: u128,
    /// Items that were ignored because they have expired. Each store deletes them at its own time.
    pub(crate) expired: u64,
}

impl Digest {
    /// Adds an item.
    pub(crate) fn add(&mut self, item: &Item) {
        self.items += 1;
        self.bytes += item.size() as u64;
        let json = serde_json::to_vec(item).unwrap_or_default();
        let hash = Sha256::digest(json);
        let first = hash.iter().take(16);
        let word = first.fold(0, |word: u128, byte| (word << 8) | u128::from(*byte));
        self.sum = self.sum.wrapping_add(word);
    }

    /// The sum as text.
    pub(crate) fn checksum(&self) -> String {
        format!("{:032x}", self.sum)
    }

    /// Whether two tables have the same items.
    pub(crate) fn same(&self, other: &Digest) -> bool {
        (self.items, self.bytes, self.sum) == (other.items, other.bytes, other.sum)
    }
}

/// Whether `item` has expired at `now_s`, in seconds since 1970.
pub(crate) fn is_expired(spec: &TableSpec, item: &Item, now_s: i64) -> bool {
    let expiry = spec.ttl.as_ref().and_then(|name| item.i64(name));
    expiry.is_some_and(|expiry| expiry <= now_s)
}

/// Reads a whole table. Ignores items that expire before `horizon_s`. Calls `seen` for each page.
pub(crate) async fn of_table(
    tables: &Tables,
    spec: &TableSpec,
    horizon_s: i64,
    seen: impl Fn(u64),
) -> Result<Digest> {
    let mut digest = Digest::default();
    let mut query = Query::scan(spec.name.as_str());
    loop {
        let page = retry::transient(|| tables.query(&query)).await?;
        for item in page.items.iter().filter(|item| !is_of_the_installation(spec, item)) {
            if is_expired(spec, item, horizon_s) {
                digest.expired += 1;
            } else {
                digest.add(item);
            }
        }
        seen(page.scanned);
        match page.cursor {
            Some(cursor) => query = query.after(cursor),
            None => return Ok(digest),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_table::{Kind, Value};

    use super::*;

    fn digest(items: &[Item]) -> Digest {
        let mut digest = Digest::default();
        items.iter().for_each(|item| digest.add(item));
        digest
    }

    #[test]
    fn order_does_not_matter_and_content_does() {
        let (a, b) = (Item::new().with("pk", "a"), Item::new().with("pk", "b"));
        let both = digest(&[a.clone(), b.clone()]);
        assert!(both.same(&digest(&[b.clone(), a.clone()])));
        assert!(!both.same(&digest(std::slice::from_ref(&a))));
        assert!(!both.same(&digest(&[a.clone(), b.clone().with("n", 1)])));
        assert!(!digest(&[a.clone().with("n", 1)]).same(&digest(&[a.with("n", "1")])));
    }

    #[test]
    fn equal_numbers_and_sets_sum_alike() {
        let item = |n: &str, set: [&str; 2]| {
            Item::new()
                .with("n", n.parse::<weir_table::Number>().unwrap())
                .with("s", Value::strings(set))
        };
        let one = digest(&[item("1.50", ["a", "b"])]);
        assert!(one.same(&digest(&[item("15e-1", ["b", "a"])])));
    }

    #[test]
    fn only_whole_seconds_in_the_declared_attribute_expire() {
        let spec = TableSpec::new("t", "pk", Kind::S).ttl("at");
        assert!(is_expired(&spec, &Item::new().with("at", 5), 5));
        assert!(!is_expired(&spec, &Item::new().with("at", 6), 5));
        assert!(!is_expired(&spec, &Item::new().with("at", "5"), 5));
        assert!(!is_expired(&spec, &Item::new().with("other", 5), 5));
    }
}
