//! Live buckets: looking at them, and what an operator can do to them.

mod capacity;
mod operate;
mod operation;
mod read;
mod view;

use std::collections::BTreeMap;

use weir_table::Backend;

pub(crate) use read::made;

use crate::bucket::Limit;
use crate::error::Result;
use crate::ids::{EntityId, LimitName, Resource};
use crate::limiter::Namespace;
use operate::Act;

/// A bucket as people see it: its shards summed, refilled to now, without the limit of a shard's writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketView {
    /// Whose it is.
    pub entity: EntityId,
    /// Of what.
    pub resource: Resource,
    /// Shards it has.
    pub shards: u32,
    /// Its limits.
    pub limits: Vec<LimitView>,
    /// When it can be forgotten, in milliseconds since 1970.
    pub expires_ms: Option<i64>,
    /// Whether the parent pays too.
    pub cascade: bool,
    /// The parent.
    pub parent: Option<EntityId>,
}

/// A limit of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitView {
    /// The limit.
    pub limit: Limit,
    /// What is there now, in millitokens; below zero is a debt.
    pub available_milli: i64,
    /// What was consumed since ever, in millitokens.
    pub consumed_milli: i64,
    /// When it is full, in milliseconds from now.
    pub full_in_ms: i64,
}

/// How a resource is used: all buckets of it together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceCapacity {
    /// The resource.
    pub resource: Resource,
    /// Entities with a live bucket.
    pub entities: u64,
    /// For each limit: capacity and what is there, in tokens, summed.
    pub limits: BTreeMap<LimitName, (i64, i64)>,
    /// The buckets of this page.
    pub buckets: Vec<BucketView>,
    /// Where to go on.
    pub cursor: Option<String>,
}

impl<B: Backend> Namespace<B> {
    /// The live buckets of an entity.
    ///
    /// # Errors
    /// The store fails.
    pub async fn buckets(&self, entity: &EntityId) -> Result<Vec<BucketView>> {
        let resources = self.bucket_resources(entity).await?;
        let ids: Vec<_> =
            resources.iter().map(|resource| self.bucket_id(entity, resource)).collect();
        self.view_buckets(&ids, self.limiter.now_ms()).await
    }

    /// A live bucket, strongly read.
    ///
    /// # Errors
    /// The store fails.
    pub async fn bucket(
        &self,
        entity: &EntityId,
        resource: &Resource,
    ) -> Result<Option<BucketView>> {
        let id = self.bucket_id(entity, resource);
        let shards = self.read_bucket(&id).await?;
        Ok(view::view(&id, &shards, self.limiter.now_ms()))
    }

    /// The live buckets of a resource.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn capacity(
        &self,
        resource: &Resource,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<ResourceCapacity> {
        self.capacity_page(resource, limit, cursor).await
    }

    /// Fills a bucket up. With a key, a second call with the same key changes nothing.
    ///
    /// # Errors
    /// There is no such bucket, the key was used for another call, or the store fails.
    pub async fn reset_bucket(
        &self,
        entity: &EntityId,
        resource: &Resource,
        key: Option<&str>,
        by: &str,
    ) -> Result<BucketView> {
        self.operate(&self.bucket_id(entity, resource), &Act::Reset, key, by).await
    }

    /// Gives a bucket tokens, at most up to its capacity. With a key, a second call with the same key changes nothing.
    ///
    /// # Errors
    /// There is no such bucket or limit, an amount is zero, negative or too large, the key was used for another call, or
    /// the store fails.
    pub async fn top_up_bucket(
        &self,
        entity: &EntityId,
        resource: &Resource,
        amounts: &BTreeMap<LimitName, i64>,
        key: Option<&str>,
        by: &str,
    ) -> Result<BucketView> {
        let act = Act::top_up(amounts)?;
        self.operate(&self.bucket_id(entity, resource), &act, key, by).await
    }
}
