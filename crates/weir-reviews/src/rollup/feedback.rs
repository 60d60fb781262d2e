//! What feedback on a finding changes. It reads the summary of the review, not its findings.

use weir_table::expr::attr;
use weir_table::{Backend, Get, Store, Write};

use super::RollupTable;
use super::items::{REVISION, decode_summary};
use super::keys;
use super::summary::{Summary, SummaryId};
use super::writes::mark_of;
use crate::error::{Error, Result};
use crate::review::RecordedFinding;

/// A summary as it is stored, to write the next one only if nobody else did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSummary {
    /// The summary. It equals [`Summary::of`] the review.
    pub summary: Summary,
    revision: String,
}

impl StoredSummary {
    /// Reads the summary of a review; `None` if it is not completed. To change it, read it before the finding that
    /// changes: a change in between is then refused instead of lost.
    ///
    /// # Errors
    /// The summary cannot be read, or the store fails.
    pub async fn read<B: Backend>(
        store: &Store<B>,
        table: &RollupTable,
        id: SummaryId,
    ) -> Result<Option<StoredSummary>> {
        let get = Get::new(table.name.clone(), keys::summary(&id));
        let Some(item) = store.get(&get).await? else { return Ok(None) };
        let revision =
            item.s(REVISION).ok_or_else(|| Error::damaged("a summary", "no revision"))?;
        let rollup = decode_summary(&item)?;
        Ok(Some(StoredSummary { summary: Summary { id, rollup }, revision: revision.to_owned() }))
    }

    /// Counts that a person accepts or dismisses a finding, and marks its day. `found` is the finding before. The writes
    /// belong in the transaction of the feedback, which is refused if another one was faster.
    ///
    /// # Errors
    /// None in practice: a summary can always be encoded.
    pub fn feedback_writes(
        mut self,
        found: &RecordedFinding,
        accepted: bool,
        table: &RollupTable,
        now_ms: i64,
    ) -> Result<Vec<Write>> {
        let before = found.feedback.as_ref().map(|feedback| feedback.accepted);
        if let Some(model) = self.summary.rollup.models.get_mut(&found.finding.model) {
            model.judge(&found.finding, before, accepted);
        }
        let put = Write::put(table.name.clone(), table.summary_item(&self.summary)?);
        let is_unchanged = attr(REVISION).eq(self.revision);
        Ok(vec![put.when(is_unchanged), mark_of(&self.summary.id, table, now_ms)])
    }
}
