//! Every bound of the keeper, with its reason.

pub use weir_table::retry::{PAGE_MAX, TRIES_MAX};

/// A quota, and a cost that a client states, at most: a thousand million dollars a day.
pub const USD_MICROS_MAX: u64 = 1_000_000_000_000_000;
/// Tokens of one kind in a submission at most: a hundred thousand times the largest context there is.
pub const TOKENS_MAX: u64 = 1_000_000_000_000;
/// A price for a million tokens at most: a dollar a token.
pub const PRICE_MAX: u64 = 1_000_000_000_000;
/// Models of a chain at most: their totals are one batch get with room to spare.
pub const CHAIN_MAX: usize = 20;
/// Labels of a catalogue at most.
pub const LABELS_MAX: usize = 500;
/// Characters of an org's or app's name at most.
pub const NAME_MAX: usize = 256;
/// Characters of a label at most.
pub const LABEL_MAX: usize = 64;
/// Characters of an app's id at most.
pub const APP_ID_MAX: usize = 128;
/// Bytes of a model's id or ARN at most: what Bedrock takes.
pub const MODEL_ID_MAX: usize = 2_048;
/// Characters of a description at most.
pub const DESCRIPTION_MAX: usize = 1_024;
/// Shard counts there are; each org has one of them for ever.
pub const SHARD_COUNTS: [u8; 4] = [8, 16, 32, 64];
/// The threshold of the tight mode lies within these, in percent.
pub const THRESHOLD_PCT: std::ops::RangeInclusive<u8> = 50..=100;
/// The seconds between two checks of a client lie within these.
pub const REFRESH_SECS: std::ops::RangeInclusive<u32> = 1..=86_400;
/// How far a submission's timestamp may be ahead of our clock.
pub const SKEW_MS: i64 = 60_000;
/// How long before the current local day a submission may have happened.
pub const LATE_MS: i64 = 86_400_000;
/// How long after its local midnight a sticky state is kept.
pub const STICKY_KEPT_MS: i64 = 3_600_000;
/// How long after the end of the org's day a request id is remembered.
pub const DEDUP_KEPT_MS: i64 = 48 * 3_600_000;
/// How long after nothing can be told of a day any more its totals are final: clocks differ, and a submission may be under way.
pub const SETTLE_MS: i64 = 3_600_000;
/// Days before an org or app was made of which it may have told: as late as a submission can be, and a time zone more.
pub const TOLD_BEFORE_MADE_DAYS: usize = 3;
/// Days of a scope that a full pass makes final at most; the next one goes on.
pub const FINAL_DAYS_MAX: usize = 7;
/// Days of a scope in which something can be counted at most: today, yesterday, and what time zones add.
pub const OPEN_DAYS_MAX: usize = 5;
/// How long it is remembered which time zone and quota scope an org had before: longer than a submission can be late.
pub const PAST_KEPT_MS: i64 = 4 * 86_400_000;
/// How often an org's time zone or quota scope can change in that time.
pub const PAST_MAX: usize = 16;
/// Submissions of a batch at most.
pub const BATCH_MAX: usize = 100;
/// Days of a series at most.
pub const SERIES_DAYS_MAX: usize = 92;
/// How often a transaction of several submissions is tried before each of them goes by itself.
pub const BATCH_TRIES_MAX: u32 = 4;
/// Characters of a webhook's address at most.
pub const URL_MAX: usize = 2_048;
/// Days of an org that one run exports at most.
pub const EXPORT_DAYS_MAX: usize = 31;
/// Webhooks of an org at most: news of a fallback for all of them fit the transaction of the fallback.
pub const WEBHOOKS_MAX: usize = 20;
/// Orgs whose webhooks are remembered in a process at most.
pub const ORGS_REMEMBERED_MAX: usize = 10_000;
/// News that a process knows to be told at most; of what it forgot it asks the table.
pub const NEWS_REMEMBERED_MAX: usize = 100_000;
/// Deliveries that a sender is given at once at most.
pub const DELIVERIES_AT_ONCE: u32 = 100;
/// How long a sender has for a delivery until another may try it.
pub const DELIVERY_LEASE_MS: i64 = 60_000;
/// How often a delivery is tried.
pub const DELIVERY_TRIES_MAX: u32 = 10;
/// How long a delivery waits after it failed first; then three times as long each time.
pub const DELIVERY_BACKOFF_BASE_MS: i64 = 10_000;
/// How long a delivery waits at most.
pub const DELIVERY_BACKOFF_MAX_MS: i64 = 6 * 3_600_000;
/// How long a delivery, and the mark that news were told, are kept at most: longer than all tries of it take.
pub const DELIVERY_KEPT_MS: i64 = 7 * 86_400_000;
/// Hours an old secret goes on working after a rotation at most: a week.
pub const GRACE_HOURS_MAX: u32 = 168;
/// Hours an old secret goes on working unless said otherwise.
pub const GRACE_HOURS_DEFAULT: u32 = 24;
/// Entries of a price book at most: twenty times what Bedrock has.
pub const BOOK_ENTRIES_MAX: usize = 10_000;
/// Bytes of a price book at most.
pub const BOOK_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Submissions that a simulation replays at most.
pub const REPLAY_ROWS_MAX: usize = 1_000_000;
/// Points of a simulation's chart: one for a quarter of an hour, of a day of 24.
pub const REPLAY_POINTS: u32 = 96;
/// How often a transaction is sent, under one token, while its outcome is not known.
pub const UNSURE_TRIES_MAX: u32 = 3;
/// Callers that wait for a secret to be hashed at most; more would only wait in vain.
pub const HASHES_WAITING_MAX: usize = 64;
/// Configurations that a process remembers at most.
pub const CONFIGS_REMEMBERED: usize = 100_000;
/// Inference profiles that a process remembers at most.
pub const PROFILES_REMEMBERED: usize = 10_000;
/// Inference profiles of an app at most.
pub const PROFILES_MAX: usize = 100;
/// Pages of apps that are looked through before they share a chain; a hundred thousand apps.
pub const APP_PAGES_MAX: u32 = 1_000;
/// Apps that an error names at most.
pub const APPS_NAMED_MAX: usize = 10;
/// Prices that a process remembers at most.
pub const PRICES_REMEMBERED: usize = 10_000;
/// How long a price is believed.
pub const PRICE_BELIEVED_MS: i64 = 60_000;
/// Days that a fetched price is kept.
pub const PRICE_KEPT_DAYS: i64 = 3;
/// Editions of a model's price that are looked through for one that tells of a region.
pub const PRICE_EDITIONS_MAX: u32 = 32;
/// Imports of prices at most: all of them are in one item.
pub const IMPORTS_MAX: usize = 1_000;
/// How long an import that comes in parts may take.
pub const IMPORT_OPEN_MS: i64 = 3_600_000;
/// Pages of the table of prices that a list reads at most.
pub const PRICE_PAGES_MAX: u32 = 256;
/// Days that an audit event is kept.
pub const AUDIT_KEPT_DAYS: i64 = 90;
/// Reads that one page of an app's audit events takes at most; its org's others are passed over.
pub const AUDIT_READS_MAX: u32 = 16;
/// Characters of a name in an audit event at most.
pub const ACTOR_MAX: usize = 256;

// Sums of a whole day's submissions, and a percentage of any spend, fit their types.
const _: () = assert!(USD_MICROS_MAX < u64::MAX / 10_000);
const _: () = assert!(USD_MICROS_MAX < u64::MAX / BATCH_MAX as u64);
const _: () = assert!(DELIVERY_BACKOFF_MAX_MS * (DELIVERY_TRIES_MAX as i64) < DELIVERY_KEPT_MS);
const _: () = assert!(CHAIN_MAX * 2 <= 100);
