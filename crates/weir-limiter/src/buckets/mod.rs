//! Live buckets: views of them, and what an operator can do with them.
//!
//! `read` reads all shards and `view` sums them. `operations` are reset and top-up, which an idempotency key makes safe to repeat.

mod capacity;
mod operations;
mod read;
mod view;

use std::collections::BTreeMap;

use weir_table::Backend;

pub(crate) use read::decode_bucket;

use crate::bounds::ENTITY_BUCKETS_MAX;
use crate::bucket::Limit;
use crate::error::Result;
use crate::ids::{EntityId, LimitName, Resource};
use crate::limiter::Namespace;
use operations::Operation;

/// A bucket as users see it: its shards summed, refilled to now, without the write limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketView {
    /// The entity that the bucket belongs to.
    pub entity: EntityId,
    /// The resource that the bucket is for.
    pub resource: Resource,
    /// Number of shards.
    pub shards: u32,
    /// The limits.
    pub limits: Vec<LimitView>,
    /// When the bucket expires, in milliseconds since 1970.
    pub expires_ms: Option<i64>,
    /// Whether the parent pays too.
    pub cascade: bool,
    /// The parent entity.
    pub parent: Option<EntityId>,
}

/// A limit of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitView {
    /// The limit.
    pub limit: Limit,
    /// Available millitokens; negative is a debt.
    pub available_milli: i64,
    /// Millitokens consumed so far.
    pub consumed_milli: i64,
    /// When the limit is full again, in milliseconds from now.
    pub full_in_ms: i64,
}

/// The capacity of a resource over all its buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceCapacity {
    /// The resource.
    pub resource: Resource,
    /// Entities with a live bucket on this page.
    pub entities: u64,
    /// Capacity and available tokens of each limit, summed.
    pub limits: BTreeMap<LimitName, (i64, i64)>,
    /// The buckets of this page.
    pub buckets: Vec<BucketView>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
}

impl<B: Backend> Namespace<B> {
    /// Lists the live buckets of an entity.
    ///
    /// # Errors
    /// The store fails.
    pub async fn buckets(&self, entity: &EntityId) -> Result<Vec<BucketView>> {
        let resources = self.bucket_resources(entity, ENTITY_BUCKETS_MAX).await?;
        let ids: Vec<_> =
            resources.iter().map(|resource| self.bucket_id(entity, resource)).collect();
        self.view_buckets(&ids, self.limiter.now_ms()).await
    }

    /// Reads a live bucket, strongly consistent.
    ///
    /// # Errors
    /// The store fails.
    pub async fn bucket(
        &self,
        entity: &EntityId,
        resource: &Resource,
    ) -> Result<Option<BucketView>> {
        let id = self.bucket_id(entity, resource);
        let shards = self.limiter.read_bucket(&id).await?;
        let shared = self.limiter.settings().is_shared();
        Ok(view::view(&id, &shards, shared, self.limiter.now_ms()))
    }

    /// Refills a bucket completely. A second call with the same idempotency key changes nothing.
    ///
    /// # Errors
    /// The bucket does not exist, the key was used for a different call, or the store fails.
    pub async fn reset_bucket(
        &self,
        entity: &EntityId,
        resource: &Resource,
        key: Option<&str>,
        actor: &str,
    ) -> Result<BucketView> {
        self.operate(&self.bucket_id(entity, resource), &Operation::Reset, key, actor).await
    }

    /// Adds tokens to a bucket, up to its capacity. A second call with the same idempotency key changes nothing.
    ///
    /// # Errors
    /// The bucket or limit does not exist, an amount is not positive or too large, the key was used for a different call, or
    /// the store fails.
    pub async fn top_up_bucket(
        &self,
        entity: &EntityId,
        resource: &Resource,
        amounts: &BTreeMap<LimitName, i64>,
        key: Option<&str>,
        actor: &str,
    ) -> Result<BucketView> {
        let act = Operation::top_up(amounts)?;
        self.operate(&self.bucket_id(entity, resource), &act, key, actor).await
    }
}
