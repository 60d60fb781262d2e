//! Keeps the spend of orgs and their apps within daily budgets.
//!
//! An app asks which model to use ([`select`]), calls the model, and submits its usage ([`submit`]). The keeper meters the
//! cost in the org's local day, aggregates it ([`aggregate`]), and falls back along a chain of cheaper models as daily quotas
//! run out ([`sticky`]).
//!
//! Decisions are pure functions: [`day`] maps an instant to the org's day, [`money`] computes costs, [`decide`] picks the
//! model, [`config`] merges the settings of an org and an app, [`prices`] and [`catalog`] resolve a label to a model and its
//! price, and [`simulate`] replays a day. [`keys`] holds the text of every key; [`counters`] and [`sticky`] the stored usage
//! and fallbacks.

pub mod aggregate;
pub mod apps;
pub mod audit;
mod batch_get;
pub mod bounds;
pub mod catalog;
pub mod config;
pub mod counters;
pub mod credentials;
pub mod day;
mod day_checkpoint;
pub mod decide;
pub mod deletion;
mod error;
pub mod export;
pub mod faults;
pub mod hours;
pub mod ids;
mod item_diff;
mod keeper;
pub mod keys;
mod label_lookup;
mod metrics;
pub mod money;
pub mod orgs;
pub mod prices;
pub mod profiles;
mod retry;
pub mod select;
pub mod settings;
pub mod simulate;
pub mod sticky;
pub mod submit;
pub mod table;
pub mod today;
pub mod totals;
pub mod webhooks;
pub mod what_if;

pub use error::{Error, Result};
pub use keeper::Keeper;
pub use metrics::MetricsSnapshot;
pub use orgs::PutOutcome;
pub use settings::Settings;
pub use weir_table::retry::Listed;
