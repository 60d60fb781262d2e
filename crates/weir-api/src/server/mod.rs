//! Responses and requests of the server's own routes, which every service has beside its own.

mod health;
mod jobs;
mod keys;
mod security;
mod tokens;

pub use self::health::{Alive, Readiness, ReadinessParams, StoreProbe};
pub use self::jobs::{Job, JobKind, JobOutcome, JobState, Run};
pub use self::keys::{NewAdminKey, NewSigningKey, SigningKey, SigningKeyRotation};
pub use self::security::SecurityEvent;
pub use self::tokens::{MadeToken, NewToken, Token, Whoami};
