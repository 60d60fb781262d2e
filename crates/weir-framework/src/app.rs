//! The state that handlers share, and the `Service` trait that domains implement.

use std::any::{Any, TypeId};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Bytes;
use tokio::sync::watch;
use weir_table::clock::Clock;
use weir_table::{AnyBackend, Result, Store, TableSpec};

use crate::api::Api;
use crate::auth::admin_key::Ensured;
use crate::auth::scope_kind::{ScopeKind, ScopeKinds};
use crate::auth::{self, Auth, AuthError, Secret};
use crate::code::Code;
use crate::edge;
use crate::error::ApiError;
use crate::jobs::{self, Jobs};
use crate::listen::Origin;
use crate::metrics::{Metrics, ServiceMetrics};
use crate::saved_key;
use crate::security::{self, SecurityLog};
use crate::session_cookie::SessionCookie;
use crate::store_check::StoreCheck;

/// The future that [`Service::open`] returns.
pub type Opening<'a> = Pin<Box<dyn Future<Output = Result<Opened>> + Send + 'a>>;

/// The values that services share with their handlers, one per type. Every request looks some of them up; a list is fastest,
/// because there are few.
#[derive(Default)]
pub struct Opened(Vec<(TypeId, Box<dyn Any + Send + Sync>)>);

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Opened")
    }
}

impl Opened {
    /// Adds a value, which handlers get with [`App::kept`].
    #[must_use]
    pub fn keep<T: Send + Sync + 'static>(mut self, value: T) -> Opened {
        self.0.push((TypeId::of::<T>(), Box::new(value)));
        self
    }
}

/// A domain's part of the server: its tables, routes, jobs and metrics.
pub trait Service: Send + Sync {
    /// The tables of the service. [`App::open`] creates the missing ones.
    fn tables(&self) -> Vec<TableSpec> {
        Vec::new()
    }

    /// Creates the values that its handlers share, before the first request. Its tables exist by then.
    fn open<'a>(&'a self, app: &'a App) -> Opening<'a> {
        let _ = app;
        Box::pin(async { Ok(Opened::default()) })
    }

    /// Declares the routes of the service.
    fn routes(&self, api: Api) -> Api;

    /// The pages of the service for people, which need no credentials and are not part of the API.
    fn pages(&self) -> Router<App> {
        Router::new()
    }

    /// The kinds of scopes that the routes of the service require.
    fn scope_kinds(&self) -> Vec<&'static ScopeKind> {
        Vec::new()
    }

    /// The error codes that only this service uses.
    fn codes(&self) -> &'static [Code] {
        &[]
    }

    /// The metrics of the service.
    fn metrics(&self) -> Option<Arc<dyn ServiceMetrics>> {
        None
    }

    /// Declares the jobs of the service.
    fn jobs(&self, app: &App, jobs: Jobs) -> Jobs {
        let _ = app;
        jobs
    }
}

/// The settings that every server has, whatever services it runs.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Keys and tokens.
    pub auth: auth::Settings,
    /// The bounds of a request.
    pub edge: edge::Settings,
    /// Settings of the job driver.
    pub jobs: jobs::Settings,
    /// Whether this instance runs jobs.
    pub run_jobs: bool,
    /// The clock.
    pub clock: Clock,
    /// Whether the data is a demo, which the health routes report.
    pub demo: bool,
}

/// The state that handlers share. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Shared>);

struct Shared {
    store: Store<AnyBackend>,
    clock: Clock,
    auth: Auth<AnyBackend>,
    metrics: Metrics,
    security_log: SecurityLog,
    session_cookie: SessionCookie,
    store_check: StoreCheck,
    edge: edge::Settings,
    data: Option<PathBuf>,
    demo: bool,
    opened: OnceLock<Opened>,
    jobs: OnceLock<jobs::Running>,
    openapi: OnceLock<Bytes>,
    origin: OnceLock<Origin>,
    phase: watch::Sender<Phase>,
}

/// The phase of a server's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Serving,
    /// Readiness is off.
    Draining,
    /// The listener is closed.
    Stopped,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("App")
    }
}

/// The admin key when the server starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminKeyAtStart {
    /// There is one, from before or from the configuration.
    There,
    /// The admin key was generated and saved in this file.
    Saved(PathBuf),
    /// There is none. A store that instances share has no folder to save one in, so the operator makes it.
    Missing,
}

impl App {
    /// Opens authentication, creates the tables of `services` and starts their jobs. `data` is the
    /// folder of an embedded store.
    ///
    /// # Errors
    /// A setting is invalid, a table has an unexpected schema, or the store fails.
    pub async fn open(
        store: Store<AnyBackend>,
        settings: Settings,
        data: Option<PathBuf>,
        services: &[Box<dyn Service>],
    ) -> Result<App> {
        let clock = settings.clock.clone();
        let scope_kinds =
            ScopeKinds::new(services.iter().flat_map(|service| service.scope_kinds()));
        let (auth, data_dir) = (&settings.auth, data.as_deref());
        let auth = Auth::open(store.clone(), clock.clone(), auth, data_dir, scope_kinds).await?;
        let session_cookie = SessionCookie::of(&store)?;
        let app = App(Arc::new(Shared {
            store,
            clock,
            auth,
            metrics: Metrics::new(
                services.iter().filter_map(|service| service.metrics()).collect(),
            ),
            security_log: SecurityLog::default(),
            session_cookie,
            store_check: StoreCheck::default(),
            edge: settings.edge,
            data,
            demo: settings.demo,
            opened: OnceLock::new(),
            jobs: OnceLock::new(),
            openapi: OnceLock::new(),
            origin: OnceLock::new(),
            phase: watch::Sender::new(Phase::Serving),
        }));
        let tables = services.iter().flat_map(|service| service.tables());
        for spec in tables.chain([
            jobs::table_spec(),
            security::keys::table(),
            weir_table::feed::positions_spec(weir_table::feed::POSITIONS_TABLE),
        ]) {
            app.store().ensure_table(&spec).await?;
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

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store<AnyBackend> {
        &self.0.store
    }

    /// The value of type `T` that a service created when it was opened.
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

    /// The folder of an embedded store.
    #[must_use]
    pub fn data(&self) -> Option<&Path> {
        self.0.data.as_deref()
    }

    /// Whether the data is a demo.
    #[must_use]
    pub fn is_demo(&self) -> bool {
        self.0.demo
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.0.clock.now_ms()
    }

    /// Authentication.
    #[must_use]
    pub fn auth(&self) -> &Auth<AnyBackend> {
        &self.0.auth
    }

    /// The metrics.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// The failed sign-ins that were recorded.
    pub(crate) fn security_log(&self) -> &SecurityLog {
        &self.0.security_log
    }

    /// The cookie of console sessions.
    #[must_use]
    pub fn session_cookie(&self) -> &SessionCookie {
        &self.0.session_cookie
    }

    /// The readiness check of the store.
    pub(crate) fn store_check(&self) -> &StoreCheck {
        &self.0.store_check
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

    /// Resolves when the server stops. A response that has no end of its own ends then.
    pub async fn stopped(&self) {
        // The sender is part of this value, so the wait does not fail.
        self.0.phase.subscribe().wait_for(|phase| *phase == Phase::Stopped).await.ok();
    }

    /// Whether the server is about to stop: it still serves, and load balancers should send no more requests.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        *self.0.phase.borrow() != Phase::Serving
    }

    /// Turns readiness off.
    pub(crate) fn drain(&self) {
        self.0.phase.send_replace(Phase::Draining);
    }

    /// Ends every wait in [`App::stopped`].
    pub(crate) fn stop(&self) {
        self.0.phase.send_replace(Phase::Stopped);
    }

    /// The OpenAPI description; `{}` before the routes are declared. Responses share its memory, because clients without
    /// credentials may ask for it as often as they like.
    pub(crate) fn openapi(&self) -> Bytes {
        self.0.openapi.get().cloned().unwrap_or(Bytes::from_static(b"{}"))
    }

    /// Where the server accepts requests; none in a command, which has no listener.
    pub(crate) fn origin(&self) -> Option<Origin> {
        self.0.origin.get().copied()
    }

    pub(crate) fn listens_on(&self, origin: Origin) {
        self.0.origin.set(origin).ok();
    }

    pub(crate) fn describe(&self, openapi: String) {
        self.0.openapi.set(openapi.into()).ok();
    }

    /// Generates the admin key on the first start with an embedded store and saves it in the store's folder.
    ///
    /// # Errors
    /// The store fails, or the file cannot be written.
    pub async fn ensure_admin_key(&self) -> Result<AdminKeyAtStart> {
        let Some(data) = &self.0.data else {
            let exists = self.0.auth.has_admin_key().await?;
            return Ok(if exists { AdminKeyAtStart::There } else { AdminKeyAtStart::Missing });
        };
        match self.0.auth.ensure_admin_key().await? {
            Ensured::Made(key) => saved_key::save_admin_key(data, &key).map(AdminKeyAtStart::Saved),
            Ensured::There => {
                self.check_saved_admin_key(data).await.map(|()| AdminKeyAtStart::There)
            }
        }
    }

    /// Removes the file of an admin key that was replaced while the file could not be written, or before a backup of the
    /// store was restored beside it.
    async fn check_saved_admin_key(&self, data: &Path) -> Result<()> {
        let saved = saved_key::saved_admin_key(data)?;
        let Some(saved) = saved.filter(|_| !self.0.auth.has_configured_admin_key()) else {
            return Ok(());
        };
        match self.0.auth.authenticate_key(saved.expose()).await {
            Ok(_) => Ok(()),
            Err(AuthError::Store(error)) => Err(error),
            Err(_) => {
                saved_key::remove_admin_key(data);
                Ok(())
            }
        }
    }

    /// Replaces the admin key. The file of an embedded store gets the new one or, if it cannot be written, is removed.
    ///
    /// # Errors
    /// The key is a configured one, or the store fails.
    pub async fn rotate_admin_key(&self) -> Result<Secret> {
        let key = self.0.auth.rotate_admin_key().await?;
        if let Some(data) = &self.0.data
            && let Err(error) = saved_key::save_admin_key(data, &key)
        {
            tracing::error!(%error, "the new admin key could not be saved");
            saved_key::remove_admin_key(data);
        }
        Ok(key)
    }
}

/// A unique id for this instance. An embedded store has one instance at a time, so its id is constant: after a crash
/// the instance can take its leases again at once.
fn instance_id(embedded: bool) -> String {
    if embedded {
        return "embedded".to_owned();
    }
    format!("{}-{:016x}", std::process::id(), fastrand::u64(..))
}
