//! Buckets of a resource, a page at a time.

use std::collections::BTreeMap;

use weir_table::{Backend, Query};

use super::view::view;
use super::{BucketView, ResourceCapacity};
use crate::bucket::MILLI;
use crate::error::Result;
use crate::ids::{LimitName, Resource};
use crate::item::BucketId;
use crate::keys;
use crate::limiter::Namespace;
use crate::table::GSI2;

impl<B: Backend> Namespace<B> {
    /// The index names the buckets of a page; their items are read from the table. A bucket belongs to the page its first shard
    /// is on, so that none is on two, and a page can have fewer than asked for.
    pub(super) async fn capacity_page(
        &self,
        resource: &Resource,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<ResourceCapacity> {
        let partition = keys::resource_partition(&self.id, resource);
        let query = Query::partition(self.limiter.table(), partition)
            .index(GSI2)
            .begins_with(keys::BUCKET_PREFIX);
        let page = self.limiter.page(query, limit, cursor).await?;
        let pks = page.items.iter().filter_map(|item| item.s("PK"));
        let ids: Vec<BucketId> = pks
            .filter_map(keys::parse_bucket)
            .filter(|(.., shard)| *shard == 0)
            .map(|(ns, entity, resource, _)| BucketId { ns, entity, resource })
            .collect();
        let buckets = self.view_buckets(&ids, self.limiter.now_ms()).await?;
        Ok(ResourceCapacity {
            resource: resource.clone(),
            entities: buckets.len() as u64,
            limits: summed(&buckets),
            buckets,
            cursor: page.cursor,
        })
    }

    /// The live ones of these buckets.
    pub(super) async fn view_buckets(
        &self,
        ids: &[BucketId],
        now_ms: i64,
    ) -> Result<Vec<BucketView>> {
        let buckets = self.read_buckets(ids).await?;
        Ok(ids.iter().zip(buckets).filter_map(|(id, shards)| view(id, &shards, now_ms)).collect())
    }
}

/// Capacity and what is there of each limit, in tokens.
fn summed(buckets: &[BucketView]) -> BTreeMap<LimitName, (i64, i64)> {
    let mut sums: BTreeMap<LimitName, (i64, i64)> = BTreeMap::new();
    for seen in buckets.iter().flat_map(|bucket| &bucket.limits) {
        let (capacity, milli) = sums.entry(seen.limit.name.clone()).or_default();
        *capacity = capacity.saturating_add(seen.limit.capacity.try_into().unwrap_or(i64::MAX));
        *milli = milli.saturating_add(seen.available_milli);
    }
    // Whole tokens only, and a debt of a part counts as one.
    sums.values_mut().for_each(|(_, milli)| *milli = milli.div_euclid(MILLI));
    sums
}
