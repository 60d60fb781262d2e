//! How a keeper is set up.

use crate::labels::Catalogue;
use crate::table::Tables;

/// How a keeper is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The names of the tables.
    pub tables: Tables,
    /// The labels there are.
    pub labels: Catalogue,
    /// How many days counters are kept.
    pub retention_days: u32,
    /// Seconds between two passes that sum counters up; the lag of totals stays below twice that.
    pub aggregate_interval_secs: u32,
    /// How long an org's or app's configuration is believed, in milliseconds; 0 reads it every time.
    pub config_ttl_ms: i64,
    /// How long an access token is good.
    pub access_token_secs: u32,
    /// How long a refresh token is good.
    pub refresh_token_secs: u32,
    /// How long a secret can be fetched after it was promised.
    pub retrieval_token_secs: u32,
    /// How long it is believed that a token is not revoked.
    pub revocation_ttl_ms: i64,
    /// The cost of hashing a secret: each step doubles it.
    pub bcrypt_cost: u32,
    /// Whether transactions that count carry an idempotency token. The store on DynamoDB may be in another's way or lose an
    /// answer, and does a token's transaction once; embedded it does neither, and a token costs time for nothing.
    pub idempotency_tokens: bool,
    /// How many secrets are hashed at once at most.
    pub bcrypt_at_once: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            tables: Tables::default(),
            labels: Catalogue::default(),
            retention_days: 90,
            aggregate_interval_secs: 15,
            config_ttl_ms: 10_000,
            access_token_secs: 3_600,
            refresh_token_secs: 30 * 86_400,
            retrieval_token_secs: 600,
            revocation_ttl_ms: 60_000,
            bcrypt_cost: 12,
            idempotency_tokens: true,
            bcrypt_at_once: 2,
        }
    }
}
