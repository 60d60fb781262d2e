//! The place where changes of reviews reach their rollups: what each function returns belongs in the transaction of the change.

use weir_table::{Backend, Write};

use crate::error::Result;
use crate::keys::ReviewRef;
use crate::review::{RecordedFinding, RecordedReview};
use crate::reviews::Reviews;

/// The share of a review in its rollups, as it was before a change.
#[derive(Debug)]
pub(crate) struct RollupShare;

impl<B: Backend> Reviews<B> {
    /// A review is completed, or failed.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "there are no rollups yet")]
    pub(crate) fn rollups_of_end(&self, _: &RecordedReview) -> Result<Vec<Write>> {
        Ok(Vec::new())
    }

    /// A review that was completed or failed is replaced or deleted.
    #[expect(clippy::unused_self, reason = "there are no rollups yet")]
    pub(crate) fn rollups_of_withdrawal(&self, _: &ReviewRef, _created_at_ms: i64) -> Vec<Write> {
        Vec::new()
    }

    /// Reads the share of a review. It is read before the finding that changes, so that a change in between is refused.
    #[expect(clippy::unused_async, reason = "there are no rollups yet")]
    pub(crate) async fn rollup_share(
        &self,
        _: &ReviewRef,
        _created_at_ms: i64,
    ) -> Result<Option<RollupShare>> {
        Ok(None)
    }

    /// A person judges a finding of a review that is completed or failed. `before` is the finding as it was.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "there are no rollups yet")]
    pub(crate) fn rollups_of_feedback(
        &self,
        _: Option<RollupShare>,
        _before: &RecordedFinding,
        _accepted: bool,
    ) -> Result<Vec<Write>> {
        Ok(Vec::new())
    }
}
