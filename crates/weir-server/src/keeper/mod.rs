//! The keeper over HTTP: `/api/v1/orgs/…`, and the tokens of its clients under `/auth`.
//!
//! | who | may |
//! |---|---|
//! | the operator, with the admin key | set up orgs, apps and webhooks, rotate secrets, move chains by hand, and all below |
//! | an org, with its token | read its configuration and its apps', what was changed of them, and all below for each of its apps |
//! | an app, with its token | read its configuration and what was changed of it, ask for a model, submit, look at its totals, register profiles |
//! | whoever has a one-time token | fetch the secret that was promised with it, once |
//!
//! Webhooks are the operator's, because they make the server send requests; so is whatever changes how much may be spent.

pub mod aggregates;
pub mod apps;
pub mod audit;
pub mod auth;
pub mod codes;
pub mod configured;
pub mod credentials;
mod deliver;
mod error;
mod jobs;
mod metrics;
mod optional;
pub mod orgs;
pub(crate) mod place;
pub mod prices;
pub mod profiles;
pub(crate) mod rates;
pub mod selection;
pub mod shapes;
pub mod sticky;
pub mod submissions;
mod summing;
pub mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use utoipa_axum::routes;
use weir_keeper::Keeper;
use weir_keeper::export::Exports;
pub use weir_keeper::labels::Catalogue;
use weir_table::{AnyBackend, Error, Result};

use self::metrics::KeeperMetrics;
use self::rates::Allowances;
pub use self::rates::Rates;
use weir_framework::Code;
use weir_framework::api::Api;
use weir_framework::app::{App, Opened, Opening, Service};
use weir_framework::jobs::Jobs;
use weir_framework::metrics::ServiceMetrics;
use weir_framework::need::Need;
use weir_framework::objects;

/// How the keeper is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The labels there are.
    pub labels: Catalogue,
    /// How many days counters are kept.
    pub retention_days: u32,
    /// Where counters go before they expire: `s3://bucket/prefix` or `file:///folder`.
    pub export: Option<String>,
    /// How long between two runs of the jobs that sum up.
    pub aggregate_every: Duration,
    /// How long between two full passes.
    pub catch_up_every: Duration,
    /// How long an org's or app's configuration is believed.
    pub config_ttl: Duration,
    /// Where prices are fetched: an `https://`, `http://` or `file:///` URL.
    pub prices: Option<String>,
    /// How long a secret can be fetched after it was promised.
    pub secret_retrieval_secs: u32,
    /// The cost of hashing a secret.
    pub bcrypt_cost: u32,
    /// How many secrets are hashed at once at most.
    pub bcrypt_at_once: usize,
    /// How often what may be asked.
    pub rates: Rates,
}

impl Default for Settings {
    fn default() -> Settings {
        let domain = weir_keeper::Settings::default();
        Settings {
            labels: domain.labels,
            retention_days: domain.retention_days,
            export: None,
            aggregate_every: Duration::from_secs(10),
            catch_up_every: Duration::from_secs(300),
            config_ttl: Duration::from_millis(domain.config_ttl_ms.unsigned_abs()),
            prices: None,
            secret_retrieval_secs: domain.retrieval_token_secs,
            bcrypt_cost: domain.bcrypt_cost,
            bcrypt_at_once: domain.bcrypt_at_once,
            rates: Rates::default(),
        }
    }
}

/// The keeper as a part of the server. It limits itself with the limiter, so that must be there too.
#[derive(Debug, Clone, Default)]
pub struct KeeperService {
    settings: Settings,
    metrics: Arc<KeeperMetrics>,
}

impl KeeperService {
    /// The keeper, set up like this.
    #[must_use]
    pub fn new(settings: Settings) -> KeeperService {
        KeeperService { settings, metrics: Arc::default() }
    }

    async fn keeper(&self, app: &App) -> Result<Keeper<AnyBackend>> {
        let ours = &self.settings;
        let settings = weir_keeper::Settings {
            labels: ours.labels.clone(),
            retention_days: ours.retention_days,
            aggregate_interval_secs: u32::try_from(ours.aggregate_every.as_secs())
                .unwrap_or(u32::MAX),
            config_ttl_ms: i64::try_from(ours.config_ttl.as_millis()).unwrap_or(i64::MAX),
            retrieval_token_secs: ours.secret_retrieval_secs,
            bcrypt_cost: ours.bcrypt_cost,
            bcrypt_at_once: ours.bcrypt_at_once,
            // Where an answer can be lost on the way a transaction wants a token to be sent again with.
            idempotency_tokens: app.store().backend().is_shared(),
            ..weir_keeper::Settings::default()
        };
        let opened = Keeper::open(app.store().clone(), app.clock().clone(), settings).await;
        opened.map_err(store_error)
    }
}

fn store_error(error: weir_keeper::Error) -> Error {
    match error {
        weir_keeper::Error::Store(error) => error,
        weir_keeper::Error::Invalid { field, problem }
        | weir_keeper::Error::Config { field, problem } => Error::invalid(field, problem),
        other => Error::backend("opening the keeper", other),
    }
}

impl Service for KeeperService {
    fn open<'a>(&'a self, app: &'a App) -> Opening<'a> {
        Box::pin(async {
            let opened = Opened::default()
                .keep(self.keeper(app).await?)
                .keep(Allowances::new(&self.settings.rates))
                .keep(Arc::clone(&self.metrics));
            Ok(match &self.settings.export {
                Some(url) => {
                    let (objects, prefix) = objects::open("keeper.export", url)?;
                    opened.keep(Exports::new(objects, &prefix))
                }
                None => opened,
            })
        })
    }

    fn routes(&self, api: Api) -> Api {
        let ticket =
            Need::Nothing("the one-time token is the credential, and is checked by the handler");
        let api = auth::declare(api);
        let api = api
            // Programs that call models
            .express(Need::Org, routes!(selection::select), selection::express)
            .express(Need::Org, routes!(submissions::costs), submissions::express)
            .express(Need::Org, routes!(submissions::usage), submissions::express)
            .route(Need::Org, routes!(submissions::costs_batch))
            .route(Need::Org, routes!(submissions::usage_batch))
            .route(Need::Org, routes!(profiles::register, profiles::list))
            // Those who look at what was spent
            .route(Need::Org, routes!(aggregates::org_day))
            .route(Need::Org, routes!(aggregates::org_days))
            .route(Need::Org, routes!(aggregates::app_day))
            .route(Need::Org, routes!(aggregates::app_days))
            .route(Need::Org, routes!(orgs::get))
            .route(Need::Org, routes!(apps::list))
            .route(Need::Org, routes!(apps::get))
            .route(Need::Org, routes!(audit::of_org))
            .route(Need::Org, routes!(audit::of_app));
        // Operators, and those whom they hand a one-time token
        api.route(Need::Admin, routes!(orgs::list))
            .route(Need::Admin, routes!(orgs::put))
            .route(Need::Admin, routes!(apps::put))
            .route(Need::Admin, routes!(credentials::rotate_org))
            .route(Need::Admin, routes!(credentials::rotate_app))
            .route(ticket, routes!(credentials::secret_org))
            .route(ticket, routes!(credentials::secret_app))
            .route(Need::Admin, routes!(sticky::set_org, sticky::reset_org))
            .route(Need::Admin, routes!(sticky::set_app, sticky::reset_app))
            .route(Need::Admin, routes!(prices::list, prices::import))
            .route(Need::Admin, routes!(prices::imports))
            .route(Need::Admin, routes!(prices::remove_import))
            .route(Need::Admin, routes!(webhooks::list))
            .route(Need::Admin, routes!(webhooks::put, webhooks::get, webhooks::remove))
    }

    fn codes(&self) -> &'static [Code] {
        codes::ALL
    }

    fn metrics(&self) -> Option<Arc<dyn ServiceMetrics>> {
        Some(Arc::clone(&self.metrics) as Arc<dyn ServiceMetrics>)
    }

    fn jobs(&self, app: &App, jobs: Jobs) -> Jobs {
        let Some(keeper) = app.kept::<Keeper<AnyBackend>>() else { return jobs };
        let wanted = jobs::Wanted {
            aggregate_every: self.settings.aggregate_every,
            catch_up_every: self.settings.catch_up_every,
            prices: self.settings.prices.clone(),
        };
        jobs::declare(app, keeper, &wanted, jobs)
    }
}
