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
use weir_framework::settings::{JobSettings, SettingProblem};
use weir_table::TableSpec;

/// Folders below the data folder in which services keep files. A backup of the store includes them.
pub const BACKUP_FOLDERS: [&str; 2] = [reviews::RAW_FOLDER, practice::OBJECTS_FOLDER];

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

impl Settings {
    /// The tables of every service.
    #[must_use]
    pub fn tables(&self) -> Vec<TableSpec> {
        let is_shared = self.limiter.compat == limiter::Compat::Zae;
        let mut tables = vec![weir_limiter::table::spec(&self.limiter.table, is_shared)];
        tables.extend(weir_keeper::table::Tables::default().specs());
        tables.push(weir_reviews::table::spec(&self.reviews.table_name().1.into()));
        tables.push(weir_practice::table::spec(&self.practice.table.as_str().into()));
        tables
    }

    /// The problems of single values, each with the key of its setting.
    #[must_use]
    pub fn problems(&self) -> Vec<(String, String)> {
        let sections = [
            ("limiter", self.limiter.problems()),
            ("keeper", self.keeper.problems()),
            ("reviews", self.reviews.problems()),
            ("practice", self.practice.problems()),
        ];
        let named = |(section, problems): (&str, Vec<SettingProblem>)| {
            let with_section = |(key, problem)| (format!("{section}.{key}"), problem);
            problems.into_iter().map(with_section).collect::<Vec<_>>()
        };
        sections.into_iter().flat_map(named).collect()
    }

    /// The problems of the names of tables, which `prefix` begins, each with the key of its setting.
    #[must_use]
    pub fn table_problems(&self, prefix: &str) -> Vec<(String, String)> {
        let (reviews_key, reviews) = self.reviews.table_name();
        let names = [
            ("limiter.table".to_owned(), self.limiter.table.as_str(), self.limiter.compat),
            (format!("reviews.{reviews_key}"), reviews.as_str(), limiter::Compat::Own),
            ("practice.table".to_owned(), self.practice.table.as_str(), limiter::Compat::Own),
        ];
        let problem =
            |(key, table, compat)| Some((key, limiter::table_problem(table, prefix, compat)?));
        names.into_iter().filter_map(problem).collect()
    }

    /// The objects that services keep outside of the data folder, so that no backup of the store includes them.
    #[must_use]
    pub fn objects_elsewhere(&self) -> Vec<String> {
        let raw = self.reviews.raw.as_ref();
        let raw = raw.map(|raw| format!("the raw outputs of reviews in {raw}"));
        let objects = self.practice.objects.as_ref();
        let objects =
            objects.map(|objects| format!("large texts and archives of practice in {objects}"));
        raw.into_iter().chain(objects).collect()
    }
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
