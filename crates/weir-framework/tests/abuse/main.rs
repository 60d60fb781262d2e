//! Clients that mean harm, or are merely broken, against a real listener.
//!
//! After each of them the server still answers everyone else.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails where it stands, and says what it leaves out"
)]

mod bodies;
mod crowd;
mod drain;
mod heads;
mod moving;
mod site;
mod slow;
mod tls;
