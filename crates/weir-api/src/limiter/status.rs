//! The limiter's schema version and config cache: `/v1/limiter/…`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The schema version of the limiter's table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimiterVersionResponse {
    /// Schema version of the table.
    pub schema: String,
    /// Schema version that this server supports.
    pub supported: String,
    /// Time at which the schema version was written.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// Program that wrote the schema version.
    pub updated_by: Option<String>,
}

/// Statistics of this instance's cache of config levels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimiterCacheResponse {
    /// Levels read from the cache.
    pub hits: u64,
    /// Levels that the cache knows to be missing, among the hits.
    pub negative_hits: u64,
    /// Levels read from the store.
    pub misses: u64,
    /// Levels in the cache.
    pub entries: u64,
    /// Age of the oldest cached level, in milliseconds.
    pub oldest_ms: Option<i64>,
    /// Time that a level stays cached, in milliseconds.
    pub ttl_ms: i64,
}
