//! Every bound of the limiter, with its reason.

/// Tokens of a capacity, a refill or a request at most. In millitokens that is a ten-thousandth of
/// what an `i64` holds, so that sums of thousands still fit.
pub const TOKENS_MAX: u64 = 1_000_000_000_000;
/// Seconds of a refill period at most: ten years.
pub const PERIOD_SECONDS_MAX: u64 = 315_360_000;
/// Limits of a request, and of a config level, at most: all of them fit one item and one update.
pub const LIMITS_MAX: usize = 16;
/// Shards of a bucket at most; doubling 16 shards then is a transaction of 32 items.
pub const SHARDS_MAX: u32 = 32;
/// Writes a second that one shard is meant to take: what a partition of DynamoDB serves.
pub const SHARD_WRITES_PER_SECOND: u64 = 1000;
/// How often a write that lost a race is tried again.
pub const TRIES_MAX: u32 = 16;
/// The longest first wait before trying again; it doubles up to [`BACKOFF_MAX_MS`].
pub const BACKOFF_BASE_MS: u64 = 2;
/// The longest wait before trying again.
pub const BACKOFF_MAX_MS: u64 = 100;
/// How long a refusal is remembered at most, because others may give back meanwhile.
pub const REFUSAL_MEMORY_MS: i64 = 1_000;
/// Buckets whose facts are remembered in a process at most.
pub const KNOWN_BUCKETS_MAX: usize = 100_000;
/// Sets of limits that takings are prepared for.
pub(crate) const TAKINGS_MAX: usize = 1_000;
/// An unused bucket of default limits lives this many times as long as it takes to fill.
pub const EXPIRY_FILLS: i64 = 7;
/// Expiries are rounded up to this, so that a hot bucket's rarely moves.
pub const EXPIRY_STEP_SECONDS: i64 = 300;
/// How long a lease can be settled, unless the caller says otherwise.
pub const LEASE_TTL_DEFAULT_MS: i64 = 600_000;
/// How long a lease can be settled at most: a day.
pub const LEASE_TTL_MAX_MS: i64 = 86_400_000;
/// Adjustments of one lease at most: their keys are kept in its item.
pub const LEASE_OPERATIONS_MAX: usize = 100;
/// How long a settled lease's item is kept after the lease has expired, so that a late repeat is still answered the same.
pub const LEASE_KEPT_MS: i64 = 86_400_000;
/// Characters of a lease's token at most: what the largest grant there can be needs (two entities, 32 shards, 16 limits).
pub const LEASE_TOKEN_MAX: usize = 16_384;
/// Characters of an operation key at most.
pub const OPERATION_KEY_MAX: usize = 255;
/// How long a config level is believed, unless set otherwise.
pub const CONFIG_TTL_DEFAULT_MS: i64 = 60_000;
/// Config levels remembered in a process at most.
pub const CONFIGS_MAX: usize = 200_000;
/// How long a namespace's id is believed.
pub const NAMESPACE_TTL_MS: i64 = 60_000;
/// Namespaces remembered in a process at most.
pub const NAMESPACES_MAX: usize = 10_000;
/// Things of a page at most.
pub const PAGE_MAX: u32 = 100;
/// Items that a purge finds with one read.
pub const PURGE_PAGE: u32 = 1_000;
/// Pages read in one look through the registry at most: some hundred thousand namespaces.
pub const REGISTRY_PAGES_MAX: u32 = 100;
/// A purged namespace must have been seen empty twice, this long apart: instances use it for as long as they remember
/// it ([`NAMESPACE_TTL_MS`]), and indexes lag.
pub const PURGE_QUIET_MS: i64 = 120_000;
/// Days an audit event stays in the table after its retention where it is archived first.
pub const ARCHIVE_GRACE_DAYS: u32 = 30;
/// Characters of an entity's name at most.
pub const ENTITY_NAME_MAX: usize = 256;
/// Entries of an entity's metadata at most: all of it, before and after, fits an audit event.
pub const METADATA_MAX: usize = 32;
/// Characters of a metadata key at most.
pub const METADATA_KEY_MAX: usize = 64;
/// Characters of a metadata value at most.
pub const METADATA_VALUE_MAX: usize = 1_024;
/// After this long an index shows a change for certain.
pub const INDEX_LAG_MAX_MS: i64 = 60_000;
/// Pages one call reads of an entity's limits, of its buckets or of a namespace being purged at most.
pub const CALL_PAGES_MAX: u32 = 1_000;
/// How long an instance that changes the schema is believed to be alive after its last sign.
pub const MIGRATION_LOCK_MS: i64 = 60_000;
/// How often it gives a sign.
pub const MIGRATION_RENEW_MS: u64 = 10_000;
/// How often one that waits for it looks.
pub const MIGRATION_POLL_MS: u64 = 200;
/// How often one that waits for it looks at most: for ten minutes.
pub const MIGRATION_POLLS_MAX: u32 = 3_000;
/// Steps from one schema to the next at most, those of others included.
pub const MIGRATION_STEPS_MAX: u32 = 100;
/// Shards that a pass over live buckets looks at in one go: their levels fit one batch get.
pub const APPLY_PAGE: u32 = 25;
/// Buckets of an entity that are looked at together at most: one for each resource it uses.
pub const ENTITY_BUCKETS_MAX: usize = 1_000;
/// How long an operator's call is known by its key: a day.
pub const OPERATION_TTL_SECONDS: i64 = 86_400;

const _: () = assert!(PURGE_QUIET_MS >= 2 * NAMESPACE_TTL_MS);
