//! The buckets of a resource, a page at a time.

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
    /// Lists the live buckets of a resource, a page at a time, and sums them.
    ///
    /// The index lists the buckets of a page; their items are read from the table. A bucket is on the page of its first shard,
    /// so none is on two pages, and a page may have fewer buckets than requested.
    ///
    /// # Errors
    /// The cursor belongs to another list, or the store fails.
    pub async fn capacity(
        &self,
        resource: &Resource,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<ResourceCapacity> {
        let partition = keys::resource_partition(&self.id, resource);
        let query = Query::partition(self.limiter.table(), partition)
            .index(GSI2)
            .begins_with(keys::BUCKET_PREFIX);
        let page = self.limiter.store().page(query, limit, cursor).await?;
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
            limits: sum_limits(&buckets),
            buckets,
            cursor: page.cursor,
        })
    }

    /// The views of those buckets that are live.
    pub(crate) async fn view_buckets(
        &self,
        ids: &[BucketId],
        now_ms: i64,
    ) -> Result<Vec<BucketView>> {
        let buckets = self.read_buckets(ids).await?;
        let shared = self.limiter.settings().is_shared();
        let views = ids.iter().zip(buckets);
        Ok(views.filter_map(|(id, shards)| view(id, &shards, shared, now_ms)).collect())
    }
}

/// Capacity and available tokens of each limit.
fn sum_limits(buckets: &[BucketView]) -> BTreeMap<LimitName, (i64, i64)> {
    let mut sums: BTreeMap<LimitName, (i64, i64)> = BTreeMap::new();
    for status in buckets.iter().flat_map(|bucket| &bucket.limits) {
        let (capacity, milli) = sums.entry(status.limit.name.clone()).or_default();
        *capacity = capacity.saturating_add(status.limit.capacity.try_into().unwrap_or(i64::MAX));
        *milli = milli.saturating_add(status.available_milli);
    }
    // Whole tokens only: a debt of a fraction rounds to one.
    sums.values_mut().for_each(|(_, milli)| *milli = milli.div_euclid(MILLI));
    sums
}
