//! Reviews over HTTP: real sockets, a real store, a clock that stands still.
#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "helpers of tests")]

mod bounds;
mod compare;
mod instances;
mod invalid;
mod lists;
mod one;
mod record;
mod sarif;
mod scene;
mod scopes;
