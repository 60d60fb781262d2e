//! Reads buckets with all their shards, strongly consistent.

use std::collections::BTreeSet;

use weir_table::limits::BATCH_GET_MAX;
use weir_table::{Backend, Get, Item, Query};

use crate::bounds::SHARDS_MAX;
use crate::bucket::Bucket;
use crate::error::Result;
use crate::ids::{EntityId, Resource};
use crate::item::{self, BucketId, RF};
use crate::keys;
use crate::limiter::{Limiter, Namespace};
use crate::table::GSI3;

/// Decodes a shard. An item that was never refilled is no bucket: a late refund of another program left it.
pub(crate) fn decode_bucket(item: &Item) -> Option<Bucket> {
    item.i64(RF)?;
    Some(item::decode(item))
}

impl<B: Backend> Limiter<B> {
    /// Reads the existing shards of a bucket in order, expired ones included. None without the first shard, which stores their
    /// number.
    pub(crate) async fn read_bucket(&self, id: &BucketId) -> Result<Vec<Bucket>> {
        let get = self.get_shard(id, 0);
        let Some(first) = self.store().get(&get).await?.as_ref().and_then(decode_bucket) else {
            return Ok(Vec::new());
        };
        let mut shards = vec![first];
        let others: Vec<Get> = others(&shards).map(|shard| self.get_shard(id, shard)).collect();
        if !others.is_empty() {
            let items = self.store().batch_get(&others).await?;
            shards.extend(items.iter().flatten().filter_map(decode_bucket));
        }
        self.whole_if_alone(&mut shards);
        Ok(shards)
    }

    /// In a table shared with zae-limiter, which counts shards up without making them, a first shard without siblings is the
    /// whole bucket. `shards` are those that exist.
    fn whole_if_alone(&self, shards: &mut [Bucket]) {
        if let ([only], true) = (shards, self.settings().is_shared()) {
            only.shard_count = 1;
        }
    }

    /// A shard that was read on its own, as the whole bucket if it is one.
    pub(crate) async fn whole_shard(&self, id: &BucketId, shard: Bucket) -> Result<Bucket> {
        if shard.shard != 0 || !self.reads_all_shards(shard.shard_count) {
            return Ok(shard);
        }
        Ok(self.read_bucket(id).await?.into_iter().next().unwrap_or(shard))
    }

    /// Whether the shards of a bucket with this count are all read before one is used: in a table shared with zae-limiter the
    /// count says nothing about the shards that exist, and so nothing about the share of each.
    pub(crate) fn reads_all_shards(&self, shard_count: u32) -> bool {
        shard_count > 1 && self.settings().is_shared()
    }

    pub(crate) fn get_shard(&self, id: &BucketId, shard: u32) -> Get {
        let key = keys::bucket(&id.ns, &id.entity, &id.resource, shard);
        Get::new(self.table(), key)
    }
}

impl<B: Backend> Namespace<B> {
    pub(crate) fn bucket_id(&self, entity: &EntityId, resource: &Resource) -> BucketId {
        let (entity, resource) = (entity.clone(), resource.clone());
        BucketId { ns: self.id.clone(), entity, resource }
    }

    /// Reads several buckets with a few batch gets.
    pub(crate) async fn read_buckets(&self, ids: &[BucketId]) -> Result<Vec<Vec<Bucket>>> {
        let firsts = ids.iter().map(|id| self.get_shard(id, 0)).collect();
        let mut buckets: Vec<Vec<Bucket>> = self
            .read_shards(firsts)
            .await?
            .into_iter()
            .map(|first| first.into_iter().collect())
            .collect();
        let more: Vec<(usize, u32)> = (0..)
            .zip(&buckets)
            .flat_map(|(place, shards)| others(shards).map(move |shard| (place, shard)))
            .collect();
        let gets =
            more.iter().filter_map(|(place, shard)| Some(self.get_shard(ids.get(*place)?, *shard)));
        let found = self.read_shards(gets.collect()).await?;
        for ((place, _), shard) in more.iter().zip(found) {
            if let (Some(shards), Some(shard)) = (buckets.get_mut(*place), shard) {
                shards.push(shard);
            }
        }
        buckets.iter_mut().for_each(|shards| self.limiter.whole_if_alone(shards));
        Ok(buckets)
    }

    /// Reads shards, in the order of `gets`.
    pub(crate) async fn read_shards(&self, gets: Vec<Get>) -> Result<Vec<Option<Bucket>>> {
        let mut shards = Vec::with_capacity(gets.len());
        for gets in gets.chunks(BATCH_GET_MAX) {
            let items = self.limiter.store().batch_get(gets).await?;
            shards.extend(items.iter().map(|item| item.as_ref().and_then(decode_bucket)));
        }
        Ok(shards)
    }

    pub(crate) fn get_shard(&self, id: &BucketId, shard: u32) -> Get {
        self.limiter.get_shard(id, shard)
    }

    /// The first `max` resources on which an entity has buckets, sorted. The index that shows them may lag.
    pub(crate) async fn bucket_resources(
        &self,
        entity: &EntityId,
        max: usize,
    ) -> Result<Vec<Resource>> {
        let partition = keys::entity_partition(&self.id, entity);
        let mut query = Query::partition(self.limiter.table(), partition)
            .index(GSI3)
            .begins_with(keys::BUCKET_PREFIX);
        let mut resources = BTreeSet::new();
        loop {
            let page = self.limiter.store().query(&query).await?;
            let keys = page.items.iter().filter_map(|item| item.s("PK"));
            resources
                .extend(keys.filter_map(keys::parse_bucket).map(|(_, _, resource, _)| resource));
            query.cursor = page.cursor;
            if query.cursor.is_none() || resources.len() >= max {
                return Ok(resources.into_iter().take(max).collect());
            }
        }
    }
}

/// The numbers of the shards after the first.
fn others(shards: &[Bucket]) -> std::ops::Range<u32> {
    1..shards.first().map_or(1, |first| first.shard_count.min(SHARDS_MAX))
}
