//! Removes problems for good.
//!
//! 1. One transaction takes the problem from its readers, writers and lists, and notes that it is unfinished.
//! 2. Test cases go in transactions that check that the problem is still the same and mark their objects; then the objects
//!    go. The sweep finds those that are left when it is killed between.
//! 3. The item of the problem and the note go last; so [`Practice::resume_purges`] finishes what was killed.

use weir_table::expr::{Condition, attr};
use weir_table::limits::TRANSACT_MAX;
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Item, Query, Transacted, Verdict, Write};

use super::entries::entries;
use super::item::{CREATING, DELETED, REMOVING, STATE, TEXTS, decode_summary, is_whole};
use super::keys::{UNFINISHED, parse_unfinished, unfinished};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::OBJECT_ORPHAN_MS;
use crate::error::{Error, Result};
use crate::ids::ProblemRef;
use crate::item::{COUNT, CREATED, secs};
use crate::keys::{self, GSI2, META, index_attributes};
use crate::practice::Practice;
use crate::spill::{MarkedObject, object_names};
use crate::test_cases::item as case_item;
use crate::update::{REVISION, set_field, touch, unchanged, update_between};

/// The result of one run of [`Practice::resume_purges`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PurgeReport {
    /// Problems removed.
    pub removed: u64,
    /// Whether more wait.
    pub more: bool,
}

/// The condition that a problem is in a state, of this revision.
pub(super) fn is_revision(state: &str, revision: &str) -> Condition {
    attr(STATE).eq(state).and(attr(REVISION).eq(revision))
}

impl<B: Backend> Practice<B> {
    /// Removes a problem with its test cases and objects, deleted before or not.
    ///
    /// # Errors
    /// The problem is missing, or the store fails; then the call can be repeated, or a later run of
    /// [`Practice::resume_purges`] finishes it.
    pub async fn purge_problem(&self, at: &ProblemRef, actor: &str) -> Result<()> {
        let mut is_counted = true;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let found = self.item(keys::problem(at)).await?;
            let found = found.filter(|item| item.s(STATE) != Some(CREATING));
            let found = found.ok_or_else(|| Error::not_found("problem", at))?;
            if !is_whole(&found) {
                return self.purge(at, &found).await;
            }
            if let Some(removing) = self.begin_purge(at, &found, actor, &mut is_counted).await? {
                return self.purge(at, &removing).await;
            }
        }
        Err(Error::Contended)
    }

    /// `None` when another writer was faster.
    async fn begin_purge(
        &self,
        at: &ProblemRef,
        old: &Item,
        actor: &str,
        is_counted: &mut bool,
    ) -> Result<Option<Item>> {
        let (now_ms, table) = (self.now_ms(), self.table());
        let summary = decode_summary(old)?;
        let mut new = old.clone();
        touch(&mut new, secs(now_ms));
        set_field(&mut new, DELETED, true);
        new.set(STATE, REMOVING);
        new.set(REVISION, self.new_revision(now_ms));
        let (partition, sort) = index_attributes(GSI2);
        new.remove(&partition);
        new.remove(&sort);
        let update = Write::update(table.clone(), keys::problem(at), update_between(old, &new));
        let note = self.unfinished_note(at, new.s(REVISION).unwrap_or_default());
        let mut writes = vec![update.when(unchanged(old)), note];
        writes.extend(self.entry_writes(&entries(&summary), &[]));
        let (action, subject) = (AuditAction::ProblemPurged, format!("problem {at}"));
        let event = NewAuditEvent { action, subject, actor, detail: None };
        writes.push(self.audit_write(event, now_ms)?);
        if let Some(user) = summary.registered_by.filter(|_| *is_counted) {
            writes.push(self.problem_release(&user).when(attr(COUNT).ge(1)));
        }
        match self.transact(writes).await? {
            Transacted::Applied => Ok(Some(new)),
            Transacted::Refused(verdicts) => {
                // The user may be gone, and the count of problems with it.
                let is_first = matches!(verdicts.first(), Some(Verdict::Failed(_)));
                let is_last = matches!(verdicts.last(), Some(Verdict::Failed(_)));
                *is_counted &= is_first || !is_last;
                Ok(None)
            }
        }
    }

    /// Notes that a problem is being created or removed, under this revision.
    pub(super) fn unfinished_note(&self, at: &ProblemRef, revision: &str) -> Write {
        let note = keys::item(unfinished(at)).with(REVISION, revision);
        Write::put(self.table().clone(), note)
    }

    /// Removes a problem that no reader finds any more. Another writer may do the same at once.
    pub(super) async fn purge(&self, at: &ProblemRef, removing: &Item) -> Result<()> {
        let table = self.table();
        let revision = removing.s(REVISION).unwrap_or_default();
        let is_same = is_revision(REMOVING, revision);
        let check = Write::check(table.clone(), keys::problem(at), is_same.clone());
        if !self.purge_children(at, &check).await? {
            return Ok(());
        }
        for name in object_names(removing, TEXTS) {
            self.objects().delete(&name).await?;
        }
        let head = Write::delete(table.clone(), keys::problem(at)).when(is_same);
        let note = Write::delete(table.clone(), unfinished(at));
        self.transact(vec![head, note]).await?;
        Ok(())
    }

    /// Deletes everything beside the item of a problem, as long as `check` holds.
    pub(super) async fn purge_children(&self, at: &ProblemRef, check: &Write) -> Result<bool> {
        let mut query = Query::partition(self.table().clone(), keys::problem_partition(at));
        loop {
            let page = self.store().query(&query).await?;
            let children = page.items.iter().filter(|item| item.s("SK") != Some(META));
            let (mut writes, mut dropped) = (vec![check.clone()], Vec::new());
            for child in children {
                let objects = self.dropped(child, None, case_item::TEXTS);
                if writes.len() + 1 + objects.len() > TRANSACT_MAX {
                    let full = std::mem::replace(&mut writes, vec![check.clone()]);
                    if !self.purge_batch(full, std::mem::take(&mut dropped)).await? {
                        return Ok(false);
                    }
                }
                let delete =
                    keys::key_of(child).map(|key| Write::delete(self.table().clone(), key));
                writes.extend(delete.map(Write::essential).into_iter().chain(self.marks(&objects)));
                dropped.extend(objects);
            }
            if !self.purge_batch(writes, dropped).await? {
                return Ok(false);
            }
            match page.cursor {
                Some(cursor) => query = query.after(cursor),
                None => return Ok(true),
            }
        }
    }

    /// Deletes a batch of test cases, then their objects: before the check they could be those of a problem that was
    /// created since.
    async fn purge_batch(&self, writes: Vec<Write>, dropped: Vec<MarkedObject>) -> Result<bool> {
        let is_applied = writes.len() == 1 || self.transact(writes).await?.is_applied();
        if is_applied {
            self.discard(&dropped).await;
        }
        Ok(is_applied)
    }

    /// Removes what a creation has stored that does not go on.
    pub(super) async fn abandon_claim(&self, at: &ProblemRef, revision: &str) -> Result<bool> {
        let update = weir_table::expr::set(STATE, REMOVING);
        let update = Write::update(self.table().clone(), keys::problem(at), update);
        let written = self.write(update.when(is_revision(CREATING, revision)).essential()).await?;
        match written.item().filter(|_| written.is_applied()) {
            Some(removing) => self.purge(at, removing).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Finishes up to `limit` removals, and removes creations that were killed an hour ago or earlier.
    ///
    /// # Errors
    /// The store or the object storage fails. The next run continues.
    pub async fn resume_purges(&self, now_ms: i64, limit: u32) -> Result<PurgeReport> {
        let query = Query::partition(self.table().clone(), UNFINISHED);
        let page = self.store().page(query, limit, None).await?;
        let mut report = PurgeReport { removed: 0, more: page.cursor.is_some() };
        for note in &page.items {
            let at = note.s("SK").and_then(parse_unfinished);
            let at =
                at.ok_or_else(|| Error::damaged("the list of unfinished problems", "a key"))?;
            report.removed += u64::from(self.resume_purge(&at, note, now_ms).await?);
        }
        Ok(report)
    }
    async fn resume_purge(&self, at: &ProblemRef, note: &Item, now_ms: i64) -> Result<bool> {
        let found = self.item(keys::problem(at)).await?;
        let Some(found) = found.filter(|item| !is_whole(item)) else {
            // Another program has deleted the problem; a note of a later creation stays.
            let revision = note.s(REVISION).unwrap_or_default();
            let delete = Write::delete(self.table().clone(), unfinished(at));
            self.write(delete.when(attr(REVISION).eq(revision))).await?;
            return Ok(false);
        };
        if found.s(STATE) == Some(REMOVING) {
            return self.purge(at, &found).await.map(|()| true);
        }
        let oldest_s = secs(now_ms.saturating_sub(OBJECT_ORPHAN_MS));
        if found.i64(CREATED).unwrap_or_default() > oldest_s {
            return Ok(false);
        }
        self.abandon_claim(at, found.s(REVISION).unwrap_or_default()).await
    }
}
