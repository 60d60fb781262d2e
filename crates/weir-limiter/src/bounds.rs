//! Every bound of the limiter, with its reason.

pub use weir_table::retry::{PAGE_MAX, TRIES_MAX};

/// Most tokens of a capacity, a refill or a request. In millitokens that is a ten-thousandth of the largest `i64`, so
/// thousands of them can be summed.
pub const TOKENS_MAX: u64 = 1_000_000_000_000;
/// Longest refill period in seconds: ten years.
pub const PERIOD_SECONDS_MAX: u64 = 315_360_000;
/// Most limits of a request or a config level: all of them fit one item and one update.
pub const LIMITS_MAX: usize = 16;
/// Most shards of a bucket; doubling 16 shards is a transaction of 32 items.
pub const SHARDS_MAX: u32 = 32;
/// Writes per second that one shard should take: what one DynamoDB partition serves.
pub const SHARD_WRITES_PER_SECOND: u64 = 1000;
/// Longest time that a refusal is cached, because others may refund tokens meanwhile.
pub const REFUSAL_MEMORY_MS: i64 = 1_000;
/// Most buckets cached in a process.
pub const CACHED_BUCKETS_MAX: usize = 100_000;
/// Most take shapes prepared in a process.
pub(crate) const PREPARED_TAKES_MAX: usize = 1_000;
/// An unused bucket with default limits lives this many times as long as it takes to fill.
pub const EXPIRY_FILLS: i64 = 7;
/// Expiries are rounded up to this, so that the expiry of a hot bucket rarely changes.
pub const EXPIRY_STEP_SECONDS: i64 = 300;
/// How far ahead of now a bucket may have been refilled, because clocks differ. Beyond it the clock was wrong.
pub const CLOCK_AHEAD_MAX_MS: i64 = 60_000;
/// How long a lease can be settled by default.
pub const LEASE_TTL_DEFAULT_MS: i64 = 600_000;
/// Longest time that a lease can be settled: a day.
pub const LEASE_TTL_MAX_MS: i64 = 86_400_000;
/// Most adjustments of one lease: their keys are stored in its item.
pub const LEASE_OPERATIONS_MAX: usize = 100;
/// How long the item of a settled lease is retained after the lease expired, so that late retries get the same result.
pub const LEASE_RETENTION_MS: i64 = 86_400_000;
/// Longest lease token, in characters: that of the largest possible grant (two entities, 32 shards, 16 limits).
pub const LEASE_TOKEN_MAX: usize = 16_384;
/// Longest idempotency key, in characters.
pub const IDEMPOTENCY_KEY_MAX: usize = 255;
/// How long a config level is cached by default.
pub const CONFIG_TTL_DEFAULT_MS: i64 = 60_000;
/// Most config levels cached in a process.
pub const CONFIGS_MAX: usize = 200_000;
/// How long the id of a namespace is cached.
pub const NAMESPACE_TTL_MS: i64 = 60_000;
/// Most namespaces cached in a process.
pub const NAMESPACES_MAX: usize = 10_000;
/// Items that a purge reads at once.
pub const PURGE_PAGE: u32 = 1_000;
/// Most pages read in one search of the registry: some hundred thousand namespaces.
pub const REGISTRY_PAGES_MAX: u32 = 100;
/// A purged namespace must be found empty twice, this far apart: instances use it for as long as they cache it
/// ([`NAMESPACE_TTL_MS`]), and indexes lag.
pub const PURGE_QUIET_MS: i64 = 120_000;
/// Days that an audit event stays in the table after its retention, if events are archived first.
pub const ARCHIVE_GRACE_DAYS: u32 = 30;
/// Longest entity name, in characters.
pub const ENTITY_NAME_MAX: usize = 256;
/// Most metadata entries of an entity: all of them, before and after, fit one audit event.
pub const METADATA_MAX: usize = 32;
/// Longest metadata key, in characters.
pub const METADATA_KEY_MAX: usize = 64;
/// Longest metadata value, in characters.
pub const METADATA_VALUE_MAX: usize = 1_024;
/// Time after which an index certainly shows a change.
pub const INDEX_LAG_MAX_MS: i64 = 60_000;
/// Most pages that one call reads of an entity's limits, of its buckets or of a namespace being purged.
pub const CALL_PAGES_MAX: u32 = 1_000;
/// How long a migration lock lasts without renewal.
pub const MIGRATION_LOCK_MS: i64 = 60_000;
/// How often a migration lock is renewed.
pub const MIGRATION_RENEW_MS: u64 = 10_000;
/// How often an instance that waits for a migration polls.
pub const MIGRATION_POLL_MS: u64 = 200;
/// Most polls of an instance that waits for a migration: ten minutes.
pub const MIGRATION_POLLS_MAX: u32 = 3_000;
/// Most migration steps in one start, those of other instances included.
pub const MIGRATION_STEPS_MAX: u32 = 100;
/// Shards per page of a pass over live buckets: their config levels fit one batch get.
pub const APPLY_PAGE: u32 = 25;
/// Live buckets that the plan of a change looks at; beyond them it counts "at least".
pub const PLAN_BUCKETS_MAX: usize = 20_000;
/// Most buckets of an entity that are read together: one for each resource it uses.
pub const ENTITY_BUCKETS_MAX: usize = 1_000;
/// How long an idempotency key is remembered: a day after the call, or, if the call is an acquire, after its lease expires.
pub const IDEMPOTENCY_TTL_MS: i64 = 86_400_000;

const _: () = assert!(PURGE_QUIET_MS >= 2 * NAMESPACE_TTL_MS);
