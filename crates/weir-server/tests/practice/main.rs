//! Practice over HTTP: real sockets, a real store, a clock that stands still.
#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "helpers of tests")]

mod dual_write;
mod event_stream;
mod history;
mod instances;
mod invalid;
mod jobs;
mod plans;
mod problems;
mod progress;
mod queue;
mod queue_instances;
mod samples;
mod scene;
mod scopes;
mod stats;
mod tasks;
mod test_cases;
mod uploads;
mod usage;
mod users;
mod viewers;
