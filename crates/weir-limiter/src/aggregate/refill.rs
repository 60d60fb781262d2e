//! Early refill: a bucket in use is refilled before it runs dry, so that takes from it stay one write without a read.
//!
//! This mints nothing. It is the refill that the next slow take would do, for every limit of the item, on condition that
//! nobody refilled since the item was read and that no balance has grown.

use std::collections::BTreeMap;

use weir_table::{Backend, Get};

use super::observed::ActiveShard;
use crate::bounds::{SHARD_WRITES_PER_SECOND, SHARDS_MAX};
use crate::bucket::Bucket;
use crate::error::{Error, Result};
use crate::ids::LimitName;
use crate::item::{self, BucketId, RF};
use crate::keys;
use crate::limiter::Limiter;
use crate::writes::{self, Cover};

/// Percentage of [`SHARD_WRITES_PER_SECOND`] at which a shard is split.
const HOT_PERCENT: u64 = 80;

/// The bucket refilled to now, if that adds tokens to a limit that will still have less than was `used` lately and so may
/// run dry before anybody refills it.
fn refill_if_low(bucket: &Bucket, used: &BTreeMap<LimitName, i64>, now_ms: i64) -> Option<Bucket> {
    if bucket.is_expired(now_ms) {
        return None;
    }
    let refilled = bucket.refilled(now_ms);
    let is_low = |(limit, used): (&LimitName, &i64)| {
        let tokens = |bucket: &Bucket| bucket.meter(limit).map(|meter| meter.level.tokens);
        let (before, after) = (tokens(bucket), tokens(&refilled));
        after.is_some_and(|tokens| tokens < *used) && after > before
    };
    used.iter().any(is_low).then_some(refilled)
}

impl<B: Backend> Limiter<B> {
    /// Refills up to a batch of shards that run low. Returns how many it wrote.
    pub(super) async fn refill(&self, low: &[ActiveShard], now_ms: i64) -> Result<u64> {
        if low.is_empty() {
            return Ok(0);
        }
        // The feed lags: it may show a full bucket that is no longer full, and a refill that stops at the capacity would
        // drop tokens that the bucket has room for. So the shards are read again.
        let gets: Vec<Get> = low.iter().map(|shard| self.get_active(shard)).collect();
        let items = self.store().batch_get(&gets).await?;
        let mut written = 0;
        for (shard, found) in low.iter().zip(items) {
            let Some(found) = found.filter(|found| found.i64(RF).is_some()) else { continue };
            let old = item::decode(&found);
            if old.unknown.is_some() {
                continue;
            }
            let Some(new) = refill_if_low(&old, &shard.used, now_ms) else { continue };
            let write = writes::change(self.table(), &shard.id, &old, &new, Cover::NotRequired);
            // A refused write means that somebody else refilled the shard.
            let is_written = self.try_write(write).await;
            self.inner.bucket_cache.changed(&shard.id);
            written += u64::from(is_written?);
        }
        Ok(written)
    }

    fn get_active(&self, shard: &ActiveShard) -> Get {
        let id = &shard.id;
        Get::new(self.table(), keys::bucket(&id.ns, &id.entity, &id.resource, shard.last.shard))
    }

    /// Whether a shard is written nearly as often as a partition serves, and can be split.
    pub(super) fn is_hot(&self, shard: &ActiveShard) -> bool {
        let hot_per_second = SHARD_WRITES_PER_SECOND * HOT_PERCENT / 100;
        let Some(wcu) = shard.last.meter(&LimitName::wcu()) else { return false };
        let per_second = self.inner.write_rates.record(shard, wcu.consumed);
        let is_hot = per_second.is_some_and(|per_second| per_second >= hot_per_second);
        is_hot && shard.last.shard_count < SHARDS_MAX
    }

    /// Doubles the shards of a bucket that had `shards`. Returns whether it did.
    pub(super) async fn split(&self, id: &BucketId, shards: u32) -> Result<bool> {
        let ns = self.namespace_of(&id.ns);
        match ns.double_shards(&id.entity, &id.resource, shards).await {
            Ok(_) => Ok(true),
            // A hot bucket has many writers; the next changes will show it again.
            Err(Error::Contended) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether an early refill helps a shard.
pub(super) fn is_running_low(shard: &ActiveShard, now_ms: i64) -> bool {
    refill_if_low(&shard.last, &shard.used, now_ms).is_some()
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
        // Ten remain, and ten seconds bring ten more.
        assert!(refill_if_low(&bucket, &used(20_000), 10_000).is_none(), "twenty suffice");
        assert!(refill_if_low(&bucket, &used(-5_000), 10_000).is_none(), "refunded");
        assert!(refill_if_low(&bucket, &BTreeMap::new(), 10_000).is_none());
        assert!(refill_if_low(&bucket, &used(30_000), 0).is_none(), "no time has passed");
        assert!(refill_if_low(&bucket, &used(30_000), -3_600_000).is_none(), "time went back");
        let refilled = refill_if_low(&bucket, &used(30_000), 10_000).unwrap();
        assert_eq!(refilled, bucket.refilled(10_000), "all limits, like any refill");
        bucket.expires = Some(5);
        assert!(refill_if_low(&bucket, &used(30_000), 10_000).is_none(), "expired");
    }
}
