//! The security log: who issued, revoked or rotated a credential, who failed to sign in, and from which address.
//!
//! An event is a line of the log at `info` with the target `security`, and an item of the store for 90 days. It names
//! credentials by their ids and never contains one. Of failed sign-ins a bounded number per site and minute is recorded, so that
//! guessing fills neither and hides nobody else's; one event a minute has the number of those left out. The access log has all of
//! them.
//!
//! An event is recorded after its operation. If the store refuses the item, the operation has happened all the same, so the
//! log has the whole event as a warning, a metric counts it, and the caller gets the response of the operation.

mod failures;
pub mod keys;
mod store;
mod trail;

use failures::Failures;
pub(crate) use store::Event;
pub(crate) use store::list;
pub use trail::SecurityTrail;
pub(crate) use trail::report_left_out;
use weir_table::audit_actions;
use weir_table::event_ids::EventIds;

/// Days for which an event is kept.
const RETENTION_DAYS: u32 = 90;

audit_actions! { Action:
    /// The admin key was replaced.
    AdminKeyRotated = "admin_key_rotated",
    /// The signing key was replaced.
    SigningKeyRotated = "signing_key_rotated",
    /// A signing key was ended.
    SigningKeyEnded = "signing_key_ended",
    /// A token or a pair of tokens was issued.
    TokenIssued = "token_issued",
    /// An access token was issued for a refresh token.
    TokenRefreshed = "token_refreshed",
    /// A token was revoked.
    TokenRevoked = "token_revoked",
    /// All tokens of a client were revoked.
    TokensRevoked = "tokens_revoked",
    /// A one-time link to a new secret of a client was created.
    SecretRotated = "secret_rotated",
    /// The rotation of a client's secret was cancelled.
    SecretRotationCancelled = "secret_rotation_cancelled",
    /// A client's new secret was fetched.
    SecretRetrieved = "secret_retrieved",
    /// A backup was written.
    BackupWritten = "backup_written",
    /// A session of the console was opened.
    SessionOpened = "session_opened",
    /// A session of the console was ended.
    SessionEnded = "session_ended",
    /// All sessions of a person or a token were ended.
    SessionsEnded = "sessions_ended",
    /// Credentials were refused.
    SignInFailed = "sign_in_failed",
    /// More credentials were refused in a minute than are recorded one by one.
    MoreSignInsFailed = "more_sign_ins_failed",
}

/// What the trails of all requests share.
#[derive(Debug, Default)]
pub(crate) struct SecurityLog {
    failures: Failures,
    ids: EventIds,
}
