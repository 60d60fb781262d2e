//! `POST leases/{lease}/adjust`, `commit`, `release` and `rollback`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Amounts;
use super::schema::{actual_amounts, adjusted_amounts, released_amounts};

/// A correction of what a lease holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AdjustLeaseRequest {
    /// Tokens to take from each limit (positive) or to return to it (negative).
    #[schema(schema_with = adjusted_amounts)]
    pub adjust: Amounts,
}

/// The tokens that were used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CommitLeaseRequest {
    /// Tokens of each limit that were used. An empty map keeps what the lease holds.
    #[serde(default)]
    #[schema(schema_with = actual_amounts)]
    pub actual: Amounts,
}

/// The tokens of a lease to return.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseLeaseRequest {
    /// Tokens to return to each limit. An empty map returns all tokens and ends the lease.
    #[serde(default)]
    #[schema(schema_with = released_amounts)]
    pub release: Amounts,
}

/// A rollback has no fields: it returns all tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackLeaseRequest {}

/// A lease after it was settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseResponse {
    /// Id of the lease.
    pub id: String,
    /// State of the lease.
    pub state: LeaseState,
    /// Tokens of each limit that the lease holds, adjustments included.
    pub net: Amounts,
    /// Whether the lease was granted while the store was unreachable, so that there is nothing to settle.
    pub degraded: bool,
}

/// The states of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeaseState {
    /// The lease can be settled.
    Open,
    /// The lease ended; its tokens stay taken.
    Committed,
    /// The lease ended; its tokens were returned.
    Released,
    /// The lease ended; its tokens were returned, adjustments included.
    RolledBack,
    /// The lease expired unsettled and was rolled back.
    Expired,
}
