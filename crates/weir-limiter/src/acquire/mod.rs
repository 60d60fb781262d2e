//! Taking tokens.
//!
//! 1. `ask` checks the request. `known` may remember a refusal that still holds.
//! 2. `fast` takes with one conditional update of one shard and reads nothing; where that is always the same, `taking`
//!    has prepared it. `family` does the same for child and parent:
//!    in one transaction on the embedded store, in parallel on DynamoDB.
//! 3. A refused condition answers with the bucket as it is, and `judge` says what follows: the refusal, or the slow path.
//! 4. `slow` reads config and buckets, refills, takes and writes the differences; `seat` is its plan for one bucket, `shards`
//!    splits a bucket that is too hot.

mod ask;
mod family;
mod fast;
mod judge;
mod known;
mod look;
mod refusal;
mod seat;
mod shards;
mod slow;
mod take;
mod taking;

use std::collections::BTreeMap;

use crate::bounds::LEASE_TTL_DEFAULT_MS;
use crate::bucket::Limit;
use crate::ids::{EntityId, LimitName, Resource};
use crate::lease::{Grant, OnExpiry};

pub use known::Known;
pub(crate) use refusal::{refused, statuses};
pub(crate) use seat::Slot;
pub(crate) use take::LeaseIds;

/// A request for tokens.
#[derive(Debug, Clone)]
pub struct Acquire {
    /// Who asks.
    pub entity: EntityId,
    /// For what.
    pub resource: Resource,
    /// How many tokens of each limit. Signed, so that a wrong amount gets a clear error.
    pub consume: BTreeMap<LimitName, i64>,
    /// The caller's own limits, which hold when no level of the config has any.
    pub limits: Option<Vec<Limit>>,
    /// How long the lease can be settled, in milliseconds.
    pub lease_ttl_ms: i64,
    /// What becomes of it when it is not settled.
    pub on_expiry: OnExpiry,
    /// Only look: take nothing.
    pub dry_run: bool,
}

impl Acquire {
    /// A request whose lease can be settled for ten minutes and keeps what it took when nobody does.
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
        }
    }
}

/// The answer to a request for tokens.
#[derive(Debug, Clone)]
pub enum Acquired {
    /// They were taken.
    Granted(Granted),
    /// They were not there. Nothing was taken.
    Refused(Refused),
}

/// Tokens that were taken.
#[derive(Debug, Clone)]
pub struct Granted {
    /// What was taken from where; the content of a lease.
    pub grant: Grant,
    /// Every limit asked for, after the taking. First the entity's, then its parent's.
    pub limits: Vec<LimitStatus>,
}

/// Tokens that were not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Every limit asked for. First the entity's, then its parent's.
    pub limits: Vec<LimitStatus>,
    /// When to come back, in milliseconds from now: the largest of the limits that were short.
    pub retry_after_ms: i64,
}

/// A limit as a request found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitStatus {
    /// Whose limit: the entity, or its parent.
    pub entity: EntityId,
    /// The limit, whole.
    pub limit: Limit,
    /// Millitokens that are there, all shards together as far as they are known; below zero is a debt.
    pub available_milli: i64,
    /// Tokens asked for.
    pub asked: i64,
    /// Millitokens missing; zero when it could serve.
    pub deficit_milli: i64,
    /// When it could serve, in milliseconds from now; zero when it can.
    pub retry_after_ms: i64,
}

/// What is available of a limit, without taking any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Availability {
    /// The limits of the entity and, if it cascades, its parent.
    pub limits: Vec<LimitStatus>,
}
