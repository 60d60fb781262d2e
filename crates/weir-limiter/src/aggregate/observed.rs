//! What a window of changes shows of buckets and settings, for maintenance and propagation. Pure.
//!
//! Of each bucket only the image before the first change and the one after the last are retained, undecoded: the difference
//! of their counters is what was used in between.

use std::collections::{BTreeMap, BTreeSet};

use weir_table::feed::{Change, Image};

use super::propagation_task::{self, PropagationScope};
use crate::bucket::Bucket;
use crate::ids::{LimitName, NamespaceId};
use crate::item::{self, BucketId, RF};
use crate::keys;
use crate::usage::accumulate;

/// Buckets and settings that changed.
#[derive(Debug, Default)]
pub struct ObservedChanges {
    /// Shards by partition key; none if the item was deleted.
    buckets: BTreeMap<String, Option<ShardImages>>,
    /// The buckets that changed settings must be propagated to.
    pub(super) propagation: BTreeSet<(NamespaceId, PropagationScope)>,
}

/// The undecoded images of a shard.
#[derive(Debug)]
struct ShardImages {
    first: Option<Image>,
    last: Image,
    at_ms: u64,
}

/// A shard that changed.
#[derive(Debug)]
pub(super) struct ActiveShard {
    pub(super) id: BucketId,
    /// The shard after the last change.
    pub(super) last: Bucket,
    /// Millitokens that the changes used of each limit, net.
    pub(super) used: BTreeMap<LimitName, i64>,
    /// When the shard changed last, in milliseconds since 1970.
    pub(super) at_ms: i64,
}

impl ObservedChanges {
    /// Adds a change; those of buckets only if `with_buckets`.
    pub(super) fn add(&mut self, change: Change, with_buckets: bool) -> weir_table::Result<()> {
        let Some(pk) = accumulate::bucket_of(&change) else {
            self.propagation.extend(propagation_task::required_by(&change)?);
            return Ok(());
        };
        if !with_buckets {
            return Ok(());
        }
        let Change { old, new, at_ms, .. } = &change;
        match (self.buckets.get_mut(pk), new) {
            (Some(Some(images)), Some(new)) => {
                images.last = new.clone();
                images.at_ms = *at_ms;
            }
            (Some(entry), None) => *entry = None,
            (entry, new) => {
                let images =
                    new.clone().map(|last| ShardImages { first: old.clone(), last, at_ms: *at_ms });
                match entry {
                    Some(entry) => *entry = images,
                    None => drop(self.buckets.insert(pk.to_owned(), images)),
                }
            }
        }
        Ok(())
    }

    /// Number of buckets and settings collected.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buckets.len() + self.propagation.len()
    }

    /// Whether nothing was collected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The shards that changed and still exist, each once; none for an item that is not a complete bucket.
    pub(super) fn active_shards(
        &self,
    ) -> impl Iterator<Item = weir_table::Result<Option<ActiveShard>>> {
        let existing = self.buckets.iter().filter_map(|(pk, images)| Some((pk, images.as_ref()?)));
        existing.map(|(pk, images)| images.decode(pk))
    }
}

impl ShardImages {
    fn decode(&self, pk: &str) -> weir_table::Result<Option<ActiveShard>> {
        let last = self.last.item()?;
        let Some((ns, entity, resource, _)) = keys::parse_bucket(pk) else { return Ok(None) };
        if last.i64(RF).is_none() {
            return Ok(None);
        }
        let first = self.first.as_ref().map(Image::item).transpose()?;
        let used = accumulate::growth(first.as_ref(), &last, false);
        Ok(Some(ActiveShard {
            id: BucketId { ns, entity, resource },
            last: item::decode(&last),
            used: used.iter().map(|(limit, milli)| (LimitName::stored(limit), *milli)).collect(),
            at_ms: i64::try_from(self.at_ms).unwrap_or(i64::MAX),
        }))
    }
}
