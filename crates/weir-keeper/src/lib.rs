//! Keeps the spend of orgs and their apps inside daily budgets.
//!
//! An app asks which model to use, calls it, and tells what it used. The keeper counts that in the org's local day, sums up,
//! and moves down a chain of cheaper models as quotas are spent. What is decided here is decided by plain functions:
//! [`day`] says which day an instant is in, [`money`] what tokens cost, [`decide`] which model to use, [`config`] what holds
//! for an app, [`prices`] and [`labels`] what a label means and costs, and [`simulate`] what a day would have come to. The
//! text of every key is in [`keys`], what is stored of usage in [`counters`] and of fallbacks in [`sticky`].

pub mod aggregate;
pub mod apps;
pub mod audit;
pub mod bounds;
pub mod config;
pub mod counters;
pub mod credentials;
pub mod day;
pub mod decide;
mod error;
pub mod export;
pub mod ids;
mod keeper;
pub mod keys;
pub mod labels;
mod marks;
mod meaning;
mod meters;
pub mod money;
pub mod notices;
pub mod orgs;
mod paging;
mod part;
pub mod prices;
pub mod profiles;
mod reading;
mod retry;
pub mod select;
pub mod settings;
pub mod simulate;
pub mod sticky;
pub mod submit;
pub mod table;
pub mod totals;

pub use error::{Error, Result};
pub use keeper::Keeper;
pub use meters::MetersRead;
pub use orgs::Put;
pub use paging::Page;
pub use settings::Settings;
