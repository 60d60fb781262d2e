//! The limiter over HTTP: `/v1/namespaces/{ns}/…`.
//!
//! A handler parses the request (`path`, `convert`), calls one method of a [`Namespace`](weir_limiter::Namespace) or of the
//! [`Limiter`], and converts the result into a response of `weir-api`. `acquire` is the hot path; the other routes
//! configure and inspect limits.

pub(crate) mod acquire;
mod audit;
mod buckets;
pub mod codes;
mod convert;
mod entities;
pub(crate) mod error;
pub mod jobs;
mod leases;
mod limits;
mod metrics;
mod namespaces;
mod path;
mod plan;
mod resolve;
pub(crate) mod scopes;
mod settings;
mod status;
pub(crate) mod traffic;
mod usage;

use std::sync::Arc;
use std::time::Duration;

use utoipa_axum::routes;
use weir_limiter::Limiter;
use weir_limiter::audit::archive::Archive;
use weir_table::{AnyBackend, Error, Result};

use weir_framework::api::Api;
use weir_framework::app::{App, Opened, Opening, Service};
use weir_framework::auth::scope_kind::ScopeKind;
use weir_framework::jobs::Jobs;
use weir_framework::metrics::ServiceMetrics;
use weir_framework::objects;
use weir_framework::required_scope::RequiredScope;
use weir_framework::settings::JobSettings;
use weir_framework::{Code, fast_route};

use self::metrics::LimiterMetrics;
pub use self::settings::{Compat, CountUsage, Settings, table_problem};
use self::traffic::Traffic;

/// Label under which the key that signs leases is derived from the store's key.
const LEASE_KEY: &str = "weir-limiter: leases";

/// The limiter as a service of the server.
#[derive(Debug, Clone)]
pub struct LimiterService {
    settings: Settings,
    aggregate_every: Duration,
    metrics: Arc<LimiterMetrics>,
}

impl Default for LimiterService {
    fn default() -> LimiterService {
        LimiterService::new(Settings::default())
    }
}

impl LimiterService {
    /// The service with these settings.
    #[must_use]
    pub fn new(settings: Settings) -> LimiterService {
        let every = JobSettings::default().aggregate_interval_secs;
        let aggregate_every = Duration::from_secs(every);
        LimiterService { settings, aggregate_every, metrics: Arc::default() }
    }

    /// Sets the interval of the jobs that follow the buckets.
    #[must_use]
    pub fn aggregate_every(self, aggregate_every: Duration) -> LimiterService {
        LimiterService { aggregate_every, ..self }
    }

    async fn limiter(&self, app: &App) -> Result<Limiter<AnyBackend>> {
        let store = app.store().clone();
        let (sharded, lease_key) = (store.backend().is_shared(), store.derived_key(LEASE_KEY)?);
        let settings = self.settings.to_domain(sharded, lease_key);
        let opened = Limiter::open(store, app.clock().clone(), settings).await;
        opened.map_err(store_error)
    }
}

fn store_error(error: weir_limiter::Error) -> Error {
    match error {
        weir_limiter::Error::Store(error) => error,
        weir_limiter::Error::Invalid { field, problem } => Error::invalid(field, problem),
        other => Error::backend("opening the limiter", other),
    }
}

impl Service for LimiterService {
    fn open<'a>(&'a self, app: &'a App) -> Opening<'a> {
        Box::pin(async {
            let opened =
                Opened::default().keep(self.limiter(app).await?).keep(Arc::clone(&self.metrics));
            let opened = opened.keep(Traffic::new(app.now_ms()));
            Ok(match &self.settings.audit_archive {
                Some(url) => {
                    let (objects, prefix) = objects::open("limiter.audit_archive", url)?;
                    opened.keep(Archive::new(objects, &prefix))
                }
                None => opened,
            })
        })
    }

    fn routes(&self, api: Api) -> Api {
        let tenant = RequiredScope::Tenant(&scopes::NAMESPACE);
        let acquire = RequiredScope::Action(&scopes::NAMESPACE, scopes::ACQUIRE);
        let api = api
            // Acquire and settle
            .fast_route(acquire, fast_route!(acquire::acquire))
            .route(acquire, routes!(acquire::availability))
            .fast_route(acquire, fast_route!(leases::adjust))
            .fast_route(acquire, fast_route!(leases::commit))
            .fast_route(acquire, fast_route!(leases::release))
            .fast_route(acquire, fast_route!(leases::rollback))
            // Configure
            .route(tenant, routes!(entities::list))
            .route(tenant, routes!(entities::put, entities::get, entities::remove))
            .route(tenant, routes!(entities::children))
            .route(tenant, routes!(entities::set_parent))
            .route(tenant, routes!(limits::put_system, limits::get_system, limits::remove_system))
            .route(
                tenant,
                routes!(limits::put_resource, limits::get_resource, limits::remove_resource),
            )
            .route(tenant, routes!(limits::put_entity, limits::get_entity, limits::remove_entity))
            .route(tenant, routes!(plan::plan))
            .route(tenant, routes!(resolve::resolve))
            .route(tenant, routes!(resolve::entities))
            .route(tenant, routes!(resolve::resources));
        let api = api
            // Inspect and operate
            .route(tenant, routes!(buckets::list))
            .route(tenant, routes!(buckets::capacity))
            .route(tenant, routes!(buckets::reset))
            .route(tenant, routes!(buckets::top_up))
            .route(tenant, routes!(usage::list))
            .route(tenant, routes!(usage::summary))
            .route(tenant, routes!(audit::list));
        // Administer
        api.route(tenant, routes!(namespaces::get))
            .route(RequiredScope::Admin, routes!(namespaces::put, namespaces::remove))
            .route(RequiredScope::Admin, routes!(namespaces::list))
            .route(RequiredScope::Admin, routes!(namespaces::purge))
            .route(RequiredScope::Admin, routes!(namespaces::recover))
            .route(RequiredScope::Admin, routes!(status::version))
            .route(RequiredScope::Admin, routes!(status::cache))
    }

    fn scope_kinds(&self) -> Vec<&'static ScopeKind> {
        vec![&scopes::NAMESPACE]
    }

    fn codes(&self) -> &'static [Code] {
        codes::ALL
    }

    fn metrics(&self) -> Option<Arc<dyn ServiceMetrics>> {
        Some(Arc::clone(&self.metrics) as Arc<dyn ServiceMetrics>)
    }

    fn jobs(&self, app: &App, jobs: Jobs) -> Jobs {
        let Some(limiter) = app.kept::<Limiter<AnyBackend>>() else { return jobs };
        let leases_open = self.metrics.leases_open.clone();
        let jobs = jobs::declare(limiter.clone(), self.aggregate_every, leases_open, jobs);
        let jobs = if self.settings.counts_usage() {
            jobs::declare_usage(limiter.clone(), self.aggregate_every, jobs)
        } else {
            jobs
        };
        match app.kept::<Archive>() {
            Some(archive) => jobs::declare_archive(limiter.clone(), archive.clone(), jobs),
            None => jobs,
        }
    }
}
