//! What changes show of buckets and settings, gathered until somebody acts on it. Pure.
//!
//! Of a bucket only how it was before the first change and after the last one is kept, undecoded: its counters tell what
//! was used in between.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use weir_table::feed::{Change, Image};

use super::errand::{self, Whose};
use crate::bucket::Bucket;
use crate::ids::{LimitName, NamespaceId};
use crate::item::{self, BucketId, RF};
use crate::keys;
use crate::usage::count;

/// What was seen in changes.
#[derive(Debug, Default)]
pub struct Seen {
    /// By the partition key of their items; none of those that are gone.
    buckets: HashMap<String, Option<Sight>>,
    /// Whose buckets are to be brought to what holds.
    pub(super) errands: BTreeSet<(NamespaceId, Whose)>,
}

/// How a shard was, as the feed has it.
#[derive(Debug)]
struct Sight {
    first: Option<Image>,
    last: Image,
    at_ms: u64,
}

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

impl Seen {
    /// Looks at a change; at buckets only if they are `tended`.
    pub(super) fn look(&mut self, change: Change, tended: bool) -> weir_table::Result<()> {
        let Some(pk) = count::bucket_of(&change) else {
            self.errands.extend(errand::asked(&change)?);
            return Ok(());
        };
        if !tended {
            return Ok(());
        }
        let Change { old, new, at_ms, .. } = &change;
        match (self.buckets.get_mut(pk), new) {
            (Some(Some(sight)), Some(new)) => {
                sight.last = new.clone();
                sight.at_ms = *at_ms;
            }
            (Some(known), None) => *known = None,
            (known, new) => {
                let sight =
                    new.clone().map(|last| Sight { first: old.clone(), last, at_ms: *at_ms });
                match known {
                    Some(known) => *known = sight,
                    None => drop(self.buckets.insert(pk.to_owned(), sight)),
                }
            }
        }
        Ok(())
    }

    /// How many things were seen.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buckets.len() + self.errands.len()
    }

    /// Whether nothing was seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The shards that changed and are there, each once; none where it is not a bucket after all.
    pub(super) fn in_use(&self) -> impl Iterator<Item = weir_table::Result<Option<InUse>>> {
        let there = self.buckets.iter().filter_map(|(pk, sight)| Some((pk, sight.as_ref()?)));
        there.map(|(pk, sight)| sight.in_use(pk))
    }
}

impl Sight {
    fn in_use(&self, pk: &str) -> weir_table::Result<Option<InUse>> {
        let last = self.last.item()?;
        let Some((ns, entity, resource, _)) = keys::parse_bucket(pk) else { return Ok(None) };
        if last.i64(RF).is_none() {
            return Ok(None);
        }
        let first = self.first.as_ref().map(Image::item).transpose()?;
        let used = count::growth(first.as_ref(), &last, false);
        Ok(Some(InUse {
            id: BucketId { ns, entity, resource },
            last: item::decode(&last),
            used: used.iter().map(|(limit, milli)| (LimitName::stored(limit), *milli)).collect(),
            at_ms: i64::try_from(self.at_ms).unwrap_or(i64::MAX),
        }))
    }
}
