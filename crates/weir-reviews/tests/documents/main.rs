//! Reviews as documents of other tools and for people: SARIF in and out, reports in Markdown and text.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests may fail like the tests"
)]

mod abuse;
mod linters;
mod reading;
mod rendering;
mod reports;
mod round_trip;
mod samples;
mod schema;
mod tools;
