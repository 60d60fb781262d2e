//! Health and metrics: whether the process is running, and whether its store responds.

use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use weir_api::server::{Alive, Readiness};

use crate::app::App;

/// A store that takes longer than this to list its tables is not ready.
const READY_WITHIN: Duration = Duration::from_secs(2);
/// The content type of Prometheus' text format as the encoder writes it.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns 200 while the process is running
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, body = Alive)))]
pub(crate) async fn process() -> Json<Alive> {
    Json(Alive { status: "ok".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
}

/// Checks whether the store responds and accepts writes, and how fast
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, body = Readiness),
    (status = 503, description = "The store does not answer or refuses writes, or the server is stopping", body = Readiness)))]
pub(crate) async fn store(State(app): State<App>) -> (StatusCode, Json<Readiness>) {
    readiness(&app).await
}

/// The same as /readyz
#[utoipa::path(get, path = "/health", tag = "health", responses(
    (status = 200, body = Readiness),
    (status = 503, description = "The store does not answer or refuses writes, or the server is stopping", body = Readiness)))]
pub(crate) async fn health(State(app): State<App>) -> (StatusCode, Json<Readiness>) {
    readiness(&app).await
}

/// The state of the store: whether it responds and accepts writes, and how fast.
pub async fn readiness(app: &App) -> (StatusCode, Json<Readiness>) {
    if app.is_draining() {
        return draining(app);
    }
    let started = Instant::now();
    let asked = tokio::time::timeout(READY_WITHIN, app.store().table_names()).await;
    let latency_ms = (started.elapsed().as_secs_f64() * 1e6).round() / 1e3;
    let detail = match asked {
        Ok(Ok(_)) => refusal(app),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the store failed a readiness check");
            Some("the store failed; the server's log says how")
        }
        Err(_) => Some("the store did not answer in time"),
    };
    let (code, status) = match detail {
        None => (StatusCode::OK, "ready"),
        Some(_) => (StatusCode::SERVICE_UNAVAILABLE, "not_ready"),
    };
    let answer = Readiness {
        status: status.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        store: app.store().backend().name().to_owned(),
        latency_ms,
        detail: detail.map(str::to_owned),
        demo: app.is_demo(),
    };
    (code, Json(answer))
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

/// The server is about to stop.
fn draining(app: &App) -> (StatusCode, Json<Readiness>) {
    let answer = Readiness {
        status: "draining".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        store: app.store().backend().name().to_owned(),
        latency_ms: 0.0,
        detail: Some("the server is stopping".to_owned()),
        demo: app.is_demo(),
    };
    (StatusCode::SERVICE_UNAVAILABLE, Json(answer))
}

/// Returns metrics for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "health", responses(
    (status = 200, description = "OpenMetrics text", body = String,
     content_type = "application/openmetrics-text")))]
pub(crate) async fn metrics(State(app): State<App>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, METRICS_TYPE)], app.metrics().text(&app))
}
