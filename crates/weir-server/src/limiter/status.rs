//! The limiter's schema version and config cache.

use axum::Json;
use axum::extract::State;
use weir_api::limiter::{LimiterCacheResponse, LimiterVersionResponse};
use weir_limiter::version::{SCHEMA, SCHEMA_ZAE};

use super::path::limiter;
use crate::limiter::error::Reply;
use weir_framework::app::App;
use weir_framework::time::time;

/// Returns the schema version of the limiter's table
#[utoipa::path(get, path = "/v1/limiter/version", tag = "limiter",
    responses((status = 200, body = LimiterVersionResponse)))]
pub(crate) async fn version(State(app): State<App>) -> Reply<LimiterVersionResponse> {
    let limiter = limiter(&app)?;
    let version = limiter.version().await?;
    let supported = if limiter.settings().is_shared() { SCHEMA_ZAE } else { SCHEMA };
    Ok(Json(LimiterVersionResponse {
        schema: version.schema,
        supported: supported.to_owned(),
        updated_at: time(version.updated_ms),
        updated_by: version.updated_by,
    }))
}

/// Returns statistics of the config cache of this instance
#[utoipa::path(get, path = "/v1/limiter/cache", tag = "limiter",
    responses((status = 200, body = LimiterCacheResponse)))]
pub(crate) async fn cache(State(app): State<App>) -> Reply<LimiterCacheResponse> {
    let statistics = limiter(&app)?.cache_statistics();
    Ok(Json(LimiterCacheResponse {
        hits: statistics.hits,
        negative_hits: statistics.negative_hits,
        misses: statistics.misses,
        entries: statistics.entries,
        oldest_ms: statistics.oldest_ms,
        ttl_ms: statistics.ttl_ms,
    }))
}
