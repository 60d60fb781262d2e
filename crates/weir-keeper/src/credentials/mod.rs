//! Client credentials: issued, rotated, retrieved once, verified.
//!
//! A secret exists in clear text only in the response that returns it. Creating a client, or rotating its credentials, issues
//! a one-time retrieval token. Redeeming the token makes the secret: one transaction marks the token as used, moves the hash of
//! the current secret to the previous one, and stores the new hash. So an unused token changes nothing, and of many concurrent
//! retrievals with one token exactly one gets a secret.
//!
//! The token is stored as its SHA-256, and the client's item names the one token that can be redeemed: a rotation replaces it,
//! so that earlier tokens are void, and a cancellation removes it.
//!
//! The grace period starts at the retrieval. At most two secrets work at a time: a second rotation retrieved within the grace
//! period of the first invalidates the oldest secret at once. Without a grace period the client's tokens end too.

mod hashing;
mod item;
mod retrieve;
mod rotate;
mod secret;
mod secret_id;
mod tokens;
mod verify;

pub(crate) use self::hashing::SecretHasher;
pub(crate) use self::item::{CREDENTIALS, PENDING_TOKEN};
pub(crate) use self::rotate::NewRetrieval;
pub use self::secret::ClientSecret;
pub use self::tokens::TokenRevocation;
use crate::ids::RetrievalToken;

/// A one-time retrieval of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrieval {
    /// The one-time token. Its holder gets the secret, so `Debug` does not print it.
    pub token: RetrievalToken,
    /// When the token expires, in milliseconds since 1970.
    pub expires_at_ms: i64,
}

/// A rotation of credentials: a new secret is ready to be retrieved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    /// The one-time retrieval of the new secret.
    pub retrieval: Retrieval,
    /// When the rotation was requested, in milliseconds since 1970.
    pub rotated_at_ms: i64,
    /// The latest time the old secret works, in milliseconds since 1970, if the token is redeemed at the last moment.
    pub old_secret_expires_at_ms: i64,
    /// Hours that the old secret works after the retrieval.
    pub grace_period_hours: u32,
}

/// The outcome of a retrieval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetrievalOutcome {
    /// The token was valid; the secret is returned this once.
    Secret {
        /// The client id.
        client_id: String,
        /// The secret.
        client_secret: ClientSecret,
        /// Time of the retrieval, in milliseconds since 1970.
        retrieved_at_ms: i64,
        /// When the token would have expired, in milliseconds since 1970.
        expires_at_ms: i64,
    },
    /// The token was used before.
    AlreadyUsed,
    /// The token has expired.
    Expired,
    /// A later rotation replaced the token, or the rotation was cancelled.
    Void,
    /// This client has no such token.
    Unknown,
}
