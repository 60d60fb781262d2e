//! What happens after an acquire: a lease is adjusted, committed, released or rolled back.
//!
//! A grant travels as a signed token (`seal`). A settle is looked at (`call`), the lease's item (`record`) and its buckets are
//! read, what to do is decided (`plan`) and written in one transaction (`settle`): so a call that is repeated, also because its
//! answer was lost, is done once. `held` are leases that are rolled back when nobody settles them, `handle` is a lease in
//! process.

mod call;
mod handle;
mod held;
mod plan;
mod record;
mod seal;
mod settle;
mod wire;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_table::Backend;

pub use handle::{Lease, Leased};
pub use seal::Seal;

use crate::acquire::Refused;
use crate::bucket::ShardTake;
use crate::error::Result;
use crate::ids::{EntityId, LimitName, NamespaceId, Resource};
use crate::limiter::{Limiter, Namespace};

/// What becomes of a lease that nobody settles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExpiry {
    /// What was taken stays taken.
    #[default]
    Keep,
    /// What was taken is given back.
    Rollback,
}

/// What was taken from where: the content of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Its id: 22 characters, random.
    pub id: String,
    /// The namespace.
    pub ns: NamespaceId,
    /// The resource.
    pub resource: Resource,
    /// From the entity and, if it cascades, from its parent.
    pub takes: Vec<EntityTake>,
    /// When it was taken, in milliseconds since 1970.
    pub taken_ms: i64,
    /// Until when it can be settled.
    pub expires_ms: i64,
    /// What becomes of it when nobody settles it.
    pub on_expiry: OnExpiry,
    /// Whether nothing was taken, because the store could not be reached.
    pub degraded: bool,
}

/// What was taken from one entity's bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityTake {
    /// Whose.
    pub entity: EntityId,
    /// From which shards.
    pub shards: Vec<ShardTake>,
}

/// What to do with a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settle {
    /// Take more (positive; may create debt) or give back (negative), in tokens. The lease stays open.
    Adjust(BTreeMap<LimitName, i64>),
    /// Take more, but only if it is there; in tokens. The lease stays open.
    Consume(BTreeMap<LimitName, i64>),
    /// Keep what was taken. Ends the lease.
    Commit,
    /// Give back these tokens and leave the lease open, or all (nothing named) and end it.
    Release(BTreeMap<LimitName, i64>),
    /// Give back all, adjustments included. Ends the lease.
    Rollback,
}

/// Where a lease is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseState {
    /// It can be settled.
    Open,
    /// What it took is kept.
    Committed,
    /// What it took was given back.
    Released,
    /// What it took was given back, adjustments included.
    RolledBack,
    /// It was rolled back because nobody settled it.
    Expired,
}

/// A lease after a settle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// Its id.
    pub id: String,
    /// Where it is now.
    pub state: LeaseState,
    /// Tokens it holds of each limit, net.
    pub net: BTreeMap<LimitName, i64>,
    /// Whether it was granted because the store could not be reached, so that there is nothing to settle.
    pub degraded: bool,
    /// Why nothing was taken, when the call asked for more than is there.
    pub refused: Option<Refused>,
}

impl<B: Backend> Limiter<B> {
    /// A grant as an opaque signed text that any instance can settle.
    #[must_use]
    pub fn lease_token(&self, grant: &Grant) -> String {
        let mut token = Vec::new();
        self.write_lease_token(grant, &mut token);
        String::from_utf8(token).unwrap_or_default()
    }

    /// Appends the same text.
    pub fn write_lease_token(&self, grant: &Grant, to: &mut Vec<u8>) {
        self.inner.seal.seal(grant, to);
    }

    /// Rolls back up to `max` leases that expired unsettled and were to be rolled back. Returns how many, and whether there are more.
    ///
    /// # Errors
    /// The store fails.
    pub async fn roll_back_expired(&self, max: u64) -> Result<(u64, bool)> {
        self.roll_back(max, self.now_ms()).await
    }

    /// Leases that are held: written, open, to be rolled back when they expire.
    ///
    /// # Errors
    /// The store fails.
    pub async fn held_leases(&self) -> Result<u64> {
        self.count_held().await
    }
}

impl<B: Backend> Namespace<B> {
    /// The grant of a lease's token.
    ///
    /// # Errors
    /// It is not a lease, not of this namespace, or not signed by us.
    pub fn open_lease(&self, token: &str) -> Result<Grant> {
        self.limiter.inner.seal.open(token, &self.id)
    }

    /// Settles a lease. With an operation key (`key`), the same call again changes nothing and is answered the same;
    /// without one, ending a lease the same way again changes nothing, and each adjustment counts.
    ///
    /// # Errors
    /// The lease has expired, or was ended differently, or the key was used for another call; an amount is wrong or
    /// gives back more than the lease holds; the store fails.
    pub async fn settle(
        &self,
        grant: &Grant,
        settle: &Settle,
        key: Option<&str>,
    ) -> Result<Settled> {
        self.settle_grant(grant, settle, key).await
    }
}
