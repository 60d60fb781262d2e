//! Malicious and broken clients against a real listener.
//!
//! After each attack the server still serves everyone else.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails where it stands"
)]

mod bodies;
mod crowd;
mod drain;
mod heads;
mod site;
mod slow;
mod tls;
