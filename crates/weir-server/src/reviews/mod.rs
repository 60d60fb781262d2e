//! Reviews over HTTP: `/v1/reviews/…`.
//!
//! | caller | may |
//! |---|---|
//! | any, with the scope `reviews` | record, read, delete and judge every review, and list and compare across repositories |
//! | owner or repository, with `reviews:{owner}` or `reviews:{owner}/{repo}` | the same for its own reviews, except lists across repositories |
//! | reader, with a scope that ends in `:read` | only read |
//! | operator | also verify rollups |
//!
//! A path with a review's id does not name its owner. There the handler works with `access::ScopedReviews`,
//! to which the reviews of others are missing.

mod access;
mod compare;
mod convert;
mod documents;
mod error;
mod feedback;
mod jobs;
mod lists;
mod metrics;
mod one;
mod path;
mod record;
mod responses;
mod rollups;
mod scopes;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use utoipa_axum::routes;
use weir_framework::api::Api;
use weir_framework::app::{App, Opened, Opening, Service};
use weir_framework::auth::scope_kind::ScopeKind;
use weir_framework::jobs::Jobs;
use weir_framework::metrics::ServiceMetrics;
use weir_framework::objects;
use weir_framework::required_scope::RequiredScope;
use weir_framework::settings::JobSettings;
use weir_reviews::Reviews;
use weir_reviews::raw::RawOutputs;
use weir_table::{AnyBackend, Error, Result};

use self::metrics::ReviewsMetrics;
pub use self::settings::Settings;

/// Largest request that records a review or a response, in bytes.
const RECORDING_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Folder of raw outputs below the data folder, unless another place is configured.
pub const RAW_FOLDER: &str = "reviews-raw";

/// Reviews as a service of the server.
#[derive(Debug, Clone)]
pub struct ReviewsService {
    settings: Settings,
    aggregate_every: Duration,
    metrics: Arc<ReviewsMetrics>,
}

impl Default for ReviewsService {
    fn default() -> ReviewsService {
        ReviewsService::new(Settings::default())
    }
}

impl ReviewsService {
    /// Reviews with these settings.
    #[must_use]
    pub fn new(settings: Settings) -> ReviewsService {
        let every = JobSettings::default().aggregate_interval_secs;
        let aggregate_every = Duration::from_secs(every);
        ReviewsService { settings, aggregate_every, metrics: Arc::default() }
    }

    /// Sets the time between two runs of the job that rolls up.
    #[must_use]
    pub fn aggregate_every(self, aggregate_every: Duration) -> ReviewsService {
        ReviewsService { aggregate_every, ..self }
    }

    /// The object store of raw outputs. A store that instances share has no folder of its own.
    fn raw_outputs(&self, app: &App) -> Result<RawOutputs> {
        match (&self.settings.raw, app.data()) {
            (Some(url), _) => {
                let (objects, prefix) = objects::open("reviews.raw", url)?;
                Ok(RawOutputs::new(objects, &prefix))
            }
            (None, Some(data)) => {
                let folder = std::path::absolute(data.join(RAW_FOLDER));
                let folder =
                    folder.map_err(|source| Error::io("finding the data folder", source))?;
                Ok(RawOutputs::new(objects::open_folder("reviews.raw", &folder)?, ""))
            }
            (None, None) => Ok(RawOutputs::unavailable()),
        }
    }

    async fn reviews(&self, app: &App) -> Result<Reviews<AnyBackend>> {
        let (store, clock) = (app.store().clone(), app.clock().clone());
        let settings = self.settings.to_domain();
        Reviews::open(store, self.raw_outputs(app)?, clock, settings).await.map_err(store_error)
    }
}

fn store_error(error: weir_reviews::Error) -> Error {
    match error {
        weir_reviews::Error::Store(error) => error,
        weir_reviews::Error::Invalid { field, problem } => Error::invalid(field, problem),
        other => Error::backend("opening the reviews", other),
    }
}

impl Service for ReviewsService {
    fn open<'a>(&'a self, app: &'a App) -> Opening<'a> {
        Box::pin(async {
            let opened = Opened::default().keep(self.reviews(app).await?);
            Ok(opened.keep(Arc::clone(&self.metrics)))
        })
    }

    fn routes(&self, api: Api) -> Api {
        let tenant = RequiredScope::Tenant(&scopes::REVIEWS);
        let any_tenant = RequiredScope::AnyTenant(&scopes::REVIEWS);
        let api = api
            // Record
            .route_with_body(any_tenant, routes!(record::record), RECORDING_BYTES_MAX)
            .route_with_body(any_tenant, routes!(record::put), RECORDING_BYTES_MAX)
            .route_with_body(any_tenant, routes!(responses::add), RECORDING_BYTES_MAX)
            .route_with_body(any_tenant, routes!(record::complete), RECORDING_BYTES_MAX)
            .route(any_tenant, routes!(record::remove))
            .route(any_tenant, routes!(feedback::judge));
        let api = api
            // One review
            .route(any_tenant, routes!(one::get))
            .route(any_tenant, routes!(responses::list))
            .route(any_tenant, routes!(one::findings))
            .route(any_tenant, routes!(one::consensus))
            .route(any_tenant, routes!(one::raw))
            .route(any_tenant, routes!(documents::sarif))
            .route(any_tenant, routes!(documents::report));
        // Many reviews
        api.route(tenant, routes!(lists::by_repo))
            .route(tenant, routes!(lists::costs))
            .route(tenant, routes!(lists::by_model))
            .route(tenant, routes!(lists::by_date))
            .route(tenant, routes!(lists::all))
            .route(tenant, routes!(lists::all_findings))
            .route(tenant, routes!(lists::all_consensus))
            .route(tenant, routes!(lists::by_user))
            .route(any_tenant, routes!(compare::compare))
            .route(RequiredScope::Admin, routes!(rollups::verify))
    }

    fn scope_kinds(&self) -> Vec<&'static ScopeKind> {
        vec![&scopes::REVIEWS]
    }

    fn metrics(&self) -> Option<Arc<dyn ServiceMetrics>> {
        Some(Arc::clone(&self.metrics) as Arc<dyn ServiceMetrics>)
    }

    fn jobs(&self, app: &App, jobs: Jobs) -> Jobs {
        let Some(reviews) = app.kept::<Reviews<AnyBackend>>() else { return jobs };
        jobs::declare(reviews, self.aggregate_every, &self.metrics, jobs)
    }
}
