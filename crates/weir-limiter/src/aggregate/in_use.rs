//! Which buckets are in use, seen from changes. Pure.

use std::collections::BTreeMap;

use weir_table::KeyValue;
use weir_table::feed::Change;

use crate::bucket::Bucket;
use crate::ids::LimitName;
use crate::item::{self, BucketId, RF};
use crate::keys;
use crate::usage;

/// A shard that changed.
#[derive(Debug)]
pub(super) struct InUse {
    pub(super) id: BucketId,
    /// How it was after the last change.
    pub(super) last: Bucket,
    /// Millitokens that the changes used of each limit, net.
    pub(super) used: BTreeMap<LimitName, i64>,
    /// When it changed last, in milliseconds since 1970.
    pub(super) at_ms: i64,
}

/// The shards that changed and are there, each once.
pub(super) fn in_use(changes: &[Change]) -> Vec<InUse> {
    let mut found: BTreeMap<&str, Option<InUse>> = BTreeMap::new();
    for change in changes {
        let (KeyValue::S(pk), Some(KeyValue::S(sk))) = (&change.key.partition, &change.key.sort)
        else {
            continue;
        };
        let Some((ns, entity, resource, _)) = keys::parse_bucket(pk) else { continue };
        let whole = change.new.as_ref().filter(|new| new.i64(RF).is_some());
        let Some(new) = whole.filter(|_| keys::is_bucket_sort(sk)) else {
            found.insert(pk, None);
            continue;
        };
        let before = found.remove(pk.as_str()).flatten();
        let mut used = before.map(|before| before.used).unwrap_or_default();
        for (limit, milli) in usage::count::used(change, false) {
            let total: &mut i64 = used.entry(limit).or_default();
            *total = total.saturating_add(milli);
        }
        let id = BucketId { ns, entity, resource };
        let at_ms = i64::try_from(change.at_ms).unwrap_or(i64::MAX);
        found.insert(pk, Some(InUse { id, last: item::decode(new), used, at_ms }));
    }
    found.into_values().flatten().collect()
}
