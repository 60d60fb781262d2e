//! The place where changes of reviews reach their rollups.

use weir_table::Write;

use crate::ids::ModelId;
use crate::keys::ReviewRef;
use crate::review::RecordedReview;

/// A change of what is counted.
#[derive(Debug)]
#[expect(dead_code, reason = "there are no rollups yet")]
pub(crate) struct RollupChange<'a> {
    /// The review.
    pub(crate) review: &'a ReviewRef,
    /// Its time, which gives its day.
    pub(crate) created_at_ms: i64,
    /// The models whose counts change.
    pub(crate) models: &'a [ModelId],
    /// What happens.
    pub(crate) kind: RollupKind<'a>,
}

/// What happens to a review.
#[derive(Debug)]
#[expect(dead_code, reason = "there are no rollups yet")]
pub(crate) enum RollupKind<'a> {
    /// It is completed, or failed.
    Ended(&'a RecordedReview),
    /// It was completed or failed, and is replaced or deleted.
    Withdrawn,
    /// A person judges a finding.
    Feedback,
}

/// The writes of a change, done in its transaction: at most
/// [`ROLLUP_CHANGE_WRITES_MAX`](crate::bounds::ROLLUP_CHANGE_WRITES_MAX).
pub(crate) fn rollup_writes(_: &RollupChange<'_>) -> Vec<Write> {
    Vec::new()
}
