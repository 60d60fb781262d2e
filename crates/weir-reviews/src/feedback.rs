//! Feedback of people on findings.

use weir_table::{Backend, Write};

use crate::error::{Error, Result};
use crate::ids::{FindingId, ModelId, ReviewId, UserName};
use crate::items::{Lookup, State, feedback_unchanged, feedback_update};
use crate::keys;
use crate::retry::{TRIES_MAX, pause};
use crate::review::{Feedback, RecordedFinding};
use crate::reviews::Reviews;
use crate::rollup::StoredSummary;

impl<B: Backend> Reviews<B> {
    /// Records that a person accepts or dismisses a finding. The same person may say the same again, which changes nothing;
    /// the last one to say something else is right.
    ///
    /// # Errors
    /// There is no such review or finding, or the store fails; then the call can be repeated.
    pub async fn feedback(
        &self,
        id: &ReviewId,
        model: &ModelId,
        finding: &FindingId,
        accepted: bool,
        by: &UserName,
    ) -> Result<RecordedFinding> {
        let feedback = Feedback { accepted, by: by.clone(), at_ms: self.now_ms() };
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let lookup = self.living_lookup(id).await?;
            // While its items are being written, the review waits.
            if matches!(lookup.state, State::Recording | State::Completing) {
                continue;
            }
            let missing = || Error::not_found("finding", format!("{model}/{finding}"));
            // A response that is not whole does not belong to its review yet, and its writer may write it again.
            let is_whole = lookup.claims.get(model).is_some_and(|claim| claim.is_whole);
            if lookup.state == State::InProgress && !is_whole {
                return Err(missing());
            }
            let share = self.rollup_share(&lookup.review, lookup.created_at_ms).await?;
            let item = self.item(keys::finding(&lookup.review, model, finding)).await?;
            let known = RecordedFinding::decode(&item.ok_or_else(missing)?)?;
            let is_same = |old: &Feedback| old.accepted == accepted && old.by == *by;
            if known.feedback.as_ref().is_some_and(is_same) {
                return Ok(known);
            }
            if self.try_feedback(&lookup, share, &known, &feedback).await? {
                return Ok(RecordedFinding { feedback: Some(feedback), ..known });
            }
        }
        Err(Error::Contended)
    }

    /// False when another writer was faster.
    async fn try_feedback(
        &self,
        lookup: &Lookup,
        share: Option<StoredSummary>,
        known: &RecordedFinding,
        feedback: &Feedback,
    ) -> Result<bool> {
        let key = keys::finding(&lookup.review, &known.finding.model, &known.finding.id);
        let update = Write::update(self.table().clone(), key, feedback_update(feedback));
        let update = update.when(feedback_unchanged(known));
        let mut writes = vec![lookup.fence().check(self.table()), update];
        if lookup.is_ended() {
            writes.extend(self.rollups_of_feedback(share, known, feedback.accepted)?);
        }
        Ok(self.transact(writes).await?.is_applied())
    }
}
