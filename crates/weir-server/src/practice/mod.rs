//! Practice over HTTP: `/v1/practice/…`.
//!
//! | caller | may |
//! |---|---|
//! | administrator, with the scope `practice` | everything |
//! | reader, with `practice:read` | read everything |
//! | backend of one user, with `practice:user:{user_id}` | take and read that user's usage, record and read that user's runs, and read public things |
//! | worker, with `practice:worker` | list, claim and report jobs, read what a job needs, and store task results |
//!
//! A path below `users/{id}` names a user, and others do not even exist for a user's token: the handler works with
//! `access::UserAccess`, which returns 404 for them.

mod access;
mod audit;
mod codes;
mod convert;
mod dual_write;
mod error;
mod history;
mod jobs;
mod metrics;
mod path;
mod plans;
mod problems;
mod progress;
mod queue;
mod scopes;
mod settings;
mod slots;
mod stats;
mod tasks;
mod test_cases;
mod usage;
mod users;
mod viewer;

use std::sync::Arc;
use std::time::Duration;

use weir_framework::Code;
use weir_framework::api::Api;
use weir_framework::app::{App, Opened, Opening, Service};
use weir_framework::auth::scope_kind::ScopeKind;
use weir_framework::jobs::Jobs;
use weir_framework::metrics::ServiceMetrics;
use weir_framework::objects;
use weir_framework::settings::JobSettings;
use weir_practice::Practice;
use weir_practice::migrate::Source;
use weir_practice::objects::Objects;
use weir_table::{AnyBackend, Error, Result};

use self::dual_write::DualWriteJob;
use self::metrics::PracticeMetrics;
pub use self::settings::{FeedPartitioning, Settings};
use self::slots::Slots;

/// Folder of large texts and archives below the data folder, unless another place is configured.
pub const OBJECTS_FOLDER: &str = "practice-objects";

/// Practice as a service of the server.
#[derive(Debug, Clone)]
pub struct PracticeService {
    settings: Settings,
    aggregate_every: Duration,
    metrics: Arc<PracticeMetrics>,
}

impl Default for PracticeService {
    fn default() -> PracticeService {
        PracticeService::new(Settings::default())
    }
}

impl PracticeService {
    /// Practice with these settings.
    #[must_use]
    pub fn new(settings: Settings) -> PracticeService {
        let every = JobSettings::default().aggregate_interval_secs;
        let aggregate_every = Duration::from_secs(every);
        PracticeService { settings, aggregate_every, metrics: Arc::default() }
    }

    /// Sets the time between two runs of the job that rolls up usage.
    #[must_use]
    pub fn aggregate_every(self, aggregate_every: Duration) -> PracticeService {
        PracticeService { aggregate_every, ..self }
    }

    /// The object storage. A store that instances share has no folder of its own.
    fn objects(&self, app: &App) -> Result<Objects> {
        let field = "practice.objects";
        match (&self.settings.objects, app.data()) {
            (Some(url), _) => {
                let (objects, prefix) = objects::open(field, url)?;
                Ok(Objects::new(objects, &prefix))
            }
            (None, Some(data)) => {
                let folder = std::path::absolute(data.join(OBJECTS_FOLDER));
                let folder =
                    folder.map_err(|source| Error::io("finding the data folder", source))?;
                Ok(Objects::new(objects::open_folder(field, &folder)?, ""))
            }
            (None, None) => Ok(Objects::unavailable()),
        }
    }

    async fn practice(&self, app: &App) -> Result<Practice<AnyBackend>> {
        let (store, clock) = (app.store().clone(), app.clock().clone());
        let settings = self.settings.to_domain().map_err(store_error)?;
        Practice::open(store, self.objects(app)?, clock, settings).await.map_err(store_error)
    }
}

fn store_error(error: weir_practice::Error) -> Error {
    match error {
        weir_practice::Error::Store(error) => error,
        weir_practice::Error::Invalid { field, problem } => {
            Error::invalid(format!("practice.{field}"), problem)
        }
        other => Error::backend("opening practice", other),
    }
}

impl Service for PracticeService {
    fn open<'a>(&'a self, app: &'a App) -> Opening<'a> {
        Box::pin(async {
            let opened = Opened::default().keep(self.practice(app).await?);
            let opened = opened.keep(Slots::new(&self.settings));
            let opened = match &self.settings.dual_write_from_file {
                Some(file) => opened.keep(dual_write::source(file)?),
                None => opened,
            };
            Ok(opened.keep(Arc::clone(&self.metrics)))
        })
    }

    fn routes(&self, api: Api) -> Api {
        let groups = [
            users::routes,
            plans::routes,
            usage::routes,
            problems::routes,
            test_cases::routes,
            history::routes,
            queue::routes,
            tasks::routes,
            stats::routes,
            audit::routes,
        ];
        groups.into_iter().fold(api, |api, routes| routes(api))
    }

    fn scope_kinds(&self) -> Vec<&'static ScopeKind> {
        vec![&scopes::PRACTICE, &scopes::USER, &scopes::WORKER]
    }

    fn codes(&self) -> &'static [Code] {
        codes::ALL
    }

    fn metrics(&self) -> Option<Arc<dyn ServiceMetrics>> {
        Some(Arc::clone(&self.metrics) as Arc<dyn ServiceMetrics>)
    }

    fn jobs(&self, app: &App, jobs: Jobs) -> Jobs {
        let Some(practice) = app.kept::<Practice<AnyBackend>>() else { return jobs };
        let own = self.settings.rollup_interval_secs.map(Duration::from_secs);
        let rollup_every = own.unwrap_or(self.aggregate_every);
        let jobs = jobs::declare(practice, rollup_every, &self.metrics, jobs);
        match app.kept::<Source>() {
            Some(source) => {
                jobs.periodic_job(DualWriteJob::new(practice, source.clone(), app.clock().clone()))
            }
            None => jobs,
        }
    }
}
