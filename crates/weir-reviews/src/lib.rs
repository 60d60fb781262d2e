//! Stores what several AI models found in pull requests, where they agree, and what it cost.
//!
//! A [`review`] has one response of each model, and every response its [`finding`]s. Models that describe the same issue form
//! a [`consensus`]. Start with [`Reviews`]: [`record`] writes, [`read`] asks, [`keys`] has the layout of the table. [`rollup`]
//! sums reviews by day, and [`compare`] compares models from these sums. [`sarif`] reads and writes the format of code
//! scanners, and [`report`] writes what people read.

pub mod bounds;
pub mod compare;
pub mod consensus;
pub mod deletion;
mod error;
pub mod faults;
mod feedback;
pub mod finding;
pub mod ids;
mod items;
pub mod keys;
pub mod money;
pub mod raw;
pub mod read;
pub mod record;
pub mod report;
mod retry;
pub mod review;
mod reviews;
pub mod rollup;
pub mod sarif;
pub mod settings;
pub mod table;
pub mod time;

pub use error::{Error, Result};
pub use items::CostMetric;
pub use keys::ReviewRef;
pub use reviews::Reviews;
pub use settings::Settings;
