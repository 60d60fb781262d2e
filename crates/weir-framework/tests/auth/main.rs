//! Authentication as its users see it: on a real store, with a clock that the test moves.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod admin;
#[cfg(feature = "dynamodb")]
mod dynamodb_local;
mod issuing;
mod key_file;
mod place;
mod revoking;
mod sessions;
mod tokens;
