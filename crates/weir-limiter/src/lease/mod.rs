//! Leases: after an acquire, a lease is adjusted, committed, released or rolled back.
//!
//! A grant travels as a signed `token`. To settle a lease, `settle_request` validates the request, `settle` reads the lease's
//! item (`record`) and its buckets, `plan` decides, and one transaction writes the result: so a request that is repeated, also
//! because its response was lost, takes effect once. `expiry` rolls back leases that nobody settled, and `handle` is a lease
//! in the same process.

mod expiry;
mod handle;
mod id;
mod plan;
mod record;
mod settle;
mod settle_request;
mod token;
mod varint;

use std::collections::BTreeMap;

use weir_table::Backend;

pub use handle::{Lease, Leased};
pub(crate) use id::LeaseIds;
pub(crate) use token::LeaseSigner;

use crate::acquire::Refused;
use crate::bucket::ShardTake;
use crate::error::Result;
use crate::ids::{EntityId, LimitName, NamespaceId, Resource};
use crate::limiter::{Limiter, Namespace};

/// The fate of the tokens of a lease that nobody settles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnExpiry {
    /// They stay taken.
    #[default]
    Keep,
    /// They are refunded.
    Rollback,
}

impl OnExpiry {
    /// The stored text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            OnExpiry::Keep => "keep",
            OnExpiry::Rollback => "rollback",
        }
    }
}

/// The tokens that an acquire took: the content of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The lease id: 22 random characters.
    pub id: String,
    /// The namespace.
    pub ns: NamespaceId,
    /// The resource.
    pub resource: Resource,
    /// The takes from the entity and, if it cascades, from its parent.
    pub takes: Vec<EntityTake>,
    /// When the tokens were taken, in milliseconds since 1970.
    pub taken_ms: i64,
    /// Until when the lease can be settled, in milliseconds since 1970.
    pub expires_ms: i64,
    /// The fate of the tokens when nobody settles the lease.
    pub on_expiry: OnExpiry,
    /// Whether nothing was taken, because the store could not be reached.
    pub degraded: bool,
}

/// The tokens that were taken from one entity's bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityTake {
    /// The entity that paid.
    pub entity: EntityId,
    /// The shards that paid.
    pub shards: Vec<ShardTake>,
}

/// The ways to settle a lease. Amounts are in tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settle {
    /// Takes more (positive; may leave a debt) or refunds (negative). The lease stays open.
    Adjust(BTreeMap<LimitName, i64>),
    /// Takes more, if all of it is available. The lease stays open.
    Consume(BTreeMap<LimitName, i64>),
    /// Keeps what was taken. Ends the lease.
    Commit,
    /// Adjusts the lease to these totals, which may leave a debt, and keeps them. Ends the lease. Limits that are not named
    /// keep what was taken.
    CommitActual(BTreeMap<LimitName, i64>),
    /// Refunds these tokens and leaves the lease open; refunds everything and ends it if no amount is given.
    Release(BTreeMap<LimitName, i64>),
    /// Refunds everything, adjustments included. Ends the lease.
    Rollback,
}

/// The state of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    /// The lease can be settled.
    Open,
    /// The tokens were kept.
    Committed,
    /// The tokens were refunded.
    Released,
    /// The tokens were refunded, adjustments included.
    RolledBack,
    /// The lease was rolled back because nobody settled it.
    Expired,
}

/// The result of settling a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The lease id.
    pub id: String,
    /// The state of the lease.
    pub state: LeaseState,
    /// Tokens that the lease holds of each limit, net.
    pub net: BTreeMap<LimitName, i64>,
    /// Whether the lease was granted without the store, so that there is nothing to settle.
    pub degraded: bool,
    /// Why nothing was taken, if more was requested than is available.
    pub refused: Option<Refused>,
}

impl<B: Backend> Limiter<B> {
    /// Encodes a grant as an opaque signed token that any instance can settle.
    #[must_use]
    pub fn lease_token(&self, grant: &Grant) -> String {
        let mut token = Vec::new();
        self.write_lease_token(grant, &mut token);
        String::from_utf8(token).unwrap_or_default()
    }

    /// Appends the token to `to`.
    pub fn write_lease_token(&self, grant: &Grant, to: &mut Vec<u8>) {
        self.inner.lease_signer.sign(grant, to);
    }
}

impl<B: Backend> Namespace<B> {
    /// Verifies a lease token and returns its grant.
    ///
    /// # Errors
    /// The token is not a lease, is of another namespace, or has an invalid signature.
    pub fn open_lease(&self, token: &str) -> Result<Grant> {
        self.limiter.inner.lease_signer.verify(token, &self.id)
    }
}
