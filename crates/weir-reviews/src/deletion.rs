//! Deletes reviews with everything below them.
//!
//! 1. One transaction takes the review from its readers and its writers, and notes the deletion.
//! 2. Everything that the models said is deleted, with the cost metrics and the raw outputs.
//! 3. The lookup and the note are deleted last; so [`Reviews::resume_deletions`] finishes what was killed.
//!
//! A recording in one call that was killed before any reader saw its review is deleted in the same way, after
//! [`ABANDONED_AFTER_MS`]: its findings would otherwise stay in the lists of findings. A writer that is only slow meets another
//! revision then, and begins again.

use weir_table::{Backend, Query, Write};

use crate::bounds::ABANDONED_AFTER_MS;
use crate::error::{Error, Result};
use crate::faults::{self, Fault};
use crate::ids::ReviewId;
use crate::items::{Lookup, State, new_revision};
use crate::keys;
use crate::record::{removal, transactions};
use crate::retry::{TRIES_MAX, pause};
use crate::reviews::Reviews;

/// The result of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeletionReport {
    /// Deletions finished.
    pub finished: u64,
    /// Whether more wait.
    pub more: bool,
}

impl<B: Backend> Reviews<B> {
    /// Deletes a review with everything below it.
    ///
    /// # Errors
    /// There is no such review, or the store fails; then the call can be repeated, or a later run of
    /// [`Reviews::resume_deletions`] finishes it.
    pub async fn delete(&self, id: &ReviewId) -> Result<()> {
        let lookup = self.lookup(id).await?;
        let is_visible = |l: &Lookup| self.is_visible(&l.review) && !l.is_expired(self.now_ms());
        let lookup = lookup.filter(is_visible);
        self.delete_found(lookup.ok_or_else(|| Error::not_found("review", id.as_str()))?).await
    }

    /// Deletes a review, which may have expired or be half deleted.
    pub(crate) async fn delete_found(&self, lookup: Lookup) -> Result<()> {
        let (id, mut found) = (lookup.review.id.clone(), Some(lookup));
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let lookup = match found.take() {
                Some(lookup) => Some(lookup),
                None => self.lookup(&id).await?,
            };
            let deleting = match lookup {
                // Another deletion was faster.
                None => return Ok(()),
                Some(lookup) if lookup.state == State::Deleting => Some(lookup),
                Some(lookup) => self.begin_deletion(lookup).await?,
            };
            if let Some(deleting) = deleting {
                return self.purge(&deleting).await;
            }
        }
        Err(Error::Contended)
    }

    /// `None` when another writer was faster.
    async fn begin_deletion(&self, old: Lookup) -> Result<Option<Lookup>> {
        let fence = old.exact_fence();
        let review = keys::review(&old.review, old.created_at_ms);
        let note = keys::item(keys::deletion(&old.review.id));
        let withdrawal = self.withdrawal(&old);
        let deleting = Lookup {
            state: State::Deleting,
            revision: new_revision(),
            version: old.version + 1,
            raws_in_flight: old.may_store_raws(),
            ttl: None,
            begun_at_ms: None,
            ..old
        };
        let mut writes = vec![
            fence.put(self.table(), &deleting),
            Write::put(self.table().clone(), note).essential(),
            Write::delete(self.table().clone(), review),
        ];
        writes.extend(withdrawal);
        Ok(self.transact(writes).await?.is_applied().then_some(deleting))
    }

    /// Deletes everything below a review, and the lookup last. Another writer may do the same at once.
    async fn purge(&self, lookup: &Lookup) -> Result<()> {
        let (fence, table) = (lookup.fence(), self.table());
        let children = self.children(&lookup.review).await?;
        let units = children.iter().map(|item| removal(table, item)).collect::<Result<_>>()?;
        if !self.write_fenced(&fence, transactions(units)).await? {
            return Ok(());
        }
        self.delete_raws(&lookup.raws, lookup.raws_in_flight).await?;
        let note = Write::delete(table.clone(), keys::deletion(&lookup.review.id));
        self.transact(vec![fence.delete(table), note]).await?;
        Ok(())
    }

    /// Deletes up to `limit` recordings in one call that were abandoned: they began long ago, and no reader has seen their
    /// reviews. A replacement that was killed stays, because its review is seen, in progress, and can be continued.
    ///
    /// # Errors
    /// The store or the object storage fails. The next run continues.
    pub async fn remove_abandoned(&self, now_ms: i64, limit: u32) -> Result<DeletionReport> {
        let latest_ms = now_ms.saturating_sub(ABANDONED_AFTER_MS);
        let query = Query::partition(self.table().clone(), keys::RECORDINGS);
        let query = query.index(keys::GSI2).sort(keys::recordings_before(latest_ms));
        let page = self.store().page(query, limit, None).await?;
        let mut report = DeletionReport { finished: 0, more: page.cursor.is_some() };
        for item in &page.items {
            // The index lags: the recording may have ended.
            let lookup = self.lookup(&Lookup::decode(item)?.review.id).await?;
            let is_abandoned = |lookup: &Lookup| {
                lookup.has_begun_before(latest_ms) || faults::is(Fault::EndedRemoved)
            };
            let lookup = lookup.filter(is_abandoned);
            let Some(lookup) = lookup else { continue };
            if let Some(deleting) = self.begin_deletion(lookup).await? {
                self.purge(&deleting).await?;
                report.finished += 1;
            }
        }
        Ok(report)
    }

    /// Finishes up to `limit` deletions that failed or were killed.
    ///
    /// # Errors
    /// The store or the object storage fails. The next run continues.
    pub async fn resume_deletions(&self, limit: u32) -> Result<DeletionReport> {
        let query = Query::partition(self.table().clone(), keys::DELETIONS);
        let page = self.store().page(query, limit, None).await?;
        let mut report = DeletionReport { finished: 0, more: page.cursor.is_some() };
        for item in &page.items {
            let id = item.s("SK").and_then(|id| ReviewId::new(id).ok());
            let id = id.ok_or_else(|| Error::damaged("the list of deletions", "a key"))?;
            let lookup = self.lookup(&id).await?;
            if let Some(lookup) = lookup.filter(|lookup| lookup.state == State::Deleting) {
                self.purge(&lookup).await?;
                report.finished += 1;
            }
        }
        Ok(report)
    }
}
