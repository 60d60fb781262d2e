//! Health and metrics: whether the process is running, and whether its store responds.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use weir_api::server::{Alive, Readiness, ReadinessParams, StoreProbe};

use crate::app::App;
use crate::extract::Query;
use crate::store_check::Checked;

/// The content type of Prometheus' text format as the encoder writes it.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns 200 while the process is running
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, body = Alive)))]
pub(crate) async fn process() -> Json<Alive> {
    Json(Alive { status: "ok".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
}

/// Checks whether the store responds and accepts writes, and how fast
///
/// The result of a check holds for a second. With `store=ignore` the server is ready until it stops: a load balancer that
/// goes by that still sends requests while the store fails, and the server answers those that need no store.
#[utoipa::path(get, path = "/readyz", tag = "health", params(ReadinessParams), responses(
    (status = 200, body = Readiness),
    (status = 503, description = "The store does not respond or refuses writes, or the server is stopping", body = Readiness)))]
pub(crate) async fn store(
    State(app): State<App>,
    Query(params): Query<ReadinessParams>,
) -> (StatusCode, Json<Readiness>) {
    answer(&app, params.store).await
}

/// Checks the readiness; an alias of `/readyz`
#[utoipa::path(get, path = "/health", tag = "health", params(ReadinessParams), responses(
    (status = 200, body = Readiness),
    (status = 503, description = "The store does not respond or refuses writes, or the server is stopping", body = Readiness)))]
pub(crate) async fn health(
    State(app): State<App>,
    Query(params): Query<ReadinessParams>,
) -> (StatusCode, Json<Readiness>) {
    answer(&app, params.store).await
}

/// The state of the store: whether it responds and accepts writes, and how fast.
pub async fn readiness(app: &App) -> (StatusCode, Json<Readiness>) {
    answer(app, StoreProbe::Check).await
}

async fn answer(app: &App, probe: StoreProbe) -> (StatusCode, Json<Readiness>) {
    if app.is_draining() {
        let detail = Some("the server is stopping");
        return report(app, "draining", Checked { latency_ms: 0.0, problem: detail });
    }
    let mut checked = Checked { latency_ms: 0.0, problem: None };
    if probe == StoreProbe::Check {
        checked = app.store_check().run(app.store()).await;
        // The result of the read may be a second old; the state of the disk is known at any time.
        checked.problem = checked.problem.or_else(|| refusal(app));
    }
    let status = if checked.problem.is_none() { "ready" } else { "not_ready" };
    report(app, status, checked)
}

fn report(app: &App, status: &str, checked: Checked) -> (StatusCode, Json<Readiness>) {
    let code = match checked.problem {
        None => StatusCode::OK,
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let readiness = Readiness {
        status: status.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        store: app.store().backend().name().to_owned(),
        latency_ms: checked.latency_ms,
        detail: checked.problem.map(str::to_owned),
        demo: app.is_demo(),
    };
    (code, Json(readiness))
}

/// Why the store refuses writes, if it does.
fn refusal(app: &App) -> Option<&'static str> {
    use weir_table::WriteState;
    match app.store().backend().write_state() {
        WriteState::Accepting => None,
        WriteState::DiskNearlyFull => {
            Some("the disk is nearly full; only deletions and settlements are accepted")
        }
        WriteState::DiskFull => {
            Some("the disk is full; no writes are accepted until there is room")
        }
        WriteState::Failed => Some("the disk failed; no writes are accepted until a restart"),
    }
}

/// Returns metrics for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "health", responses(
    (status = 200, description = "OpenMetrics text", body = String,
     content_type = "application/openmetrics-text")))]
pub(crate) async fn metrics(State(app): State<App>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, METRICS_TYPE)], app.metrics().text(&app))
}
