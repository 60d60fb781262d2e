//! The configuration: its keys, its layers, and the values in effect.
//!
//! There are four layers, and each overrides the one before: defaults, `weir.toml`, `WEIR_*` variables, flags.
//!
//! 1. [`keys`](mod@keys) lists every key from the types below: their documentation, default and variable are
//!    written once, as attributes of the fields.
//! 2. [`file`](mod@file), [`environment`] and [`flags`] each turn one layer into [`Setting`](load::Setting)s.
//! 3. [`load`] merges the layers and records the origin of each value.
//! 4. [`check`] validates the result. Each problem names the key and the layer.
//!
//! No secret is ever printed: a [`Secret`] prints as dots, and no message quotes its value.

mod auth;
pub(crate) mod check;
mod default_file;
#[cfg(test)]
mod documents;
mod environment;
mod file;
mod flags;
mod in_force;
mod keys;
mod listen;
mod load;
mod log;
mod secret;
mod store;

use serde::Serialize;
use weir_framework::settings::{JobSettings, ServerSettings};

pub(crate) use self::auth::Auth;
pub(crate) use self::check::{check_shared_keys, failure, missing_shared_keys};
pub(crate) use self::default_file::default_file;
pub(crate) use self::environment::MIGRATE_FROM;
pub(crate) use self::flags::{Given, ServeFlags, StoreFlags};
pub(crate) use self::in_force::in_force;
pub(crate) use self::keys::{Key, all as keys};
pub(crate) use self::load::{Loaded, Origin, Source};
pub(crate) use self::log::{Format as LogFormat, Log};
pub(crate) use self::secret::{DOTS, Secret, secret_variable};
pub(crate) use self::store::{Bounds, Kind, Store};

/// The whole configuration, one section per concern.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub(crate) struct Config {
    /// The store of all tables.
    #[config(nested)]
    pub(crate) store: Store,
    /// The listener and its limits.
    #[config(nested)]
    pub(crate) server: ServerSettings,
    /// Authentication: keys and tokens.
    #[config(nested)]
    pub(crate) auth: Auth,
    /// Background jobs.
    #[config(nested)]
    pub(crate) jobs: JobSettings,
    /// Rate limits.
    #[config(nested)]
    pub(crate) limiter: weir_server::limiter::Settings,
    /// Daily budgets for AI models, and model selection.
    #[config(nested)]
    pub(crate) keeper: weir_server::keeper::Settings,
    /// Reviews of pull requests by several models.
    #[config(nested)]
    pub(crate) reviews: weir_server::reviews::Settings,
    /// Users, problems, runs and jobs of a coding-practice platform.
    #[config(nested)]
    pub(crate) practice: weir_server::practice::Settings,
    /// Level and format of the server's log.
    #[config(nested)]
    pub(crate) log: Log,
}

impl Config {
    /// The sections of all services.
    pub(crate) fn services(&self) -> weir_server::Settings {
        weir_server::Settings {
            limiter: self.limiter.clone(),
            keeper: self.keeper.clone(),
            reviews: self.reviews.clone(),
            practice: self.practice.clone(),
            in_force: Vec::new(),
        }
    }
}
