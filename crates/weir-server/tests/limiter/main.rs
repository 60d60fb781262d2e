//! The limiter over HTTP: real sockets, a real store, a clock that stands still.
#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "helpers of tests")]

mod acquire;
mod entities;
mod fast_path;
mod full_disk;
mod inspect;
mod invalid;
mod jobs;
mod leases;
mod limits;
mod namespaces;
mod scene;
