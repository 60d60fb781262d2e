//! What handlers share, and the services that stand on it.

use std::any::{Any, TypeId};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use weir_table::clock::Clock;
use weir_table::{AnyBackend, Error, Result, Store, TableSpec};

use crate::api::Api;
use crate::auth::admin_key::Ensured;
use crate::auth::{self, Auth};
use crate::code::Code;
use crate::edge;
use crate::error::ApiError;
use crate::jobs::{self, Jobs};
use crate::metrics::{Metrics, ServiceMetrics};

/// What opening a service comes to.
pub type Opening<'a> = Pin<Box<dyn Future<Output = Result<Opened>> + Send + 'a>>;

/// What services keep for their handlers: one value of a type. They are few and looked for in every request, so they
/// stand in a list.
#[derive(Default)]
pub struct Opened(Vec<(TypeId, Box<dyn Any + Send + Sync>)>);

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Opened")
    }
}

impl Opened {
    /// Keeps a value; handlers find it with [`App::kept`].
    #[must_use]
    pub fn keep<T: Send + Sync + 'static>(mut self, value: T) -> Opened {
        self.0.push((TypeId::of::<T>(), Box::new(value)));
        self
    }
}

/// A domain's part of the server: its tables, its routes, its jobs.
pub trait Service: Send + Sync {
    /// The tables it keeps its things in; they are made where they are missing.
    fn tables(&self) -> Vec<TableSpec> {
        Vec::new()
    }

    /// Opens what its handlers share, before anything is asked of it. Its tables are there.
    fn open<'a>(&'a self, app: &'a App) -> Opening<'a> {
        let _ = app;
        Box::pin(async { Ok(Opened::default()) })
    }

    /// Declares its routes.
    fn routes(&self, api: Api) -> Api;

    /// The error codes that only this service uses.
    fn codes(&self) -> &'static [Code] {
        &[]
    }

    /// Its metrics.
    fn metrics(&self) -> Option<Arc<dyn ServiceMetrics>> {
        None
    }

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
    opened: OnceLock<Opened>,
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
            metrics: Metrics::new(
                services.iter().filter_map(|service| service.metrics()).collect(),
            ),
            edge: settings.edge,
            data,
            opened: OnceLock::new(),
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
        let mut opened = Opened::default();
        for service in services {
            opened.0.extend(service.open(&app).await?.0);
        }
        app.0.opened.set(opened).ok();
        if settings.run_jobs {
            let jobs = Jobs::new(
                app.store().clone(),
                app.clock().clone(),
                instance_id(app.0.data.is_some()),
            );
            let jobs = jobs.settings(settings.jobs);
            // The tasks of a DynamoDB client share the connections of the runtime that made them.
            let jobs = if app.0.data.is_some() { jobs.on_background_thread() } else { jobs };
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

    /// What a service kept when it was opened.
    #[must_use]
    pub fn kept<T: 'static>(&self) -> Option<&T> {
        let mut opened = self.0.opened.get()?.0.iter().rev();
        opened.find(|(of, _)| *of == TypeId::of::<T>())?.1.downcast_ref()
    }

    /// What the service `name` kept when it was opened.
    ///
    /// # Errors
    /// The server does not have the service.
    pub fn kept_by<T: 'static>(&self, name: &str) -> Result<&T, ApiError> {
        let missing = || ApiError::new(Code::INTERNAL_ERROR, format!("the {name} is not open"));
        self.kept().ok_or_else(missing)
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
