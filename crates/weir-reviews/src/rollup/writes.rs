//! The writes that keep summaries and marks in step with reviews. They belong in the transaction that changes a review.

use weir_calendar::Day;
use weir_table::Write;

use super::RollupTable;
use super::items::{MARKED_AT, random_token};
use super::keys::{self, Level};
use super::summary::{Summary, SummaryId};
use crate::error::Result;
use crate::faults::{self, Fault};
use crate::review::{RecordedReview, ReviewStatus};

/// Stores the summary of a completed review and marks its day. A review that is not completed has no summary.
///
/// # Errors
/// None in practice: a summary can always be encoded.
pub fn writes(recorded: &RecordedReview, table: &RollupTable, now_ms: i64) -> Result<Vec<Write>> {
    if recorded.review.status != ReviewStatus::Completed {
        return Ok(Vec::new());
    }
    let summary = Summary::of(recorded);
    let put = Write::put(table.name.clone(), table.summary_item(&summary)?);
    Ok(vec![put, mark_of(&summary.id, table, now_ms)])
}

/// Deletes the summary of a review and marks its day.
#[must_use]
pub fn removal_writes(id: &SummaryId, table: &RollupTable, now_ms: i64) -> Vec<Write> {
    let delete = Write::delete(table.name.clone(), keys::summary(id));
    if faults::is(Fault::DayUnmarked) {
        return vec![delete];
    }
    vec![delete, mark_of(id, table, now_ms)]
}

/// Replaces the summary of `old` with that of `new`, which may be of another day.
///
/// # Errors
/// None in practice: a summary can always be encoded.
pub fn replacement_writes(
    old: &SummaryId,
    new: &RecordedReview,
    table: &RollupTable,
    now_ms: i64,
) -> Result<Vec<Write>> {
    let put = writes(new, table, now_ms)?;
    if !put.is_empty() && *old == SummaryId::of(&new.review) {
        return Ok(put);
    }
    Ok(removal_writes(old, table, now_ms).into_iter().chain(put).collect())
}

/// Marks a day of a repository, so that the next run rolls it up again.
#[must_use]
pub fn mark_write(level: &Level, day: Day, table: &RollupTable, now_ms: i64) -> Write {
    let key = keys::mark(level, day, &random_token());
    let item = table.item(key, "ROLLUP_MARK", day).with(MARKED_AT, now_ms);
    Write::put(table.name.clone(), item)
}

pub(super) fn mark_of(id: &SummaryId, table: &RollupTable, now_ms: i64) -> Write {
    let level = Level::Repository(id.owner.clone(), id.repo.clone());
    mark_write(&level, id.day, table, now_ms)
}
