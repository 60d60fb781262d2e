//! The data service of a coding-practice platform: who may do what today, which problems and test cases exist, what was
//! tried, and how far jobs are.
//!
//! Start with [`Practice`]. [`keys`] has the layout of the one table, [`ids`] and [`kinds`] the valid parts of keys, and
//! [`item`] the common form of stored items. [`day`] says which day an instant belongs to. ADR 0035 says where the layout
//! differs from its source, and why.

pub mod audit;
pub mod bounds;
pub mod counters;
pub mod day;
mod error;
pub mod faults;
pub mod fields;
pub mod history;
pub mod ids;
pub mod import;
pub mod item;
pub mod jobs;
pub mod json;
pub mod keys;
pub mod kinds;
pub mod list;
pub mod migrate;
pub mod objects;
pub mod plans;
mod practice;
pub mod problems;
mod retry;
pub mod settings;
pub mod spill;
pub mod stats;
pub mod table;
pub mod tasks;
pub mod test_cases;
pub mod text;
mod update;
pub mod usage;
pub mod users;

pub use error::{Error, Result};
pub use practice::Practice;
pub use settings::Settings;
