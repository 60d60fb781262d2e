//! Every limit of the keeper, with its reason.

pub use weir_table::retry::{PAGE_MAX, TRIES_MAX};

/// A day of 24 hours.
pub const DAY_MS: i64 = 86_400_000;
/// Largest quota, in micro-USD: a billion dollars a day.
pub const USD_MICROS_MAX: u64 = 1_000_000_000_000_000;
/// Largest cost of one submission, in micro-USD: a million dollars.
pub const SUBMISSION_USD_MICROS_MAX: u64 = 1_000_000_000_000;
/// Largest spend of a day, in micro-USD. A sum stops there, and is at least any quota.
pub const DAY_USD_MICROS_MAX: u64 = USD_MICROS_MAX;
/// Most totals a process remembers as impossible to sum.
pub const UNSUMMED_MAX: usize = 1_000;
/// Most tokens of one kind in a submission: 100 000 times the largest context window.
pub const TOKENS_MAX: u64 = 1_000_000_000_000;
/// Highest price per million tokens, in micro-USD: a dollar per token.
pub const PRICE_MAX: u64 = 1_000_000_000_000;
/// Most models in a chain: their totals fit one batch get with room to spare.
pub const CHAIN_MAX: usize = 20;
/// Most labels in a catalog.
pub const LABELS_MAX: usize = 500;
/// Longest name of an org or app, in characters.
pub const NAME_MAX: usize = 256;
/// Longest label, in characters.
pub const LABEL_MAX: usize = 64;
/// Longest name of an org that is its id, in characters: a DNS label.
pub const ORG_NAME_MAX: usize = 63;
/// Longest app id, in characters.
pub const APP_ID_MAX: usize = 128;
/// Longest model id or ARN, in bytes: the limit of Bedrock.
pub const MODEL_ID_MAX: usize = 2_048;
/// Longest name of a vendor, in bytes.
pub const VENDOR_MAX: usize = 32;
/// Longest description, in characters.
pub const DESCRIPTION_MAX: usize = 1_024;
/// Valid shard counts; an org keeps its own for ever.
pub const SHARD_COUNTS: [u8; 4] = [8, 16, 32, 64];
/// Valid thresholds of the tight mode, in percent.
pub const THRESHOLD_PCT: std::ops::RangeInclusive<u8> = 50..=100;
/// Valid intervals between two checks of a client, in seconds.
pub const REFRESH_SECS: std::ops::RangeInclusive<u32> = 1..=86_400;
/// How far the timestamp of a submission may be ahead of the server's clock.
pub const SKEW_MS: i64 = 60_000;
/// How long before the current local day a submission may have happened.
pub const LATE_MS: i64 = 86_400_000;
/// How long a sticky state is retained after its local midnight.
pub const STICKY_RETENTION_MS: i64 = 3_600_000;
/// How long a request id is remembered for deduplication after the end of the org's day.
pub const DEDUP_RETENTION_MS: i64 = 48 * 3_600_000;
/// Delay between the last accepted submission of a day and its final totals: clocks differ, and a submission may be in
/// flight.
pub const FINALIZE_DELAY_MS: i64 = 3_600_000;
/// Days before its creation for which an org or app may have submissions: the latest a submission can be, plus a time
/// zone.
pub const DAYS_BEFORE_CREATION_MAX: usize = 3;
/// Most days of a scope that one full pass finalizes; the next pass continues.
pub const FINALIZE_DAYS_MAX: usize = 7;
/// Most days of a scope that accept submissions at a time: today, yesterday, and what time zones add.
pub const OPEN_DAYS_MAX: usize = 5;
/// How long past time zones and quota scopes of an org are retained: longer than a submission can be late.
pub const PAST_RETENTION_MS: i64 = 4 * 86_400_000;
/// Time after the last quota per app in which the totals of an org are the sum of its apps': longer than a late submission,
/// a time zone and a clock that is off take together.
pub const SCOPE_MARGIN_MS: i64 = 5 * DAY_MS;
/// Most pages of earlier configurations: there is at most one for each day.
pub const REVISION_PAGES_MAX: u32 = 100;
/// Most changes of an org's time zone or quota scope in that time.
pub const PAST_MAX: usize = 16;
/// Most submissions in a batch.
pub const BATCH_MAX: usize = 100;
/// Most days in a series.
pub const SERIES_DAYS_MAX: usize = 92;
/// Attempts of a transaction of several submissions before each of them runs alone.
pub const BATCH_TRIES_MAX: u32 = 4;
/// Longest URL of a webhook, in characters.
pub const URL_MAX: usize = 2_048;
/// Most days of an org that one run exports.
pub const EXPORT_DAYS_MAX: usize = 31;
/// Most webhooks of an org: the deliveries of a fallback fit the transaction that records it.
pub const WEBHOOKS_MAX: usize = 20;
/// Most orgs whose webhooks a process caches.
pub const WEBHOOK_ORGS_CACHED_MAX: usize = 10_000;
/// Most threshold markers a process caches; others are read from the table.
pub const NOTIFICATIONS_CACHED_MAX: usize = 100_000;
/// Most notices a sender claims at once.
pub const DELIVERIES_AT_ONCE: u32 = 100;
/// Queues of webhooks that a sender reads in a page.
pub const QUEUES_PER_PAGE: u32 = 1_000;
/// Most pages of queues that a sender reads: 100 000 webhooks with notices that wait.
pub const QUEUE_PAGES_MAX: u32 = 100;
/// Lease of a claimed notice, after which another sender may claim it.
pub const DELIVERY_LEASE_MS: i64 = 60_000;
/// Attempts of a delivery.
pub const DELIVERY_TRIES_MAX: u32 = 10;
/// Backoff after the first failed attempt of a delivery; it triples each time.
pub const DELIVERY_BACKOFF_BASE_MS: i64 = 10_000;
/// Longest backoff of a delivery.
pub const DELIVERY_BACKOFF_MAX_MS: i64 = 6 * 3_600_000;
/// Days after its deletion in which an org or app can be restored.
pub const RESTORE_DAYS: i64 = 30;
/// Delay between the last moment of a restore and the purge: clocks differ.
pub const PURGE_DELAY_MS: i64 = 3_600_000;
/// Most inference profiles of a deleted app that one transaction removes, beside the app itself.
pub const PURGE_PROFILES_MAX: usize = 80;
/// Most pages of an app's inference profiles, deleted ones included.
pub const PROFILE_PAGES_MAX: u32 = 1_000;
/// How long a notice waits to be delivered, behind others too, and its marker is retained: longer than all attempts take.
pub const DELIVERY_EXPIRY_MS: i64 = 7 * 86_400_000;
/// How long the record of a notice is retained, for lists and replays: a week longer than it may wait.
pub const DELIVERY_RECORD_RETENTION_MS: i64 = 2 * DELIVERY_EXPIRY_MS;
/// Longest recorded reason of a failed attempt, in characters.
pub const DELIVERY_ERROR_MAX: usize = 500;
/// Longest grace period of an old secret after a rotation, in hours: a week.
pub const GRACE_HOURS_MAX: u32 = 168;
/// Default grace period of an old secret, in hours.
pub const GRACE_HOURS_DEFAULT: u32 = 24;
/// Most entries of a price book: seven times what the shipped ones have.
pub const BOOK_ENTRIES_MAX: usize = 10_000;
/// Largest price book, in bytes.
pub const BOOK_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most submissions that a simulation replays.
pub const REPLAY_ROWS_MAX: usize = 1_000_000;
/// Time between two points of a simulation's chart: a quarter of an hour, at whose multiples hours begin and clocks jump.
pub const REPLAY_POINT_MS: i64 = 900_000;
/// Attempts of a transaction, with one idempotency token, while its outcome is unknown.
pub const UNSURE_TRIES_MAX: u32 = 3;
/// Most callers waiting for a secret to be hashed; more would time out anyway.
pub const HASHES_WAITING_MAX: usize = 64;
/// Most configurations a process caches.
pub const CONFIGS_CACHED_MAX: usize = 100_000;
/// Most inference profiles a process caches.
pub const PROFILES_CACHED_MAX: usize = 10_000;
/// Most inference profiles of an app.
pub const PROFILES_MAX: usize = 100;
/// Most batch gets that a read of many orgs makes at the same time.
pub const BATCHES_AT_ONCE: usize = 8;
/// Most submissions that a recorded day is replayed as; further ones are merged with their neighbours.
pub const RECORDED_ROWS_MAX: u64 = 10_000;
/// Most pages of apps read before they share a chain: 100 000 apps.
pub const APP_PAGES_MAX: u32 = 1_000;
/// Most apps an error names.
pub const APPS_NAMED_MAX: usize = 10;
/// Most prices a process caches.
pub const PRICES_CACHED_MAX: usize = 10_000;
/// How long a price is cached.
pub const PRICE_TTL_MS: i64 = 60_000;
/// Days that a fetched price is retained.
pub const PRICE_RETENTION_DAYS: i64 = 3;
/// Most price imports: all are listed in one item.
pub const IMPORTS_MAX: usize = 1_000;
/// How long an import in several parts may stay open.
pub const IMPORT_OPEN_MS: i64 = 3_600_000;
/// Most pages of the price table that a list reads.
pub const PRICE_PAGES_MAX: u32 = 256;
/// Days that an audit event is retained.
pub const AUDIT_RETENTION_DAYS: u32 = 90;

// Sums of a day's submissions, and percentages of any spend, fit their types.
const _: () = assert!(USD_MICROS_MAX < u64::MAX / 10_000);
const _: () = assert!(DAY_USD_MICROS_MAX >= USD_MICROS_MAX);
const _: () = assert!(SUBMISSION_USD_MICROS_MAX <= DAY_USD_MICROS_MAX / BATCH_MAX as u64);
const _: () = assert!(DELIVERY_BACKOFF_MAX_MS * (DELIVERY_TRIES_MAX as i64) < DELIVERY_EXPIRY_MS);
// The notice of an event fits one transaction: a number, a marker, an audit event, and two items for each webhook.
const _: () = assert!(3 + 2 * WEBHOOKS_MAX <= weir_table::limits::TRANSACT_MAX);
const _: () = assert!(CHAIN_MAX * 2 <= 100);
