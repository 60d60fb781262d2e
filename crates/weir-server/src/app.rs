//! What handlers share, and the services that stand on it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use weir_table::clock::Clock;
use weir_table::{AnyBackend, Error, Result, Store, TableSpec};

use crate::api::Api;
use crate::auth::admin_key::Ensured;
use crate::auth::{self, Auth};
use crate::edge;
use crate::jobs::{self, Jobs};
use crate::metrics::Metrics;

/// A domain's part of the server: its tables, its routes, its jobs.
pub trait Service: Send + Sync {
    /// The tables it keeps its things in; they are made where they are missing.
    fn tables(&self) -> Vec<TableSpec> {
        Vec::new()
    }

    /// Declares its routes.
    fn routes(&self, api: Api) -> Api;

    /// Declares its jobs.
    fn jobs(&self, app: &App, jobs: Jobs) -> Jobs {
        let _ = app;
        jobs
    }
}

/// How a server is set up, whatever it serves.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Keys and tokens.
    pub auth: auth::Settings,
    /// The bounds of a request.
    pub edge: edge::Settings,
    /// How jobs are driven.
    pub jobs: jobs::Settings,
    /// Whether this instance runs jobs.
    pub run_jobs: bool,
    /// Where time comes from.
    pub clock: Clock,
}

/// What handlers share. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Shared>);

struct Shared {
    store: Store<AnyBackend>,
    clock: Clock,
    auth: Auth<AnyBackend>,
    metrics: Metrics,
    edge: edge::Settings,
    data: Option<PathBuf>,
    jobs: OnceLock<jobs::Running>,
    openapi: OnceLock<String>,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("App")
    }
}

impl App {
    /// Opens authentication, makes the tables of `services` and starts their jobs. `data` is the
    /// folder of an embedded store.
    ///
    /// # Errors
    /// A setting is wrong, a table has another shape, or the store fails.
    pub async fn open(
        store: Store<AnyBackend>,
        settings: Settings,
        data: Option<PathBuf>,
        services: &[Box<dyn Service>],
    ) -> Result<App> {
        let clock = settings.clock.clone();
        let auth =
            Auth::open(store.clone(), clock.clone(), &settings.auth, data.as_deref()).await?;
        let app = App(Arc::new(Shared {
            store,
            clock,
            auth,
            metrics: Metrics::new(),
            edge: settings.edge,
            data,
            jobs: OnceLock::new(),
            openapi: OnceLock::new(),
        }));
        let tables = services.iter().flat_map(|service| service.tables());
        for spec in tables.chain([
            jobs::table_spec(),
            weir_table::feed::positions_spec(weir_table::feed::POSITIONS_TABLE),
        ]) {
            app.ensure_table(&spec).await?;
        }
        if settings.run_jobs {
            let jobs = Jobs::new(
                app.store().clone(),
                app.clock().clone(),
                instance_id(app.0.data.is_some()),
            );
            let jobs = jobs.settings(settings.jobs);
            let declare = |jobs, service: &dyn Service| service.jobs(&app, jobs);
            let services = services.iter().map(Box::as_ref);
            let jobs = services.fold(jobs, declare);
            app.0.jobs.set(jobs.start()?).ok();
        }
        Ok(app)
    }

    async fn ensure_table(&self, spec: &TableSpec) -> Result<()> {
        match self.store().verify_table(spec).await {
            Err(Error::NoSuchTable(_)) => self.store().create_table(spec).await,
            verified => verified,
        }
    }

    /// The tables.
    #[must_use]
    pub fn store(&self) -> &Store<AnyBackend> {
        &self.0.store
    }

    /// Where time comes from.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.0.clock.now_ms()
    }

    /// Who may come in.
    #[must_use]
    pub fn auth(&self) -> &Auth<AnyBackend> {
        &self.0.auth
    }

    /// What is counted.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// The bounds of a request.
    #[must_use]
    pub fn bounds(&self) -> &edge::Settings {
        &self.0.edge
    }

    /// The jobs, on an instance that runs them.
    #[must_use]
    pub fn jobs(&self) -> Option<&jobs::Running> {
        self.0.jobs.get()
    }

    /// The API's description, once the routes are declared.
    pub(crate) fn openapi(&self) -> &str {
        self.0.openapi.get().map_or("{}", String::as_str)
    }

    pub(crate) fn describe(&self, openapi: String) {
        self.0.openapi.set(openapi).ok();
    }

    /// Makes the admin key of an embedded store on the first start and saves it in its folder.
    /// Tells where, if it made one.
    ///
    /// # Errors
    /// The store or the file cannot be written.
    pub async fn ensure_admin_key(&self) -> Result<Option<PathBuf>> {
        let Some(data) = &self.0.data else {
            return Ok(None);
        };
        match self.0.auth.ensure_admin_key().await? {
            Ensured::Made(key) => crate::save_admin_key(data, &key).map(Some),
            _ => Ok(None),
        }
    }
}

/// A name that no other instance has. An embedded store has one instance at a time; with the same
/// name it takes up its leases again at once after a crash.
fn instance_id(embedded: bool) -> String {
    if embedded {
        return "embedded".to_owned();
    }
    format!("{}-{:016x}", std::process::id(), fastrand::u64(..))
}
