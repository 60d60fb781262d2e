//! How changes of reviews reach their rollups: what each function returns belongs in the transaction of the change.

use weir_calendar::Day;
use weir_table::{Backend, Write};

use crate::error::Result;
use crate::keys::ReviewRef;
use crate::review::{RecordedFinding, RecordedReview};
use crate::reviews::Reviews;
use crate::rollup::{self, StoredSummary, SummaryId};

impl<B: Backend> Reviews<B> {
    /// A review is completed, or failed.
    pub(crate) fn rollups_of_end(&self, recorded: &RecordedReview) -> Result<Vec<Write>> {
        rollup::writes(recorded, &self.rollup_table(), self.now_ms())
    }

    /// A review that was completed or failed is replaced or deleted.
    pub(crate) fn rollups_of_withdrawal(
        &self,
        review: &ReviewRef,
        created_at_ms: i64,
    ) -> Vec<Write> {
        let id = summary_id(review, created_at_ms);
        rollup::removal_writes(&id, &self.rollup_table(), self.now_ms())
    }

    /// Reads the share of a review. It is read before the finding that changes, so that a change in between is refused.
    pub(crate) async fn rollup_share(
        &self,
        review: &ReviewRef,
        created_at_ms: i64,
    ) -> Result<Option<StoredSummary>> {
        let id = summary_id(review, created_at_ms);
        StoredSummary::read(self.store(), &self.rollup_table(), id).await
    }

    /// A person judges a finding of a review that is completed or failed. `before` is the finding as it was.
    pub(crate) fn rollups_of_feedback(
        &self,
        share: Option<StoredSummary>,
        before: &RecordedFinding,
        accepted: bool,
    ) -> Result<Vec<Write>> {
        let Some(share) = share else { return Ok(Vec::new()) };
        share.feedback_writes(before, accepted, &self.rollup_table(), self.now_ms())
    }
}

fn summary_id(review: &ReviewRef, created_at_ms: i64) -> SummaryId {
    SummaryId {
        owner: review.owner.clone(),
        repo: review.repo.clone(),
        day: Day::utc(created_at_ms),
        review: review.id.clone(),
    }
}
