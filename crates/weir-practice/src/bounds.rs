//! Every bound of the domain, once.

/// Largest text of a field, in bytes.
pub const TEXT_MAX: usize = 1024 * 1024;
/// Largest problem together with the test cases in its request, in bytes.
pub const PROBLEM_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Pages that are read for a problem with its test cases. Hidden test cases take room there without being returned.
pub const PROBLEM_PAGES_MAX: u32 = 16;
/// Most test cases of a problem.
pub const TEST_CASES_MAX: usize = 10_000;
/// Most tags of a problem; a change of all of them fits into one transaction.
pub const TAGS_MAX: usize = 30;
/// Most progress steps of a job in a second.
pub const PROGRESS_STEPS_PER_SECOND_MAX: u32 = 100;
/// Largest JSON body, in bytes.
pub const JSON_BODY_MAX: usize = 10 * 1024 * 1024;

/// Largest bulk upload of test cases, in bytes; it is read as a stream.
pub const BULK_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Most entries of an uploaded zip archive: an input and an output for each test case, and folders.
pub const ZIP_ENTRIES_MAX: usize = 2 * TEST_CASES_MAX + 100;
/// Largest entry of a zip archive after decompression, in bytes.
pub const ZIP_ENTRY_BYTES_MAX: u64 = TEXT_MAX as u64;
/// Most bytes of all entries of a zip archive after decompression.
pub const ZIP_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Largest ratio of an entry's size to its compressed size; deflate reaches 1032.
pub const ZIP_RATIO_MAX: u64 = 200;

/// Longest id that Weir or the source makes, in bytes.
pub const ID_MAX: usize = 64;
/// Largest plan id: the largest whole number that every JSON client reads exactly.
pub const PLAN_ID_MAX: u64 = (1 << 53) - 1;
/// Longest name of a platform, in bytes.
pub const PLATFORM_MAX: usize = 32;
/// Longest id of a problem, a task or a worker, in bytes.
pub const EXTERNAL_ID_MAX: usize = 128;
/// Longest Google id, in bytes.
pub const GOOGLE_ID_MAX: usize = 255;
/// Longest email address, in bytes; SMTP allows no longer path.
pub const EMAIL_MAX: usize = 254;
/// Longest tag, in bytes.
pub const TAG_MAX: usize = 100;
/// Longest idempotency key, in bytes.
pub const IDEMPOTENCY_KEY_MAX: usize = 255;
/// Longest name of a user, a plan, a language or a progress step, in characters.
pub const NAME_MAX: usize = 200;
/// Longest title of a problem, in characters.
pub const TITLE_MAX: usize = 500;
/// Longest URL, in bytes.
pub const URL_MAX: usize = 2_048;
/// Longest note, reason, description or progress message, in bytes.
pub const NOTE_MAX: usize = 8 * 1024;
/// Largest metadata of an item, in bytes.
pub const METADATA_MAX: usize = 16 * 1024;
/// Most hints of a run.
pub const HINTS_MAX: usize = 100;
/// Most bytes of all hints of a run, so that they stay in its item.
pub const HINTS_BYTES_MAX: usize = 128 * 1024;
/// Levels of nesting of metadata and results.
pub const JSON_DEPTH_MAX: usize = 16;
/// Largest daily limit or `max_problems` of a plan that is not unlimited.
pub const PLAN_LIMIT_MAX: u32 = 1_000_000_000;
/// Most plans; a list of plans is one page.
pub const PLANS_MAX: usize = 100;

/// Smallest text that is compressed, in bytes. Texts below it stay readable for other programs.
pub const COMPRESS_MIN: usize = 4 * 1024;
/// Largest item before its largest texts move to the object storage, in bytes. A store allows 400 KiB; the rest is for
/// later changes of the item.
pub const ITEM_BYTES_MAX: usize = 350 * 1024;
/// Most bytes of the items of a transaction. A store allows 4 MiB; the rest is for keys and conditions.
pub const TRANSACTION_BYTES_MAX: usize = 3 * 1024 * 1024 + 512 * 1024;
/// Smallest text that is compressed on a thread for blocking work, in bytes: compression takes milliseconds.
pub const BLOCKING_MIN: usize = 64 * 1024;
/// Longest name of an object, in bytes.
pub const OBJECT_NAME_MAX: usize = 512;
/// Partitions of the list of objects to check.
pub const OBJECT_MARK_SHARDS: u32 = 4;
/// How long an object may be without an item that names it: longer than any request takes.
pub const OBJECT_ORPHAN_MS: i64 = 60 * 60 * 1000;

/// Days that usage logs and counters are retained, unless configured otherwise.
pub const USAGE_RETENTION_DAYS: u32 = 90;
/// Days after which usage logs are archived, when an archive is configured.
pub const USAGE_ARCHIVE_DAYS: u32 = 30;
/// Lines of a part of the archive of usage logs.
pub const ARCHIVE_PART_LINES: usize = 5_000;
/// Days that task results and job progress are retained, unless configured otherwise.
pub const JOB_RETENTION_DAYS: u32 = 30;
/// Days that rollups of usage are retained, unless configured otherwise.
pub const ROLLUP_RETENTION_DAYS: u32 = 400;
/// How long the index shows no run of a deleted user before its deletion is finished: longer than an index lags.
pub const ERASURE_QUIET_MS: i64 = 60 * 60 * 1000;
/// Days that audit events are retained.
pub const AUDIT_RETENTION_DAYS: u32 = 90;
/// Longest retention: a hundred years.
pub const RETENTION_DAYS_MAX: u32 = 36_500;
/// How long an idempotency key is remembered, in seconds: two days, so that no retry meets only a part of a day.
pub const IDEMPOTENCY_TTL_SECS: i64 = 2 * 86_400;

/// How far a clock may be ahead of the newest item before `doctor` and the metrics report it.
pub const CLOCK_AHEAD_MAX_MS: i64 = 60_000;
/// Users that a day's rollup lists.
pub const TOP_USERS_MAX: u32 = 100;
/// Most days of a range of statistics.
pub const STATS_DAYS_MAX: u32 = 400;
/// Most differences that a verification lists.
pub const DIFFERENCES_MAX: usize = 1_000;

/// Lease of a claimed job, unless configured or requested otherwise, in milliseconds.
pub const JOB_LEASE_MS: i64 = 60_000;
/// Shortest lease of a job, in milliseconds.
pub const JOB_LEASE_MIN_MS: i64 = 1_000;
/// Longest lease of a job, in milliseconds.
pub const JOB_LEASE_MAX_MS: i64 = 60 * 60 * 1000;
/// How often a job is claimed before it fails, unless configured otherwise.
pub const JOB_ATTEMPTS: u32 = 5;
/// Largest number of attempts that can be configured.
pub const JOB_ATTEMPTS_MAX: u32 = 1_000;
/// Candidates that a worker tries when it claims the next job.
pub const CLAIM_CANDIDATES_MAX: u32 = 25;

/// Entries of a list of jobs on a page: a page reads two items for each, in one batch.
pub const JOBS_PER_PAGE_MAX: u32 = 50;
/// How often a process reads the leases of a type of jobs, at most, in milliseconds: so often that it sees the end of the
/// shortest lease in time.
pub const LEASE_SCAN_MS: i64 = JOB_LEASE_MIN_MS / 4;
/// Leases that a process remembers; more workers than any deployment has.
pub const LEASES_OBSERVED_MAX: usize = 10_000;
/// How far the clocks of two servers may differ and still count progress steps in the same second, in seconds.
pub const PROGRESS_CLOCKS_DIFFER_SECS: i64 = 2;
/// Longest error message of a job, or traceback of a task, in bytes.
pub const ERROR_MESSAGE_MAX: usize = 64 * 1024;

/// Days that the public feed walks back over in one request, when each has a partition of its own.
pub const FEED_DAYS_PER_READ_MAX: u32 = 31;

// A change of every tag of a problem, with its other list entries, its audit event and its marks, is one transaction.
const _: () = assert!(2 * TAGS_MAX + 20 <= weir_table::limits::TRANSACT_MAX);
// An item below its bound has room for what a later change adds.
const _: () = assert!(ITEM_BYTES_MAX + 2 * METADATA_MAX < weir_table::limits::ITEM_MAX);
// The fields of a run that never leave its item fit into it: hints, summary and metadata.
const _: () = assert!(HINTS_BYTES_MAX + 4 * METADATA_MAX < ITEM_BYTES_MAX);
const _: () = assert!(TRANSACTION_BYTES_MAX < weir_table::limits::TRANSACT_BYTES_MAX);
const _: () = assert!(JOB_LEASE_MIN_MS <= JOB_LEASE_MS && JOB_LEASE_MS <= JOB_LEASE_MAX_MS);
const _: () = assert!(USAGE_ARCHIVE_DAYS < USAGE_RETENTION_DAYS);
