//! How the server is: whether the process lives, and whether its store answers.

use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;

use crate::router::App;

/// A store that takes longer than this to name its tables is not ready.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// Says that the process lives.
#[derive(Serialize)]
pub(crate) struct Alive {
    status: &'static str,
    version: &'static str,
}

/// Says whether the store answers, and how fast.
#[derive(Serialize)]
pub(crate) struct Readiness {
    status: &'static str,
    store: &'static str,
    latency_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'static str>,
}

/// Answers 200 as long as the process serves.
pub(crate) async fn process() -> Json<Alive> {
    Json(Alive {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// Answers 200 when the store answers and 503 when it does not.
pub(crate) async fn store(State(app): State<App>) -> (StatusCode, Json<Readiness>) {
    let started = Instant::now();
    let asked = tokio::time::timeout(READY_WITHIN, app.table_names()).await;
    let latency_ms = (started.elapsed().as_secs_f64() * 1e6).round() / 1e3;
    let detail = match asked {
        Ok(Ok(_)) => None,
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
    let store = app.backend().name();
    (
        code,
        Json(Readiness {
            status,
            store,
            latency_ms,
            detail,
        }),
    )
}
