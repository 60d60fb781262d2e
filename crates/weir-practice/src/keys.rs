//! Every key of the table. The text is the storage format, so each builder has a test with the literal text.
//!
//! | item | PK | SK | index |
//! |---|---|---|---|
//! | user | `USR#{user}` | `META` | GSI1 `USR#{email}` / `META`, GSI2 [`List::Users`] |
//! | copy of a user by Google id | `USR#{user}` | `LOGIN#google` | GSI1 `USR#{google_id}` / `META` |
//! | latest day counted; problems registered | `USR#{user}` | `DAY`; `COUNT#problems` | |
//! | reserved email address, Google id | `EMAIL#{normalised}`, `GOOGLE#{google_id}` | `META` | |
//! | plan; its users | `PLAN#{plan}` | `META`; `COUNT#users` | GSI2 [`List::Plans`] |
//! | counter, log of a day | `USR#{user}#ULOG#{day}` | `COUNT#{action}`, `ULOG#{ms}#{action}#{ULID}` | |
//! | request with an idempotency key | `IDEM#{user}#{hash}` | `META` | |
//! | rollup of a day; its users | `ULOG_AGG#{day}` | `META`; `USR#{user}` | GSI2 [`List::TopUsers`] |
//! | problem; test case | `PROB#{platform}#{problem}` | `META`; `TC#{id}` | GSI2 [`List::Problems`] |
//! | recorded run | `HIST#{id}` | `META` | GSI1 `USR#{user}#HIST`, GSI2 [`List::Feed`] |
//! | job; progress | `SGJ#{id}`, `PEJ#{id}` | `META`; `JPH#{ms}#{ULID}` | GSI2 [`List::Jobs`] |
//! | lease of a job | like the job's | `IDX#LEASE` | GSI2 [`List::JobLeases`] while it is held |
//! | first day of a feed by day; problem being created or removed | `FEED`; `PROBLEMS#UNFINISHED` | `DAYS`; `{platform}#{problem}` | |
//! | task result | `TRES#{id}` | `META` | |
//! | entry in another list | like its owner's | `IDX#…` | GSI2 of the [`List`] |
//!
//! GSI1 finds whole items: sign-ins, and the runs of a user. GSI2 finds keys: the feed and every list. Its entries sort by
//! `{seconds}#{id}`. Numbers in sort keys have a fixed width, so that texts sort by time.

mod parse;
#[cfg(test)]
mod tests;

use sha2::{Digest as _, Sha256};
use weir_calendar::Day;
use weir_table::Key;

pub use self::parse::{
    find, item, key_of, parse_action_count, parse_audit, parse_history, parse_job,
    parse_object_mark, parse_plan, parse_problem, parse_progress, parse_test_case, parse_top_user,
    parse_usage_day, parse_usage_log, parse_user,
};
use crate::bounds::OBJECT_MARK_SHARDS;
use crate::ids::{
    Email, EventId, GoogleId, HistoryId, IdempotencyKey, JobId, PlanId, ProblemRef, TaskId,
    TestCaseId, UserId,
};
use crate::kinds::{Action, JobType};
pub use crate::list::keys::{
    GSI1, GSI2, IndexKey, List, ListEntry, index_attributes, login_by_email, login_by_google,
    own_history_partition, run_of_user,
};

/// Sort key of every item that is alone in its partition or at the head of it.
pub const META: &str = "META";
/// Prefix of the sort keys of usage logs.
pub const USAGE_LOG_PREFIX: &str = "ULOG#";
/// Prefix of the sort keys of counters.
pub const COUNT_PREFIX: &str = "COUNT#";
/// Prefix of the sort keys of test cases.
pub const TEST_CASE_PREFIX: &str = "TC#";
/// Prefix of the sort keys of entries in lists.
pub const LIST_ENTRY_PREFIX: &str = "IDX#";
/// Prefix of the sort keys of progress steps.
pub const PROGRESS_PREFIX: &str = "JPH#";
/// Prefix of the partitions of users, and of the sort keys of users in the rollup of a day.
pub const USER_PREFIX: &str = "USR#";
const USAGE_DAY_INFIX: &str = "#ULOG#";
const PLAN_PREFIX: &str = "PLAN#";
const PROBLEM_PREFIX: &str = "PROB#";
const HISTORY_PREFIX: &str = "HIST#";
/// Partition of the audit events.
pub const AUDIT: &str = "AUDIT";
/// Prefix of the sort keys of audit events.
pub const AUDIT_PREFIX: &str = "AUDIT#";
/// Partition of the deletions of users that are not finished.
pub const ERASURES: &str = "ERASURES";

/// Partition of a user.
#[must_use]
pub fn user_partition(user: &UserId) -> String {
    format!("{USER_PREFIX}{user}")
}

/// A user.
#[must_use]
pub fn user(user: &UserId) -> Key {
    Key::new(user_partition(user), META)
}

/// The copy of a user that [`login_by_google`] finds.
#[must_use]
pub fn google_login(user: &UserId) -> Key {
    Key::new(user_partition(user), "LOGIN#google")
}

/// The latest day on which a user was counted; it closes earlier days.
#[must_use]
pub fn latest_day(user: &UserId) -> Key {
    Key::new(user_partition(user), "DAY")
}

/// How many problems a user has registered.
#[must_use]
pub fn problem_count(user: &UserId) -> Key {
    Key::new(user_partition(user), "COUNT#problems")
}

/// Reserves an email address for one user.
#[must_use]
pub fn email(email: &Email) -> Key {
    Key::new(format!("EMAIL#{}", email.normalised()), META)
}

/// Reserves a Google id for one user.
#[must_use]
pub fn google_id(id: &GoogleId) -> Key {
    Key::new(format!("GOOGLE#{id}"), META)
}

/// A deletion of a user that is not finished.
#[must_use]
pub fn erasure(user: &UserId) -> Key {
    Key::new(ERASURES, user.as_str())
}

/// A plan.
#[must_use]
pub fn plan(plan: PlanId) -> Key {
    Key::new(format!("{PLAN_PREFIX}{plan}"), META)
}

/// How many users a plan has.
#[must_use]
pub fn plan_users(plan: PlanId) -> Key {
    Key::new(format!("{PLAN_PREFIX}{plan}"), "COUNT#users")
}

/// The largest plan id so far.
#[must_use]
pub fn plan_sequence() -> Key {
    Key::new("PLANS", "SEQUENCE")
}

/// Partition of a user's usage on a day.
#[must_use]
pub fn usage_partition(user: &UserId, day: Day) -> String {
    format!("{USER_PREFIX}{user}{USAGE_DAY_INFIX}{}", day.compact())
}

/// How often a user did an action on a day.
#[must_use]
pub fn action_count(user: &UserId, day: Day, action: Action) -> Key {
    Key::new(usage_partition(user, day), format!("{COUNT_PREFIX}{action}"))
}

/// One action of a user.
#[must_use]
pub fn usage_log(user: &UserId, day: Day, at_ms: i64, action: Action, id: &EventId) -> Key {
    let sort = format!("{USAGE_LOG_PREFIX}{}#{action}#{id}", millis(at_ms));
    Key::new(usage_partition(user, day), sort)
}

/// The record of a request with an idempotency key, whatever its day.
#[must_use]
pub fn idempotency(user: &UserId, key: &IdempotencyKey) -> Key {
    let digest = Sha256::digest(key.as_str());
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Key::new(format!("IDEM#{user}#{hash}"), META)
}

/// Partition of the rollup of a day.
#[must_use]
pub fn rollup_partition(day: Day) -> String {
    format!("ULOG_AGG#{}", day.compact())
}

/// Usage of all users on a day.
#[must_use]
pub fn rollup(day: Day) -> Key {
    Key::new(rollup_partition(day), META)
}

/// Usage of one user on a day.
#[must_use]
pub fn user_rollup(day: Day, user: &UserId) -> Key {
    Key::new(rollup_partition(day), user_partition(user))
}

/// How much of a day's usage log is archived.
#[must_use]
pub fn archive_checkpoint(day: Day) -> Key {
    Key::new(rollup_partition(day), "ARCHIVE")
}

/// Partition of a problem and its test cases.
#[must_use]
pub fn problem_partition(problem: &ProblemRef) -> String {
    format!("{PROBLEM_PREFIX}{}#{}", problem.platform, problem.id)
}

/// A problem.
#[must_use]
pub fn problem(problem: &ProblemRef) -> Key {
    Key::new(problem_partition(problem), META)
}

/// How many test cases a problem has.
#[must_use]
pub fn test_case_count(problem: &ProblemRef) -> Key {
    Key::new(problem_partition(problem), "COUNT#testcases")
}

/// The content of an upload of test cases with an idempotency key, by the hexadecimal digest of the key. It sorts before the
/// problem, so readers of its test cases do not meet it.
#[must_use]
pub fn upload(problem: &ProblemRef, key_digest: &str) -> Key {
    Key::new(problem_partition(problem), format!("BULK#{key_digest}"))
}

/// A test case.
#[must_use]
pub fn test_case(problem: &ProblemRef, id: &TestCaseId) -> Key {
    Key::new(problem_partition(problem), format!("{TEST_CASE_PREFIX}{id}"))
}

/// A recorded run.
#[must_use]
pub fn history(id: &HistoryId) -> Key {
    Key::new(format!("{HISTORY_PREFIX}{id}"), META)
}

/// The first day that has a partition of the public feed.
#[must_use]
pub fn feed_days() -> Key {
    Key::new("FEED", "DAYS")
}

/// Partition of a job and its progress.
#[must_use]
pub fn job_partition(job_type: JobType, id: &JobId) -> String {
    format!("{}#{id}", job_prefix(job_type))
}

/// A job.
#[must_use]
pub fn job(job_type: JobType, id: &JobId) -> Key {
    Key::new(job_partition(job_type, id), META)
}

/// A progress step of a job.
#[must_use]
pub fn progress(job_type: JobType, id: &JobId, at_ms: i64, step: &EventId) -> Key {
    let sort = format!("{PROGRESS_PREFIX}{}#{step}", millis(at_ms));
    Key::new(job_partition(job_type, id), sort)
}

/// The result of a task.
#[must_use]
pub fn task(id: &TaskId) -> Key {
    Key::new(format!("TRES#{id}"), META)
}

/// An audit event.
#[must_use]
pub fn audit(id: &EventId) -> Key {
    Key::new(AUDIT, audit_sort(id.as_str()))
}

/// Sort key of an audit event, or of a bound of a range of them.
#[must_use]
pub fn audit_sort(id: &str) -> String {
    format!("{AUDIT_PREFIX}{id}")
}

/// The mark of an object that is checked at a time, and removed if no item names it.
#[must_use]
pub fn object_mark(due_ms: i64, name: &str) -> Key {
    let digest = Sha256::digest(name);
    let number = digest.iter().take(4).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    let shard = number % OBJECT_MARK_SHARDS;
    Key::new(object_mark_partition(shard), object_mark_sort(due_ms, name))
}

/// Partition of marks of objects.
#[must_use]
pub fn object_mark_partition(shard: u32) -> String {
    format!("OBJECTS#{shard}")
}

/// Sort key of the mark of an object, or of a bound of a range of them.
#[must_use]
pub fn object_mark_sort(due_ms: i64, name: &str) -> String {
    format!("{}#{name}", millis(due_ms))
}

/// A time in seconds that has the ten digits of the source in keys.
#[must_use]
pub fn clamped_secs(at_s: i64) -> i64 {
    at_s.clamp(0, 9_999_999_999)
}

pub(crate) fn seconds(at_s: i64) -> String {
    format!("{:010}", clamped_secs(at_s))
}

pub(crate) fn millis(at_ms: i64) -> String {
    format!("{:013}", at_ms.clamp(0, 9_999_999_999_999))
}

pub(crate) fn job_prefix(job_type: JobType) -> &'static str {
    match job_type {
        JobType::ScriptGeneration => "SGJ",
        JobType::ProblemExtraction => "PEJ",
    }
}
