//! Keys on items, and ids read back from keys. A key of another form is `None`, never an error: the table may hold items of other programs.

use weir_calendar::Day;
use weir_table::{Item, Key};

use super::{
    AUDIT_PREFIX, COUNT_PREFIX, HISTORY_PREFIX, PLAN_PREFIX, PROBLEM_PREFIX, PROGRESS_PREFIX,
    TEST_CASE_PREFIX, USAGE_DAY_INFIX, USAGE_LOG_PREFIX, USER_PREFIX, job_prefix,
};
use crate::ids::{
    EventId, HistoryId, JobId, PlanId, Platform, ProblemId, ProblemRef, TestCaseId, UserId,
};
use crate::kinds::{Action, JobType};

/// An item with only its key.
#[must_use]
pub fn item(key: Key) -> Item {
    let item = Item::new().with("PK", key.partition.to_value());
    match key.sort {
        Some(sort) => item.with("SK", sort.to_value()),
        None => item,
    }
}

/// The key of an item of the table.
#[must_use]
pub fn key_of(item: &Item) -> Option<Key> {
    Some(Key::new(item.s("PK")?, item.s("SK")?))
}

/// The item with a key.
#[must_use]
pub fn find<'a>(items: &'a [Item], key: &Key) -> Option<&'a Item> {
    items.iter().find(|item| key_of(item).as_ref() == Some(key))
}

/// The user of a partition, or of a sort key in a rollup.
#[must_use]
pub fn parse_user(text: &str) -> Option<UserId> {
    UserId::new(text.strip_prefix(USER_PREFIX)?).ok()
}

/// The plan of a partition.
#[must_use]
pub fn parse_plan(partition: &str) -> Option<PlanId> {
    partition.strip_prefix(PLAN_PREFIX)?.parse().ok()
}

/// The user and the day of a partition of usage.
#[must_use]
pub fn parse_usage_day(partition: &str) -> Option<(UserId, Day)> {
    let (user, day) = partition.strip_prefix(USER_PREFIX)?.split_once(USAGE_DAY_INFIX)?;
    Some((UserId::new(user).ok()?, Day::from_compact(day)?))
}

/// The time in milliseconds and the action of a usage log; its id is missing when the program of the source wrote it, with a
/// time in seconds.
#[must_use]
pub fn parse_usage_log(sort: &str) -> Option<(i64, Action, Option<EventId>)> {
    let mut parts = sort.strip_prefix(USAGE_LOG_PREFIX)?.split('#');
    let (time, action) = (parts.next()?, parts.next()?.parse().ok()?);
    let id = parts.next().map(EventId::new).transpose().ok()?;
    let time = number(time)?;
    let at_ms = if id.is_some() { time } else { time.checked_mul(1000)? };
    parts.next().is_none().then_some((at_ms, action, id))
}

/// The action that an item counts.
#[must_use]
pub fn parse_action_count(sort: &str) -> Option<Action> {
    sort.strip_prefix(COUNT_PREFIX)?.parse().ok()
}

/// The problem of a partition.
#[must_use]
pub fn parse_problem(partition: &str) -> Option<ProblemRef> {
    let (platform, id) = partition.strip_prefix(PROBLEM_PREFIX)?.split_once('#')?;
    Some(ProblemRef { platform: Platform::new(platform).ok()?, id: ProblemId::new(id).ok()? })
}

/// The test case of a sort key.
#[must_use]
pub fn parse_test_case(sort: &str) -> Option<TestCaseId> {
    TestCaseId::new(sort.strip_prefix(TEST_CASE_PREFIX)?).ok()
}

/// The recorded run of a partition.
#[must_use]
pub fn parse_history(partition: &str) -> Option<HistoryId> {
    HistoryId::new(partition.strip_prefix(HISTORY_PREFIX)?).ok()
}

/// The job of a partition.
#[must_use]
pub fn parse_job(partition: &str) -> Option<(JobType, JobId)> {
    let (prefix, id) = partition.split_once('#')?;
    let job_type = JobType::ALL.iter().copied().find(|one| job_prefix(*one) == prefix)?;
    Some((job_type, JobId::new(id).ok()?))
}

/// The time in milliseconds and the id of a progress step; the id is missing when the program of the source wrote it, with
/// a time in seconds.
#[must_use]
pub fn parse_progress(sort: &str) -> Option<(i64, Option<EventId>)> {
    let rest = sort.strip_prefix(PROGRESS_PREFIX)?;
    match rest.split_once('#') {
        Some((time, id)) => Some((number(time)?, Some(EventId::new(id).ok()?))),
        None => Some((number(rest)?.checked_mul(1000)?, None)),
    }
}

/// The total and the user of an entry in [`List::TopUsers`](super::List::TopUsers).
#[must_use]
pub fn parse_top_user(index_sort: &str) -> Option<(u64, UserId)> {
    let (total, user) = index_sort.split_once('#')?;
    Some((u64::try_from(number(total)?).ok()?, UserId::new(user).ok()?))
}

/// The time in milliseconds and the name of a marked object.
#[must_use]
pub fn parse_object_mark(sort: &str) -> Option<(i64, &str)> {
    let (time, name) = sort.split_once('#')?;
    Some((number(time)?, name))
}

/// The id of an audit event.
#[must_use]
pub fn parse_audit(sort: &str) -> Option<EventId> {
    EventId::new(sort.strip_prefix(AUDIT_PREFIX)?).ok()
}

fn number(text: &str) -> Option<i64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
