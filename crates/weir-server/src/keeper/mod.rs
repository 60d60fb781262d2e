//! The keeper over HTTP: `/api/v1/orgs/…`, and the tokens of its clients under `/auth`.
//!
//! | caller | may |
//! |---|---|
//! | operator, with the admin key | configure, delete and restore orgs and apps, configure webhooks, rotate secrets, move chains by hand, and everything below |
//! | org, with its token | read the configuration and the audit events of itself and its apps, and everything below for each of its apps |
//! | app, with its token | read its configuration and audit events, select a model, submit usage, read its totals, register profiles |
//! | anyone with a one-time token | fetch the client secret that the token stands for, once |
//!
//! Only the operator may configure webhooks, because they make the server send requests, and quotas, because they permit spend.

mod aggregates;
mod apps;
mod audit;
mod auth;
pub(crate) mod budgets;
mod client_tokens;
pub mod codes;
pub mod convert;
mod credentials;
mod deletion;
mod deliver;
mod deliveries;
pub(crate) mod error;
mod hours;
mod http_client;
mod jobs;
mod metrics;
mod orgs;
pub(crate) mod path;
mod prices;
mod profiles;
pub(crate) mod rates;
pub(crate) mod scopes;
mod selection;
mod settings;
mod sticky;
mod submissions;
mod summing;
mod twin;
mod webhooks;
mod what_if;

use std::sync::Arc;
use std::time::Duration;

use utoipa_axum::routes;
use weir_keeper::Keeper;
pub use weir_keeper::catalog::ModelCatalog;
use weir_keeper::export::ExportTarget;
use weir_table::{AnyBackend, Error, Result};

use self::deliver::WebhookSender;
use self::http_client::{HttpClient, HttpError};
use self::metrics::KeeperMetrics;
use self::rates::Allowances;
pub use self::settings::{Labels, Settings};
use weir_framework::api::Api;
use weir_framework::app::{App, Opened, Opening, Service};
use weir_framework::auth::scope_kind::ScopeKind;
use weir_framework::jobs::Jobs;
use weir_framework::metrics::ServiceMetrics;
use weir_framework::objects;
use weir_framework::required_scope::RequiredScope;
use weir_framework::settings::JobSettings;
use weir_framework::{Code, fast_route};

/// The keeper as a service of the server. It enforces its rate limits with the limiter, so the server must have that service too.
#[derive(Debug, Clone)]
pub struct KeeperService {
    settings: Settings,
    aggregate_every: Duration,
    metrics: Arc<KeeperMetrics>,
}

impl Default for KeeperService {
    fn default() -> KeeperService {
        KeeperService::new(Settings::default())
    }
}

impl KeeperService {
    /// The keeper with these settings.
    #[must_use]
    pub fn new(settings: Settings) -> KeeperService {
        let every = JobSettings::default().aggregate_interval_secs;
        let aggregate_every = Duration::from_secs(every);
        let service = KeeperService { settings, aggregate_every, metrics: Arc::default() };
        service.aggregate_every(aggregate_every)
    }

    /// Sets the time between two runs of the jobs that aggregate.
    #[must_use]
    pub fn aggregate_every(self, aggregate_every: Duration) -> KeeperService {
        self.metrics.aggregate_every(aggregate_every);
        KeeperService { aggregate_every, ..self }
    }

    async fn keeper(&self, app: &App) -> Result<Keeper<AnyBackend>> {
        // A response of a remote store can be lost; its transactions need a token to be repeated safely.
        let tokens = app.store().backend().is_shared();
        let settings = self.settings.to_domain(self.aggregate_every, tokens);
        let settings = settings.map_err(|problem| Error::invalid("keeper.labels", problem))?;
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
            let wrong = |error: HttpError| Error::backend("creating the HTTP client", error);
            let sender = WebhookSender::new(self.settings.webhook_addresses());
            let opened = Opened::default()
                .keep(HttpClient::new().map_err(wrong)?)
                .keep(sender.map_err(wrong)?)
                .keep(self.keeper(app).await?)
                .keep(Allowances::new(&self.settings))
                .keep(Arc::clone(&self.metrics));
            Ok(match &self.settings.export {
                Some(url) => {
                    let (objects, prefix) = objects::open("keeper.export", url)?;
                    opened.keep(ExportTarget::new(objects, &prefix))
                }
                None => opened,
            })
        })
    }

    fn routes(&self, api: Api) -> Api {
        let ticket = RequiredScope::Public(
            "the one-time token is the credential, and is checked by the handler",
        );
        let tenant = RequiredScope::Tenant(&scopes::ORG);
        let submit = RequiredScope::Action(&scopes::ORG, scopes::SUBMIT);
        let api = auth::declare(api);
        let api = api
            // Programs that call models
            .fast_route(submit, fast_route!(selection::select))
            .fast_route(submit, fast_route!(submissions::costs))
            .fast_route(submit, fast_route!(submissions::usage))
            .route(submit, routes!(submissions::costs_batch))
            .route(submit, routes!(submissions::usage_batch))
            .route(tenant, routes!(profiles::register, profiles::list))
            // Reports and configuration
            .route(tenant, routes!(aggregates::org_day))
            .route(tenant, routes!(aggregates::org_days))
            .route(tenant, routes!(aggregates::app_day))
            .route(tenant, routes!(aggregates::app_days))
            .route(tenant, routes!(hours::org_hours))
            .route(tenant, routes!(hours::app_hours))
            .route(tenant, routes!(what_if::simulate))
            .route(RequiredScope::AnyTenant(&scopes::ORG), routes!(budgets::budgets))
            .route(tenant, routes!(orgs::get))
            .route(tenant, routes!(apps::list))
            .route(tenant, routes!(apps::get))
            .route(tenant, routes!(audit::of_org))
            .route(tenant, routes!(audit::of_app));
        // The operator, and anyone with a one-time token
        api.route(RequiredScope::Admin, routes!(orgs::list))
            .route(RequiredScope::Admin, routes!(orgs::put, deletion::delete_org))
            .route(RequiredScope::Admin, routes!(apps::put, deletion::delete_app))
            .route(RequiredScope::Admin, routes!(deletion::restore_org))
            .route(RequiredScope::Admin, routes!(deletion::restore_app))
            .route(RequiredScope::Admin, routes!(profiles::remove))
            .route(RequiredScope::Admin, routes!(credentials::rotate_org, credentials::cancel_org))
            .route(RequiredScope::Admin, routes!(credentials::rotate_app, credentials::cancel_app))
            .route(ticket, routes!(credentials::secret_org, credentials::redeem_org))
            .route(ticket, routes!(credentials::secret_app, credentials::redeem_app))
            .route(RequiredScope::Admin, routes!(sticky::set_org, sticky::reset_org))
            .route(RequiredScope::Admin, routes!(sticky::set_app, sticky::reset_app))
            .route(RequiredScope::Admin, routes!(prices::list, prices::import))
            .route(RequiredScope::Admin, routes!(prices::imports))
            .route(RequiredScope::Admin, routes!(prices::remove_import))
            .route(RequiredScope::Admin, routes!(webhooks::list))
            .route(RequiredScope::Admin, routes!(webhooks::put, webhooks::get, webhooks::remove))
            .route(RequiredScope::Admin, routes!(deliveries::deliveries))
            .route(RequiredScope::Admin, routes!(deliveries::replay))
    }

    fn scope_kinds(&self) -> Vec<&'static ScopeKind> {
        vec![&scopes::ORG]
    }

    fn codes(&self) -> &'static [Code] {
        codes::ALL
    }

    fn metrics(&self) -> Option<Arc<dyn ServiceMetrics>> {
        Some(Arc::clone(&self.metrics) as Arc<dyn ServiceMetrics>)
    }

    fn jobs(&self, app: &App, jobs: Jobs) -> Jobs {
        let Some(keeper) = app.kept::<Keeper<AnyBackend>>() else { return jobs };
        let Some(http) = app.kept::<HttpClient>() else { return jobs };
        let Some(sender) = app.kept::<WebhookSender>() else { return jobs };
        let options = jobs::JobOptions {
            aggregate_every: self.aggregate_every,
            catch_up_every: Duration::from_secs(self.settings.catch_up_secs),
            prices: self.settings.prices.clone(),
        };
        jobs::declare(app, keeper, (http, sender), &options, jobs)
    }
}
