//! The security log: who issued, revoked or rotated a credential, who failed to sign in, and from which address.
//!
//! An event is a line of the log at `info` with the target `security`, and an item of the store for 90 days. It names
//! credentials by their ids and never contains one. Of failed sign-ins a bounded number per minute is recorded, so that
//! guessing fills neither; the access log has all of them.
//!
//! An event is recorded after its operation. If the store refuses the item, the operation has happened all the same, so the
//! log says it and the caller gets the response of the operation.

mod failures;
pub mod keys;
mod store;
mod trail;

pub(crate) use failures::Failures;
pub use store::Event;
pub(crate) use store::list;
pub use trail::SecurityTrail;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The admin key was replaced.
    AdminKeyRotated,
    /// The signing key was replaced.
    SigningKeyRotated,
    /// A signing key was ended.
    SigningKeyEnded,
    /// A token or a pair of tokens was issued.
    TokenIssued,
    /// An access token was issued for a refresh token.
    TokenRefreshed,
    /// A token was revoked.
    TokenRevoked,
    /// All tokens of a client were revoked.
    TokensRevoked,
    /// A one-time link to a new secret of a client was created.
    SecretRotated,
    /// The rotation of a client's secret was cancelled.
    SecretRotationCancelled,
    /// A client's new secret was fetched.
    SecretRetrieved,
    /// A backup was written.
    BackupWritten,
    /// Credentials were refused.
    SignInFailed,
}

impl Action {
    /// The name in the log, in items and in responses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Action::AdminKeyRotated => "admin_key_rotated",
            Action::SigningKeyRotated => "signing_key_rotated",
            Action::SigningKeyEnded => "signing_key_ended",
            Action::TokenIssued => "token_issued",
            Action::TokenRefreshed => "token_refreshed",
            Action::TokenRevoked => "token_revoked",
            Action::TokensRevoked => "tokens_revoked",
            Action::SecretRotated => "secret_rotated",
            Action::SecretRotationCancelled => "secret_rotation_cancelled",
            Action::SecretRetrieved => "secret_retrieved",
            Action::BackupWritten => "backup_written",
            Action::SignInFailed => "sign_in_failed",
        }
    }
}
