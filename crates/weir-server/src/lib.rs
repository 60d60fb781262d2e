//! The services of Weir over HTTP: one folder per domain, on top of `weir-framework`.
//!
//! A folder holds a domain's routes, background jobs, metrics, settings and error codes. Its `mod.rs` implements
//! [`Service`], which is all that the framework knows of the domain. [`services`] lists them all: the binary, the access
//! matrix and schemathesis start from it.

mod allowance;
pub mod console;
pub mod demo;
mod event_stream;
pub mod keeper;
pub mod limiter;
pub mod practice;
pub mod reviews;

use std::time::Duration;

use weir_api::console::ConfigEntry;
use weir_framework::Service;
use weir_framework::settings::JobSettings;

/// The settings of every service, each a section of the configuration.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// `[limiter]`.
    pub limiter: limiter::Settings,
    /// `[keeper]`.
    pub keeper: keeper::Settings,
    /// `[reviews]`.
    pub reviews: reviews::Settings,
    /// `[practice]`.
    pub practice: practice::Settings,
    /// The whole configuration in force, with secrets as dots, for the console.
    pub in_force: Vec<ConfigEntry>,
}

/// Every service. The keeper limits its clients with the limiter, so the limiter opens first. The console shows the others,
/// so it comes last.
#[must_use]
pub fn services(settings: Settings, jobs: &JobSettings) -> Vec<Box<dyn Service>> {
    let every = Duration::from_secs(jobs.aggregate_interval_secs);
    let sign_in_rate = settings.keeper.token_address_rate;
    vec![
        Box::new(limiter::LimiterService::new(settings.limiter).aggregate_every(every)),
        Box::new(keeper::KeeperService::new(settings.keeper).aggregate_every(every)),
        Box::new(reviews::ReviewsService::new(settings.reviews).aggregate_every(every)),
        Box::new(practice::PracticeService::new(settings.practice).aggregate_every(every)),
        Box::new(console::ConsoleService::new(sign_in_rate).config(settings.in_force)),
    ]
}
