//! Changes of runs: their visibility and their hints.

use weir_table::expr::{Update, attr};
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Item, Write};

use super::RunSummary;
use super::item::{HINTS, PUBLIC, TEXTS, check_hints, decode_summary, hints_value};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::error::{Error, Result};
use crate::faults::{self, Fault};
use crate::ids::HistoryId;
use crate::item::{UPDATED, VERSION, field, secs};
use crate::keys::{self, GSI2, IndexKey};
use crate::objects::ObjectOwner;
use crate::practice::Practice;
use crate::update::{set_field, touch, unchanged, update_between};

impl<B: Backend> Practice<B> {
    /// Makes a run public or private, which moves it into the feed or out of it. `actor` is the administrator who does so;
    /// a change by the user of the run is not audited.
    ///
    /// # Errors
    /// The run is missing, or the store fails.
    pub async fn set_run_visibility(
        &self,
        id: &HistoryId,
        is_public: bool,
        actor: Option<&str>,
    ) -> Result<RunSummary> {
        let old = self.run_found(id).await?;
        let mut run = decode_summary(&old)?;
        if run.is_public == is_public {
            return Ok(run);
        }
        let now_ms = self.now_ms();
        // The flag and the entry in the feed are attributes of one item: whoever is last sets both.
        let update = if is_public {
            self.feed_key(run.created_s, id).await?.join()
        } else if faults::is(Fault::FeedEntryStays) {
            Update::default()
        } else {
            IndexKey::leave(GSI2)
        };
        let update = update.set(field(PUBLIC), is_public).set(UPDATED, secs(now_ms));
        let update = update.add(VERSION, 1);
        let write = Write::update(self.table().clone(), keys::history(id), update);
        let write = write.when(attr("PK").exists());
        let is_applied = match actor {
            None => self.write(write).await?.is_applied(),
            Some(actor) => {
                let audit = self.visibility_event(id, is_public, actor, now_ms)?;
                self.transact(vec![write, audit]).await?.is_applied()
            }
        };
        if !is_applied {
            return Err(Error::not_found("run", id));
        }
        (run.is_public, run.updated_s) = (is_public, secs(now_ms));
        Ok(run)
    }

    fn visibility_event(
        &self,
        id: &HistoryId,
        is_public: bool,
        actor: &str,
        now_ms: i64,
    ) -> Result<Write> {
        let (action, subject) = (AuditAction::HistoryVisibilityChanged, format!("run {id}"));
        let detail = Some(if is_public { "public" } else { "private" }.to_owned());
        self.audit_write(NewAuditEvent { action, subject, actor, detail }, now_ms)
    }

    /// Adds hints to a run.
    ///
    /// # Errors
    /// There are too many hints or they are too long, the run is missing, or the store fails.
    pub async fn add_hints(&self, id: &HistoryId, hints: &[String]) -> Result<RunSummary> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let old = self.run_found(id).await?;
            let mut run = decode_summary(&old)?;
            check_hints(&run.hints, hints)?;
            run.hints.extend(hints.iter().cloned());
            let mut new = old.clone();
            set_field(&mut new, HINTS, hints_value(&run.hints));
            touch(&mut new, secs(self.now_ms()));
            run.updated_s = secs(self.now_ms());
            let fitted = self.fit(new, &ObjectOwner::History(id.clone()), TEXTS).await?;
            let dropped = self.dropped(&old, Some(&fitted.item), TEXTS);
            let update = update_between(&old, &fitted.item);
            let update = Write::update(self.table().clone(), keys::history(id), update);
            let mut writes = vec![update.when(unchanged(&old))];
            writes.extend(fitted.unmark(self.table()).chain(self.marks(&dropped)));
            if self.transact(writes).await?.is_applied() {
                self.discard(&dropped).await;
                return Ok(run);
            }
            self.discard(fitted.objects()).await;
        }
        Err(Error::Contended)
    }

    async fn run_found(&self, id: &HistoryId) -> Result<Item> {
        let found = self.item(keys::history(id)).await?;
        found.ok_or_else(|| Error::not_found("run", id))
    }
}
