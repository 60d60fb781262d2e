//! Every bound of the domain, once.

/// Most models of a review.
pub const MODELS_MAX: usize = 20;
/// Most findings of a review, of all models together.
pub const FINDINGS_MAX: usize = 2_000;
/// Most changed files that a review lists.
pub const FILES_MAX: usize = 3_000;
/// Largest text of a field, in bytes.
pub const TEXT_MAX: usize = 64 * 1024;
/// Beginning of a text that is compared with other texts, in bytes.
pub const COMPARED_TEXT_MAX: usize = 1024;
/// Tokens of a finding that are compared; the rarest count.
pub const COMPARED_TOKENS_MAX: usize = 48;
/// Findings of another model that a finding is compared with; a group takes only one of them.
pub const COMPARED_PER_MODEL_MAX: usize = 3;
/// Findings that are compared on the async thread, within about a millisecond; more are compared on a blocking thread.
pub const COMPARED_IN_PLACE_MAX: usize = 64;
/// Most findings of a consensus that a client sends.
pub const CONSENSUS_MEMBERS_MAX: usize = 100;
/// Longest path of a file, in bytes.
pub const PATH_MAX: usize = 4_096;
/// Largest raw output of a model, in bytes.
pub const RAW_MAX: usize = 5 * 1024 * 1024;
/// Longest name of an owner or a repository, in bytes.
pub const REPO_NAME_MAX: usize = 100;
/// Longest id of a model, in bytes.
pub const MODEL_ID_MAX: usize = 256;
/// Longest id of a review, a finding or a consensus, in bytes.
pub const ID_MAX: usize = 128;
/// Longest category, in bytes.
pub const CATEGORY_MAX: usize = 64;
/// Longest rule of a tool that a finding names, in bytes.
pub const RULE_MAX: usize = 512;
/// Largest line number.
pub const LINE_MAX: u32 = 10_000_000;
/// Largest number of a pull request.
pub const PR_NUMBER_MAX: u64 = 1_000_000_000_000;
/// Most tokens of a response, in each direction.
pub const TOKENS_MAX: u64 = 1_000_000_000_000;
/// Longest latency of a response, in milliseconds: a day.
pub const LATENCY_MAX_MS: u64 = 86_400_000;
/// Largest cost of a response: a million dollars.
pub const COST_MICROS_MAX: u64 = 1_000_000_000_000;
/// Sums of costs stop here.
pub const COST_SUM_MICROS_MAX: u64 = 1_000_000_000_000_000_000;
/// How far the time of a review may be ahead of the server's.
pub const CREATED_AHEAD_MAX_MS: i64 = 60_000;
/// How long ago a recording in one call began that is not expected to continue: an hour. It takes seconds.
pub const ABANDONED_AFTER_MS: i64 = 3_600_000;
/// Sums of tokens and of milliseconds stop here.
pub const SUM_MAX: u64 = 1_000_000_000_000_000_000;
/// Longest retention that can be configured, in days.
pub const RETENTION_DAYS_MAX: u32 = 3_650;
/// Days that rollups and the summaries of reviews are retained, unless configured otherwise.
pub const ROLLUP_RETENTION_DAYS: u32 = 400;
/// Largest data of a rollup item, in bytes. Above it rare categories are counted together, and rare pairs are left out.
pub const ROLLUP_DATA_MAX: usize = 300 * 1024;
/// Partitions of the marks of days to roll up, so that no partition takes every recording.
pub const ROLLUP_MARK_SHARDS: u32 = 4;
/// Marks read at once.
pub const ROLLUP_MARKS_PAGE: u32 = 500;
/// Marks of a day that are cleared by one pass over it; a day with more takes several.
pub const ROLLUP_DAY_MARKS_MAX: usize = 10_000;
/// Most items of a transaction that writes a day; a store allows 100.
pub const ROLLUP_COMMIT_ITEMS_MAX: usize = 90;
/// Most bytes of a transaction that writes a day; a store allows 4 MiB.
pub const ROLLUP_COMMIT_BYTES_MAX: usize = 3 * 1024 * 1024;
/// Most days of a comparison.
pub const COMPARE_DAYS_MAX: u32 = 400;
/// Most models of a comparison.
pub const COMPARE_MODELS_MAX: usize = 20;
/// Resamples of the bootstrap behind an interval.
pub const BOOTSTRAP_RESAMPLES: usize = 1_000;
/// Most differences that a verification lists.
pub const DIFFERENCES_MAX: usize = 1_000;

/// Largest SARIF file, in bytes.
pub const SARIF_BYTES_MAX: u64 = 50 * 1024 * 1024;
/// Most rules that a tool or an extension of it describes in a SARIF file.
pub const SARIF_RULES_MAX: usize = 10_000;
/// Most artifacts that a run of a SARIF file lists.
pub const SARIF_ARTIFACTS_MAX: usize = 100_000;
/// Most extensions of a tool in a SARIF file.
pub const SARIF_EXTENSIONS_MAX: usize = 20;
/// Most elements of each other list in a SARIF file: base URIs, arguments, fingerprints, suppressions.
pub const SARIF_LIST_MAX: usize = 100;
/// Most tags of a SARIF rule or result that count; the others are ignored.
pub const SARIF_TAGS_MAX: usize = 100;
/// Longest title that is made from the message of a SARIF result, in characters.
pub const SARIF_TITLE_MAX: usize = 200;

/// Largest report in Markdown, in bytes: GitHub takes comments of 65,536 characters.
pub const MARKDOWN_MAX: usize = 65_536;
/// Longest title in a report, in characters.
pub const REPORT_TITLE_MAX: usize = 120;
/// Longest name of a model or a file in a report, in characters.
pub const REPORT_NAME_MAX: usize = 100;
/// Longest suggestion, and longest description of a finding of one model, in a report, in characters.
pub const REPORT_NOTE_MAX: usize = 1_000;
/// Longest description of a consensus in a report, in characters.
pub const REPORT_DESCRIPTION_MAX: usize = 4_000;
/// Width of a report as plain text, in columns.
pub const REPORT_COLUMNS: usize = 100;

// The responses of a review can be summed.
const _: () = assert!(COST_MICROS_MAX * (MODELS_MAX as u64) < COST_SUM_MICROS_MAX);
// A transaction of rollups has room for at least one item, its version and its mark.
const _: () = assert!(ROLLUP_COMMIT_BYTES_MAX > 2 * ROLLUP_DATA_MAX && ROLLUP_COMMIT_ITEMS_MAX > 2);
/// Most bytes of the paths of the files that a review lists, all together.
pub const FILES_BYTES_MAX: usize = 256 * 1024;
/// Most bytes of a merged description; what is longer is cut.
pub const MERGED_MAX: usize = 256 * 1024;
/// Most partitions of the lists that every review is in.
pub const INDEX_SHARDS_MAX: u32 = 16;
/// Partitions of the list of expiries of raw outputs.
pub const RAW_EXPIRY_SHARDS: u32 = 8;
/// Longest key of a raw output, in bytes.
pub const RAW_KEY_MAX: usize = 900;
/// Longest part of that key that a model's id gives, in bytes; file systems allow 255.
pub const RAW_MODEL_MAX: usize = 200;
/// Most raw outputs that a review keeps track of: those of all its revisions that are not removed yet.
pub const RAW_KEYS_MAX: usize = 200;
/// Most bytes of the items that one transaction writes; the rest of the store's bound is for its other writes.
pub const TRANSACTION_BYTES_MAX: usize = 3 * 1024 * 1024;
/// Pages of one review that are read at once at most; a page has up to 1 MiB.
pub const REVIEW_PAGES_MAX: usize = 1_000;
