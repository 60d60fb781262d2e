//! The console's server side: sessions, pages, and the figures of several services, within the caller's scopes.
#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "helpers of tests")]

mod budgets;
mod hostile;
mod hours;
mod live;
mod pages;
mod plan;
mod reach;
mod scene;
mod sessions;
mod sign_in;
