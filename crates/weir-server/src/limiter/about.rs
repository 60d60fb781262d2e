//! The limiter itself: its table's schema, and what it remembers.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_limiter::version::{SCHEMA, SCHEMA_ZAE};

use super::place::limiter;
use super::shapes::time;
use crate::limiter::error::Reply;
use weir_framework::app::App;

/// What the table says about itself.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = LimiterVersion)]
pub struct Version {
    /// The version of the table's schema.
    pub schema: String,
    /// The version this server works with.
    pub supported: String,
    /// When the table's was written.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// By which program.
    pub updated_by: Option<String>,
}

/// Tells the version of the schema
#[utoipa::path(get, path = "/v1/limiter/version", tag = "limiter",
    responses((status = 200, body = Version)))]
pub(crate) async fn version(State(app): State<App>) -> Reply<Version> {
    let limiter = limiter(&app)?;
    let version = limiter.version().await?;
    let supported = if limiter.settings().is_shared() { SCHEMA_ZAE } else { SCHEMA };
    Ok(Json(Version {
        schema: version.schema,
        supported: supported.to_owned(),
        updated_at: time(version.updated_ms),
        updated_by: version.updated_by,
    }))
}

/// How the cache of config levels did, on this instance.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = LimiterCache)]
pub struct Cache {
    /// Levels answered from memory.
    pub hits: u64,
    /// Of these, levels known to be absent.
    pub negative_hits: u64,
    /// Levels read from the store.
    pub misses: u64,
    /// Levels remembered.
    pub entries: u64,
    /// Age of the oldest of them.
    pub oldest_ms: Option<i64>,
    /// How long a level is believed.
    pub ttl_ms: i64,
}

/// Tells how the cache of limits does, on this instance
#[utoipa::path(get, path = "/v1/limiter/cache", tag = "limiter",
    responses((status = 200, body = Cache)))]
pub(crate) async fn cache(State(app): State<App>) -> Reply<Cache> {
    let told = limiter(&app)?.cache_statistics();
    Ok(Json(Cache {
        hits: told.hits,
        negative_hits: told.negative_hits,
        misses: told.misses,
        entries: told.entries,
        oldest_ms: told.oldest_ms,
        ttl_ms: told.ttl_ms,
    }))
}
