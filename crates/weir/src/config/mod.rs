//! What can be set, where it was set, and what is in force.
//!
//! Four layers, each over the one before: defaults, `weir.toml`, `WEIR_*` variables, flags.
//!
//! 1. [`keys`](mod@keys) lists every key from the types below: their documentation, default and variable are
//!    written once, as attributes of the fields.
//! 2. [`file`](mod@file), [`environment`] and [`flags`] each turn one layer into [`Setting`](load::Setting)s.
//! 3. [`load`] lays them over one another and remembers where each value came from.
//! 4. [`check`] says what is wrong with the whole, naming the key and the layer.
//!
//! No secret is ever printed: a [`Secret`] shows itself as dots, and messages about one never
//! repeat what was given.

mod auth;
mod check;
mod default_file;
#[cfg(test)]
mod documents;
mod environment;
mod file;
mod flags;
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
pub(crate) use self::flags::{Given, ServeFlags, StoreFlags};
pub(crate) use self::keys::{Key, all as keys};
pub(crate) use self::load::{Loaded, Origin, Source};
pub(crate) use self::log::{Format as LogFormat, Log};
pub(crate) use self::secret::{DOTS, Secret};
pub(crate) use self::store::{Kind, Store};

/// Everything that can be set, one section per concern.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub(crate) struct Config {
    /// Where tables are.
    #[config(nested)]
    pub(crate) store: Store,
    /// Where the server listens, and what it lets one client take.
    #[config(nested)]
    pub(crate) server: ServerSettings,
    /// Who may do what: keys and tokens.
    #[config(nested)]
    pub(crate) auth: Auth,
    /// Background jobs.
    #[config(nested)]
    pub(crate) jobs: JobSettings,
    /// Rate limits.
    #[config(nested)]
    pub(crate) limiter: weir_server::limiter::Settings,
    /// Budgets: what AI models may cost a day, and which to use.
    #[config(nested)]
    pub(crate) keeper: weir_server::keeper::Settings,
    /// What the server writes to its log.
    #[config(nested)]
    pub(crate) log: Log,
}
