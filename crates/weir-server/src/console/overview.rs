//! The overview: `/v1/overview`.

use std::cmp::Reverse;

use axum::Json;
use axum::extract::State;
use weir_api::console::{JobsHealth, Overview, ResourceTraffic, StoreHealth, TrafficOverview};
use weir_api::server::{Job, JobOutcome};
use weir_framework::ApiError;
use weir_framework::app::App;
use weir_framework::auth::grant::{Access, Grants};
use weir_framework::authorize::Caller;
use weir_framework::jobs::Running;
use weir_framework::prelude::Reply;
use weir_framework::routes::health;
use weir_framework::time::rfc3339;

use super::figures;
use crate::keeper::budgets::ReadableOrgs;
use crate::limiter::scopes::NAMESPACE;
use crate::limiter::traffic::{ResourceCounts, traffic};

/// Resources that the overview lists.
const TOP: usize = 10;

/// Returns the figures of all services at a glance
///
/// Each part is present if the caller's scopes reach it, and contains only what they reach.
#[utoipa::path(get, path = "/v1/overview", tag = "console", responses((status = 200, body = Overview)))]
pub(super) async fn overview(State(app): State<App>, Caller(caller): Caller) -> Reply<Overview> {
    let grants = &caller.grants;
    let orgs = ReadableOrgs::of(grants);
    let keeper = match &orgs {
        ReadableOrgs::These(none) if none.is_empty() => None,
        _ => Some(figures::budgets(&app, &orgs).await?),
    };
    let is_admin = grants.is_admin();
    Ok(Json(Overview {
        at: rfc3339(app.now_ms()),
        store: if is_admin { Some(store(&app).await) } else { None },
        jobs: is_admin.then(|| jobs(&app)),
        keeper,
        limiter: limiter(&app, grants)?,
    }))
}

async fn store(app: &App) -> StoreHealth {
    let (_, Json(readiness)) = health::readiness(app).await;
    StoreHealth {
        backend: readiness.store,
        status: readiness.status,
        latency_ms: readiness.latency_ms,
        detail: readiness.detail,
        disk_free_bytes: disk_free_bytes(app),
    }
}

#[cfg(feature = "embedded")]
fn disk_free_bytes(app: &App) -> Option<u64> {
    match app.store().backend() {
        weir_table::AnyBackend::Embedded(embedded) => embedded.stats().disk_free_bytes,
        _ => None,
    }
}

#[cfg(not(feature = "embedded"))]
fn disk_free_bytes(_: &App) -> Option<u64> {
    None
}

/// Jobs of this instance that need attention.
pub(super) fn jobs(app: &App) -> JobsHealth {
    let statuses = app.jobs().map(Running::statuses).unwrap_or_default();
    let names = |matches: fn(&&Job) -> bool| {
        statuses.iter().filter(matches).map(|job| job.name.clone()).collect()
    };
    JobsHealth {
        total: statuses.len() as u64,
        failed: names(|job| job.last_outcome == Some(JobOutcome::Failed)),
        late: names(|job| job.late),
    }
}

fn limiter(app: &App, grants: &Grants) -> Result<Option<TrafficOverview>, ApiError> {
    if !grants.is_admin() && !grants.allows_any(&NAMESPACE, Access::Read) {
        return Ok(None);
    }
    let mut counts = counts(app, grants)?;
    let sum = |amount: fn(&ResourceCounts) -> u64| counts.iter().map(amount).sum();
    let (granted, refused) = (sum(|of| of.granted), sum(|of| of.refused));
    counts.sort_by_key(|of| Reverse(of.granted.saturating_add(of.refused)));
    let resource = |of: ResourceCounts| ResourceTraffic {
        namespace: of.namespace,
        resource: of.resource,
        granted: of.granted,
        refused: of.refused,
    };
    Ok(Some(TrafficOverview {
        since: rfc3339(traffic(app)?.since_ms()),
        granted,
        refused,
        top: counts.into_iter().take(TOP).map(resource).collect(),
    }))
}

/// The acquires in namespaces that these grants may read.
pub(super) fn counts(app: &App, grants: &Grants) -> Result<Vec<ResourceCounts>, ApiError> {
    Ok(traffic(app)?.counts(|namespace| grants.allows(&NAMESPACE, &[namespace], Access::Read)))
}
