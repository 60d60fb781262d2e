//! The writes that keep summaries and marks in step with reviews. They belong in the transaction that changes a review.

use weir_table::expr::attr;
use weir_table::{Backend, Get, Store, Write};

use super::RollupTable;
use super::day::Day;
use super::items::{MARKED_AT, REVISION, random_token};
use super::keys::{self, Level};
use super::summary::{Summary, SummaryId};
use crate::error::Result;
use crate::review::{RecordedReview, Review, ReviewStatus};

/// The state of a stored summary, to write the next one only if nobody else did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRevision(Option<String>);

impl SummaryRevision {
    /// Reads the revision of a review's summary. Read it before the review itself: a change that is made in between is
    /// then refused instead of lost.
    ///
    /// # Errors
    /// The store fails.
    pub async fn read<B: Backend>(
        store: &Store<B>,
        table: &RollupTable,
        review: &Review,
    ) -> Result<SummaryRevision> {
        let get = Get::new(table.name.clone(), keys::summary(&SummaryId::of(review)));
        let item = store.get(&get.project([REVISION])).await?;
        Ok(SummaryRevision(item.and_then(|item| item.s(REVISION).map(str::to_owned))))
    }
}

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

/// Like [`writes`], refused when the summary is no longer at `revision`. For feedback, which several people give at once.
///
/// # Errors
/// None in practice: a summary can always be encoded.
pub fn writes_after(
    revision: &SummaryRevision,
    recorded: &RecordedReview,
    table: &RollupTable,
    now_ms: i64,
) -> Result<Vec<Write>> {
    let condition = match &revision.0 {
        Some(revision) => attr(REVISION).eq(revision.as_str()),
        None => attr(REVISION).absent(),
    };
    let mut writes = writes(recorded, table, now_ms)?;
    if let Some(put) = writes.first_mut() {
        put.condition = Some(condition);
    }
    Ok(writes)
}

/// Deletes the summary of a review and marks its day.
#[must_use]
pub fn removal_writes(review: &Review, table: &RollupTable, now_ms: i64) -> Vec<Write> {
    let id = SummaryId::of(review);
    vec![Write::delete(table.name.clone(), keys::summary(&id)), mark_of(&id, table, now_ms)]
}

/// Replaces the summary of `old` with that of `new`, which may be of another day.
///
/// # Errors
/// None in practice: a summary can always be encoded.
pub fn replacement_writes(
    old: &Review,
    new: &RecordedReview,
    table: &RollupTable,
    now_ms: i64,
) -> Result<Vec<Write>> {
    let put = writes(new, table, now_ms)?;
    if !put.is_empty() && SummaryId::of(old) == SummaryId::of(&new.review) {
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

fn mark_of(id: &SummaryId, table: &RollupTable, now_ms: i64) -> Write {
    let level = Level::Repository(id.owner.clone(), id.repo.clone());
    mark_write(&level, id.day, table, now_ms)
}
