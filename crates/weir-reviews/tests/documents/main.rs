//! Reviews as documents of other tools and for people: SARIF in and out, reports in Markdown and text.

mod abuse;
mod linters;
mod reading;
mod rendering;
mod reports;
mod round_trip;
mod samples;
mod schema;
mod tools;
