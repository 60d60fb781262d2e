//! One submission, one transaction.

use weir_table::{Backend, Error as Fault, Transacted, Transaction, Verdict};

use super::Owner;
use super::plan::Planned;
use super::record::Record;
use crate::bounds::TRIES_MAX;
use crate::error::{Error, Result};
use crate::ids::RequestId;
use crate::keeper::Keeper;
use crate::retry::pause;

/// Whether a submission was counted by this call.
#[derive(Debug)]
pub(super) enum Counted {
    /// It was.
    Now,
    /// It had been, like this.
    Before(Record),
}

impl<B: Backend> Keeper<B> {
    /// Counts a planned submission.
    pub(super) async fn count(
        &self,
        owner: Owner<'_>,
        planned: &Planned,
        now_ms: i64,
    ) -> Result<Counted> {
        // The token is of this call, not of the submission: a client's retry must hear that it is a duplicate.
        let token = self.transaction_token();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let dedup = Record::write(planned, self.tables().request_dedup.clone(), owner, now_ms);
            let usage = &self.tables().usage_agg_sharded;
            let adds = planned.additions().map(|addition| addition.write(usage.clone(), now_ms));
            let writes = [dedup].into_iter().chain(adds).collect();
            match self.store().transact(Transaction { writes, token: token.clone() }).await {
                Ok(Transacted::Applied) => return Ok(Counted::Now),
                Ok(Transacted::Refused(verdicts)) => {
                    return settled(planned, verdicts.first()).map(Counted::Before);
                }
                Err(Fault::Conflict) => {}
                Err(fault) => return Err(fault.into()),
            }
        }
        Err(Error::Contended)
    }

    /// A token for one transaction and its retries, where the store makes use of one.
    pub(super) fn transaction_token(&self) -> Option<String> {
        self.settings().idempotency_tokens.then(|| uuid::Uuid::new_v4().to_string())
    }
}

/// What the record of a submission says that was refused: how it was counted before.
///
/// # Errors
/// It was another submission.
pub(super) fn settled(planned: &Planned, verdict: Option<&Verdict>) -> Result<Record> {
    let Some(Verdict::Failed(Some(item))) = verdict else {
        return Err(Error::damaged("the record of a submission", "it was refused by nothing"));
    };
    let record = Record::read(item)?;
    if record.hash == planned.record.hash { Ok(record) } else { Err(reused(&planned.request_id)) }
}

/// An id that came with another payload.
pub(super) fn reused(id: &RequestId) -> Error {
    Error::AlreadyExists(format!("request_id: {id} was submitted before with another payload"))
}
