//! Acquire: takes tokens from the bucket of an entity and, if it cascades, of its parent.
//!
//! 1. `request` validates the request. `bucket_cache` may remember a refusal that still applies.
//! 2. `fast_path` takes with one conditional update of one shard and reads nothing; `take` defines that update, `prepared`
//!    lets the embedded store check it only once. `cascade` charges child and parent: in one transaction on the embedded
//!    store, in parallel on DynamoDB.
//! 3. A failed condition returns the bucket, and `next_step` decides how to continue: refuse, retry, split, or slow path.
//! 4. `slow_path` reads config and buckets, refills, takes and writes the differences. `bucket_plan` is its plan for one
//!    bucket; `split` doubles the shards of a hot bucket.
//!
//! `idempotency` records the grant of a request with an idempotency key. `refusal` computes `retry_after_ms`, `refund` undoes half a cascade, and `availability` is the dry run.

mod availability;
mod bucket_cache;
mod bucket_plan;
mod cascade;
mod fast_path;
mod idempotency;
mod next_step;
mod prepared;
mod refund;
mod refusal;
mod request;
mod slow_path;
mod split;
mod take;

use std::collections::BTreeMap;

use crate::bounds::LEASE_TTL_DEFAULT_MS;
use crate::bucket::Limit;
use crate::ids::{EntityId, LimitName, Resource};
use crate::lease::{Grant, OnExpiry};

pub(crate) use bucket_cache::BucketCache;
pub(crate) use bucket_plan::ShardState;
pub(crate) use refusal::limit_statuses;

/// A request for tokens.
#[derive(Debug, Clone)]
pub struct Acquire {
    /// The entity that pays.
    pub entity: EntityId,
    /// The resource it uses.
    pub resource: Resource,
    /// Tokens to take of each limit. Signed, so that a negative amount gets a clear error.
    pub consume: BTreeMap<LimitName, i64>,
    /// The caller's own limits, which apply when no level of the config has any.
    pub limits: Option<Vec<Limit>>,
    /// How long the lease can be settled, in milliseconds.
    pub lease_ttl_ms: i64,
    /// The fate of the tokens when the lease is not settled.
    pub on_expiry: OnExpiry,
    /// Whether to take nothing and only report the outcome.
    pub dry_run: bool,
    /// The key under which the request takes once: repeated, it returns the same grant. A dry run needs none.
    pub idempotency_key: Option<String>,
}

impl Acquire {
    /// A request whose lease can be settled for ten minutes and otherwise keeps what it took.
    #[must_use]
    pub fn new(entity: EntityId, resource: Resource, consume: BTreeMap<LimitName, i64>) -> Acquire {
        Acquire {
            entity,
            resource,
            consume,
            limits: None,
            lease_ttl_ms: LEASE_TTL_DEFAULT_MS,
            on_expiry: OnExpiry::Keep,
            dry_run: false,
            idempotency_key: None,
        }
    }
}

/// The result of an acquire.
#[derive(Debug, Clone)]
pub enum Acquired {
    /// The tokens were taken.
    Granted(Granted),
    /// A limit had too few tokens. Nothing was taken.
    Refused(Refused),
}

/// Tokens that were taken.
#[derive(Debug, Clone)]
pub struct Granted {
    /// The shards that paid; the content of a lease.
    pub grant: Grant,
    /// The status of every requested limit after the take: first the entity's, then its parent's.
    pub limits: Vec<LimitStatus>,
}

/// A refused acquire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The status of every requested limit: first the entity's, then its parent's.
    pub limits: Vec<LimitStatus>,
    /// When to retry, in milliseconds from now: the longest wait of the limits that fell short.
    pub retry_after_ms: i64,
}

/// The status of one requested limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitStatus {
    /// The entity whose limit this is: the requesting one, or its parent.
    pub entity: EntityId,
    /// The limit over all shards.
    pub limit: Limit,
    /// Available millitokens of all shards, estimated if only one was read; negative is a debt.
    pub available_milli: i64,
    /// Requested tokens.
    pub requested: i64,
    /// Missing millitokens; zero if there are enough.
    pub deficit_milli: i64,
    /// When there are enough, in milliseconds from now; zero if there are.
    pub retry_after_ms: i64,
}

/// The available tokens of an entity on a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Availability {
    /// The limits of the entity and, if it cascades, of its parent.
    pub limits: Vec<LimitStatus>,
}
