//! The secrets of clients.
//!
//! A secret exists in clear only in the answer that hands it over. Setting up a client, or rotating its secret, promises
//! one: a one-time token is stored and shown. Redeeming the token makes the secret, and one transaction marks the token
//! used, keeps the hash of the secret before as the previous one, and stores the new hash. So a token that nobody redeems
//! changes nothing, and of many who redeem one at once exactly one gets a secret.
//!
//! The grace period runs from the redemption. At most two secrets work at a time: a second rotation that is redeemed within
//! the grace period of the first ends the oldest secret at once.

mod check;
mod counts;
mod hashing;
mod item;
mod promise;
mod redeem;
mod secret;

pub(crate) use self::counts::Counts;
pub use self::counts::RetrievalCounts;
pub(crate) use self::hashing::Hashing;
pub use self::secret::ClientSecret;
use crate::ids::RetrievalToken;

/// Where a secret can be had, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrieval {
    /// The one-time token. Whoever has it gets the secret, so it hides itself.
    pub token: RetrievalToken,
    /// Until when, in milliseconds since 1970.
    pub expires_at_ms: i64,
}

/// A new secret was promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    /// Where it can be had.
    pub retrieval: Retrieval,
    /// When it was promised, in milliseconds since 1970.
    pub rotated_at_ms: i64,
    /// The last moment that the old secret works, if the token is redeemed at its last moment.
    pub old_secret_expires_at_ms: i64,
    /// How long the old secret works after the redemption.
    pub grace_period_hours: u32,
}

/// What became of a one-time token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redeemed {
    /// It was good: here is the secret, this once.
    Secret {
        /// Whose it is.
        client_id: String,
        /// The secret.
        client_secret: ClientSecret,
        /// Now, in milliseconds since 1970.
        retrieved_at_ms: i64,
        /// When the token would have expired.
        expires_at_ms: i64,
    },
    /// It was used before.
    Used,
    /// It came too late.
    Expired,
    /// There is none like it for this client.
    Wrong,
}
