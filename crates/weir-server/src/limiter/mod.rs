//! The limiter over HTTP: `/v1/namespaces/{ns}/…`.
//!
//! A handler takes a request apart, asks one thing of a [`Namespace`](weir_limiter::Namespace) or of the
//! [`Limiter`], and answers. [`acquire`] is the path that every request of a user's user takes; the rest is for
//! those who set limits and look at them.

pub mod about;
pub mod acquire;
pub mod audit;
pub mod buckets;
pub mod codes;
pub mod entities;
pub(crate) mod error;
pub mod jobs;
pub mod leases;
pub mod levels;
mod metrics;
pub mod namespaces;
mod place;
pub mod resolve;
pub mod shapes;
pub mod usage;

use std::sync::Arc;
use std::time::Duration;

use utoipa_axum::routes;
pub use weir_limiter::Compat;
use weir_limiter::Limiter;
use weir_limiter::audit::archive::Archive;
use weir_table::{AnyBackend, Error, Result};

use weir_framework::Code;
use weir_framework::api::Api;
use weir_framework::app::{App, Opened, Opening, Service};
use weir_framework::jobs::Jobs;
use weir_framework::metrics::ServiceMetrics;
use weir_framework::need::Need;
use weir_framework::objects;

use self::metrics::LimiterMetrics;

/// What leases are signed with is made from the store's own key under this label.
const LEASE_KEY: &str = "weir-limiter: leases";

/// How the limiter is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its table.
    pub table: String,
    /// Whether zae-limiter works on the same table.
    pub compat: Compat,
    /// How long a config level is believed.
    pub config_ttl: Duration,
    /// Whether usage is counted here. Only one may do so: in a table shared with zae-limiter its Lambda may.
    pub counts_usage: bool,
    /// How long audit events are kept in the table.
    pub audit_retention_days: u32,
    /// Where audit events go then: `s3://bucket/prefix` or `file:///folder`.
    pub audit_archive: Option<String>,
    /// How long between two runs of the jobs that follow the buckets.
    pub aggregate_every: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        let domain = weir_limiter::Settings::new(false, [0; 32]);
        Settings {
            table: domain.table,
            compat: domain.compat,
            config_ttl: Duration::from_millis(domain.config_ttl_ms.unsigned_abs()),
            counts_usage: true,
            audit_retention_days: domain.audit_retention_days,
            audit_archive: None,
            aggregate_every: Duration::from_secs(10),
        }
    }
}

/// The limiter as a part of the server.
#[derive(Debug, Clone, Default)]
pub struct LimiterService {
    settings: Settings,
    metrics: Arc<LimiterMetrics>,
}

impl LimiterService {
    /// The limiter, set up like this.
    #[must_use]
    pub fn new(settings: Settings) -> LimiterService {
        LimiterService { settings, metrics: Arc::default() }
    }

    async fn limiter(&self, app: &App) -> Result<Limiter<AnyBackend>> {
        let store = app.store().clone();
        let settings = weir_limiter::Settings {
            table: self.settings.table.clone(),
            compat: self.settings.compat,
            config_ttl_ms: i64::try_from(self.settings.config_ttl.as_millis()).unwrap_or(i64::MAX),
            audit_retention_days: self.settings.audit_retention_days,
            archive: self.settings.audit_archive.is_some(),
            ..weir_limiter::Settings::new(
                store.backend().is_shared(),
                store.derived_key(LEASE_KEY)?,
            )
        };
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
        let tenant = Need::Namespace;
        let api = api
            // Programs that are limited
            .express(tenant, routes!(acquire::acquire), acquire::express)
            .route(tenant, routes!(acquire::availability))
            .express(tenant, routes!(leases::adjust), leases::express::adjust)
            .express(tenant, routes!(leases::commit), leases::express::commit)
            .express(tenant, routes!(leases::release), leases::express::release)
            .express(tenant, routes!(leases::rollback), leases::express::rollback)
            // Those who set limits
            .route(tenant, routes!(entities::list))
            .route(tenant, routes!(entities::put, entities::get, entities::remove))
            .route(tenant, routes!(entities::children))
            .route(tenant, routes!(entities::set_parent))
            .route(tenant, routes!(levels::put_system, levels::get_system, levels::remove_system))
            .route(
                tenant,
                routes!(levels::put_resource, levels::get_resource, levels::remove_resource),
            )
            .route(tenant, routes!(levels::put_entity, levels::get_entity, levels::remove_entity))
            .route(tenant, routes!(resolve::resolve))
            .route(tenant, routes!(resolve::entities))
            .route(tenant, routes!(resolve::resources));
        let api = api
            // Those who look at them, and help out
            .route(tenant, routes!(buckets::list))
            .route(tenant, routes!(buckets::capacity))
            .route(tenant, routes!(buckets::reset))
            .route(tenant, routes!(buckets::top_up))
            .route(tenant, routes!(usage::list))
            .route(tenant, routes!(usage::summary))
            .route(tenant, routes!(audit::list));
        // Operators
        api.route(tenant, routes!(namespaces::get))
            .route(Need::Admin, routes!(namespaces::put, namespaces::remove))
            .route(Need::Admin, routes!(namespaces::list))
            .route(Need::Admin, routes!(namespaces::purge))
            .route(Need::Admin, routes!(namespaces::recover))
            .route(Need::Admin, routes!(about::version))
            .route(Need::Admin, routes!(about::cache))
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
        let jobs = jobs::declare(limiter.clone(), self.settings.aggregate_every, leases_open, jobs);
        let jobs = if self.settings.counts_usage {
            jobs::declare_usage(limiter.clone(), self.settings.aggregate_every, jobs)
        } else {
            jobs
        };
        match app.kept::<Archive>() {
            Some(archive) => jobs::declare_archive(limiter.clone(), archive.clone(), jobs),
            None => jobs,
        }
    }
}
