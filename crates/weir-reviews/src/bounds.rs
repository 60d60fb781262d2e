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

// The responses of a review can be summed.
const _: () = assert!(COST_MICROS_MAX * (MODELS_MAX as u64) < COST_SUM_MICROS_MAX);
