//! Refills ahead of need: a bucket in use is filled before it runs dry, so that takes from it stay one write without a read.
//!
//! Nothing is minted by it: it is the refill that the next slow take would do, for every limit of the item, on condition that
//! nobody refilled since the item was read and that no balance has grown.

use std::collections::BTreeMap;

use weir_table::{Backend, Get};

use super::in_use::InUse;
use crate::bounds::{SHARD_WRITES_PER_SECOND, SHARDS_MAX};
use crate::bucket::Bucket;
use crate::error::{Error, Result};
use crate::ids::LimitName;
use crate::item::{self, BucketId, RF};
use crate::keys;
use crate::limiter::Limiter;
use crate::writes::{self, Cover};

/// At which part of what a shard is meant to take it is split, in percent.
const HOT_PERCENT: u64 = 80;

/// The bucket refilled to now, if that helps: of some limit there would still be less than was `used` lately, so that it may run
/// dry before somebody refills it.
fn helped(bucket: &Bucket, used: &BTreeMap<LimitName, i64>, now_ms: i64) -> Option<Bucket> {
    if bucket.is_expired(now_ms) {
        return None;
    }
    let refilled = bucket.refilled(now_ms);
    let helps = |(limit, used): (&LimitName, &i64)| {
        let there = |bucket: &Bucket| bucket.meter(limit).map(|meter| meter.level.tokens);
        let (before, after) = (there(bucket), there(&refilled));
        after.is_some_and(|tokens| tokens < *used) && after > before
    };
    used.iter().any(helps).then_some(refilled)
}

impl<B: Backend> Limiter<B> {
    /// Refills shards that need it, as many as are read at once. Returns how many it wrote.
    pub(super) async fn refill(&self, needy: &[InUse], now_ms: i64) -> Result<u64> {
        if needy.is_empty() {
            return Ok(0);
        }
        // The feed is behind. What it shows may be full where the bucket is not any more, and a refill that stops at the
        // capacity would drop what the bucket has room for.
        let gets: Vec<Get> = needy.iter().map(|one| self.get_shard(one)).collect();
        let items = self.store().batch_get(&gets).await?;
        let mut written = 0;
        for (one, found) in needy.iter().zip(items) {
            let Some(found) = found.filter(|found| found.i64(RF).is_some()) else { continue };
            let old = item::decode(&found);
            let Some(new) = helped(&old, &one.used, now_ms) else { continue };
            let write = writes::change(self.table(), &one.id, &old, &new, Cover::Unneeded);
            // Refused means that somebody else refilled it.
            written += u64::from(self.try_write(write).await?);
        }
        Ok(written)
    }

    fn get_shard(&self, one: &InUse) -> Get {
        let id = &one.id;
        Get::new(self.table(), keys::bucket(&id.ns, &id.entity, &id.resource, one.last.shard))
    }

    /// Whether a shard is written nearly as often as a partition serves, and can be split.
    pub(super) fn is_hot(&self, one: &InUse) -> bool {
        let hot_per_second = SHARD_WRITES_PER_SECOND * HOT_PERCENT / 100;
        let Some(wcu) = one.last.meter(&LimitName::wcu()) else { return false };
        let per_second = self.inner.pace.saw(one, wcu.consumed);
        per_second.is_some_and(|pace| pace >= hot_per_second) && one.last.shard_count < SHARDS_MAX
    }

    /// Doubles the shards of a bucket that had so many. Returns whether it did.
    pub(super) async fn double(&self, id: &BucketId, shards: u32) -> Result<bool> {
        let ns = self.namespace_of(&id.ns);
        match ns.double_shards(&id.entity, &id.resource, shards).await {
            Ok(_) => Ok(true),
            // A bucket that hot is written by many; the next changes will tell again.
            Err(Error::Contended) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether a refill would help a shard.
pub(super) fn helps(one: &InUse, now_ms: i64) -> bool {
    helped(&one.last, &one.used, now_ms).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Limit;

    fn name(text: &str) -> LimitName {
        LimitName::new(text).unwrap()
    }

    #[test]
    fn only_a_bucket_that_may_run_dry_is_refilled() {
        let limits = [Limit::per_minute(name("rpm"), 60), Limit::per_minute(name("tpm"), 6_000)];
        let mut bucket = Bucket::full(&limits, 0, 1, 0);
        bucket.take(&name("rpm"), 50_000);
        let used = |milli| BTreeMap::from([(name("rpm"), milli)]);
        // Ten are left, and ten seconds bring ten more.
        assert!(helped(&bucket, &used(20_000), 10_000).is_none(), "twenty suffice");
        assert!(helped(&bucket, &used(-5_000), 10_000).is_none(), "given back");
        assert!(helped(&bucket, &BTreeMap::new(), 10_000).is_none());
        assert!(helped(&bucket, &used(30_000), 0).is_none(), "no time has passed");
        assert!(helped(&bucket, &used(30_000), -3_600_000).is_none(), "nor backwards");
        let refilled = helped(&bucket, &used(30_000), 10_000).unwrap();
        assert_eq!(refilled, bucket.refilled(10_000), "all limits, as any refill");
        bucket.expires = Some(5);
        assert!(helped(&bucket, &used(30_000), 10_000).is_none(), "expired");
    }
}
