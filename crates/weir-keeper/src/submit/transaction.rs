//! Meters one submission in one transaction.

use weir_table::{Backend, Error as Fault, Transacted, Transaction, Verdict};

use super::Owner;
use super::dedup_record::DedupRecord;
use super::plan::PlannedSubmission;
use crate::bounds::TRIES_MAX;
use crate::error::{Error, Result};
use crate::ids::RequestId;
use crate::keeper::Keeper;
use crate::retry::pause;

/// Whether this call metered the submission.
#[derive(Debug)]
pub(super) enum RecordOutcome {
    /// It did.
    Recorded,
    /// The submission was metered before, as recorded.
    Duplicate(DedupRecord),
}

impl<B: Backend> Keeper<B> {
    /// Meters a planned submission.
    pub(super) async fn record(
        &self,
        owner: Owner<'_>,
        planned: &PlannedSubmission,
        now_ms: i64,
    ) -> Result<RecordOutcome> {
        // The idempotency token is of this call, not of the submission: a client's retry must be reported as a
        // duplicate.
        let token = self.transaction_token();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let dedup =
                DedupRecord::write(planned, self.tables().request_dedup.clone(), owner, now_ms);
            let usage = &self.tables().usage_agg_sharded;
            let increments = planned.increments().map(|add| add.write(usage.clone(), now_ms));
            let writes = [dedup].into_iter().chain(increments).collect();
            match self.store().transact(Transaction { writes, token: token.clone() }).await {
                Ok(Transacted::Applied) => return Ok(RecordOutcome::Recorded),
                Ok(Transacted::Refused(verdicts)) => {
                    return existing_record(planned, verdicts.first())
                        .map(RecordOutcome::Duplicate);
                }
                Err(Fault::Conflict) => {}
                Err(fault) => return Err(fault.into()),
            }
        }
        Err(Error::Contended)
    }

    /// A token for one transaction and its retries, where the store needs one.
    pub(super) fn transaction_token(&self) -> Option<String> {
        self.settings().idempotency_tokens.then(|| uuid::Uuid::new_v4().to_string())
    }
}

/// The existing record that made the store refuse a submission.
///
/// # Errors
/// The record is of another payload.
pub(super) fn existing_record(
    planned: &PlannedSubmission,
    verdict: Option<&Verdict>,
) -> Result<DedupRecord> {
    let Some(Verdict::Failed(Some(item))) = verdict else {
        return Err(Error::damaged(
            "the record of a submission",
            "the store refused the write without an existing record",
        ));
    };
    let record = DedupRecord::read(item)?;
    if record.hash == planned.record.hash {
        Ok(record)
    } else {
        Err(conflicting_payload(&planned.request_id))
    }
}

/// The error for a request id that was used with another payload.
pub(super) fn conflicting_payload(id: &RequestId) -> Error {
    Error::AlreadyExists(format!("request_id: {id} was submitted before with another payload"))
}
