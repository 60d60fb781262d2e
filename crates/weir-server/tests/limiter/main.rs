//! The limiter over HTTP: real sockets, a real store, a clock that stands still.
#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "helpers of tests")]

mod acquiring;
mod entities;
mod fast_path;
mod jobs;
mod leases;
mod limits;
mod looking;
mod misuse;
mod namespaces;
mod scene;
