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
use crate::limiter::Namespace;
use crate::table::GSI3;

/// Decodes a shard. An item that was never refilled is no bucket: a late refund of another program left it.
pub(crate) fn decode_bucket(item: &Item) -> Option<Bucket> {
    item.i64(RF)?;
    Some(item::decode(item))
}

impl<B: Backend> Namespace<B> {
    pub(crate) fn bucket_id(&self, entity: &EntityId, resource: &Resource) -> BucketId {
        let (entity, resource) = (entity.clone(), resource.clone());
        BucketId { ns: self.id.clone(), entity, resource }
    }

    /// Reads the existing shards of a bucket in order, expired ones included. None without the first shard, which stores their
    /// number.
    pub(crate) async fn read_bucket(&self, id: &BucketId) -> Result<Vec<Bucket>> {
        let get = self.get_shard(id, 0);
        let Some(first) = self.limiter.store().get(&get).await?.as_ref().and_then(decode_bucket)
        else {
            return Ok(Vec::new());
        };
        let mut shards = vec![first];
        let others: Vec<Get> = others(&shards).map(|shard| self.get_shard(id, shard)).collect();
        if !others.is_empty() {
            let items = self.limiter.store().batch_get(&others).await?;
            shards.extend(items.iter().flatten().filter_map(decode_bucket));
        }
        Ok(shards)
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
        let key = keys::bucket(&id.ns, &id.entity, &id.resource, shard);
        Get::new(self.limiter.table(), key)
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
