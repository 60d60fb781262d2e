//! The edge, asked from outside: real sockets, a real store.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod access;
mod bounds;
#[cfg(feature = "dynamodb")]
mod dynamodb;
mod error_codes;
mod errors;
mod furnished;
mod health;
mod keeper;
mod low_disk;
mod matrix;
mod metrics;
mod openapi;
mod sample;
mod schemathesis;
