//! Settings of a keeper.

use crate::catalog::ModelCatalog;
use crate::table::Tables;
use crate::webhooks::AddressPolicy;

/// Settings of a keeper.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Table names.
    pub tables: Tables,
    /// Catalog of model labels.
    pub labels: ModelCatalog,
    /// Days that counters and totals are retained.
    pub retention_days: u32,
    /// Seconds between two aggregation passes; totals lag by less than twice that.
    pub aggregate_interval_secs: u32,
    /// Milliseconds that the configuration of an org or app is cached; 0 reads it every time.
    pub config_ttl_ms: i64,
    /// Lifetime of a one-time secret retrieval token, in seconds.
    pub retrieval_token_secs: u32,
    /// bcrypt cost of hashing a secret; each step doubles the work.
    pub bcrypt_cost: u32,
    /// Whether metering transactions carry an idempotency token. DynamoDB needs one, because it may lose a response or report a
    /// conflict after the write; the embedded store does neither, and the token would only cost time.
    pub idempotency_tokens: bool,
    /// Addresses that webhooks may reach.
    pub webhook_addresses: AddressPolicy,
    /// Secrets hashed concurrently at most.
    pub bcrypt_at_once: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            tables: Tables::default(),
            labels: ModelCatalog::default(),
            retention_days: 90,
            aggregate_interval_secs: 10,
            config_ttl_ms: 10_000,
            retrieval_token_secs: 600,
            bcrypt_cost: 12,
            idempotency_tokens: true,
            webhook_addresses: AddressPolicy::default(),
            bcrypt_at_once: 2,
        }
    }
}
