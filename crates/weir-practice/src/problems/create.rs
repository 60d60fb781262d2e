//! Creates problems.
//!
//! A problem that fits is one transaction. One with many test cases is stored in steps: a claim takes the key, batches of
//! test cases follow, and the last transaction replaces the claim by the problem. Readers see nothing before that. A creation
//! that was killed is taken over by the next one of the same problem, or removed by
//! [`Practice::resume_purges`](crate::Practice::resume_purges).

use weir_table::expr::attr;
use weir_table::limits::TRANSACT_MAX;
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Item, Transacted, Verdict, Write};

use super::entries::{entries, index};
use super::item::{CREATING, REMOVING, STATE, TEXTS, claim, decode_summary, is_whole};
use super::keys::unfinished;
use super::purge::is_revision;
use super::{NewProblem, ProblemSummary, Registrar};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::TRANSACTION_BYTES_MAX;
use crate::error::{Error, Result};
use crate::ids::{EventId, ProblemRef, TestCaseId};
use crate::item::{COUNT, TYPE};
use crate::keys;
use crate::kinds::EntityType;
use crate::objects::ObjectOwner;
use crate::practice::Practice;
use crate::spill::Fitted;
use crate::test_cases::NewTestCase;
use crate::update::REVISION;

/// Most test cases that are stored in the transaction of their problem; a later check counts exactly.
const TOGETHER_MAX: usize = 50;

/// A problem ready to be written.
struct Prepared {
    head: Fitted,
    summary: ProblemSummary,
    /// Writes beside the problem: lists, counter, plan of the user, audit event.
    writes: Vec<Write>,
    /// How many of the last writes are of the registrar.
    registrar: usize,
}

impl<B: Backend> Practice<B> {
    /// Creates a problem with its test cases.
    ///
    /// # Errors
    /// A field is invalid, the problem exists, the plan of the registrar does not allow it, or the store fails.
    pub async fn create_problem(
        &self,
        mut new: NewProblem,
        registrar: Option<Registrar>,
        actor: &str,
    ) -> Result<ProblemSummary> {
        new.check()?;
        let (at, now_ms) = (new.at.clone(), self.now_ms());
        let cases = std::mem::take(&mut new.test_cases);
        let prepared = self.prepare(new, registrar, cases.len(), actor, now_ms).await?;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let created = match self.item(keys::problem(&at)).await? {
                Some(item) if is_whole(&item) => Err(exists(&at)),
                Some(item) if item.s(STATE) == Some(REMOVING) => {
                    self.purge(&at, &item).await?;
                    continue;
                }
                None if cases.len() <= TOGETHER_MAX => {
                    self.create_at_once(&at, &prepared, &cases, now_ms).await
                }
                found => self.create_in_steps(&at, &prepared, &cases, found, now_ms).await,
            };
            match created {
                Ok(true) => return Ok(prepared.summary),
                Ok(false) => {}
                Err(error) => {
                    // After other errors the problem may be there.
                    if matches!(error, Error::Conflict(_) | Error::Forbidden(_)) {
                        self.discard(prepared.head.objects()).await;
                    }
                    return Err(error);
                }
            }
        }
        Err(Error::Contended)
    }

    async fn prepare(
        &self,
        new: NewProblem,
        registrar: Option<Registrar>,
        cases: usize,
        actor: &str,
        now_ms: i64,
    ) -> Result<Prepared> {
        let user = registrar.as_ref().map(|registrar| &registrar.user);
        let mut item = self.problem_item(&new, user, now_ms).await?;
        let summary = decode_summary(&item)?;
        index(&mut item, &summary);
        let mut writes = self.entry_writes(&[], &entries(&summary));
        if cases > 0 {
            let counter = keys::item(keys::test_case_count(&new.at))
                .with(TYPE, EntityType::Counter.as_str())
                .with(COUNT, cases as u64);
            writes.push(Write::put(self.table().clone(), counter));
        }
        let (action, subject) = (AuditAction::ProblemCreated, format!("problem {}", new.at));
        let event = NewAuditEvent { action, subject, actor, detail: None };
        writes.push(self.audit_write(event, now_ms)?);
        let required = registrar.map(|registrar| registrar.writes).unwrap_or_default();
        let registrar = required.len();
        writes.extend(required);
        let head = self.fit(item, &ObjectOwner::Problem(new.at), TEXTS).await?;
        Ok(Prepared { head, summary, writes, registrar })
    }

    /// False when another writer was faster, or when all of it does not fit into a transaction.
    async fn create_at_once(
        &self,
        at: &ProblemRef,
        prepared: &Prepared,
        cases: &[NewTestCase],
        now_ms: i64,
    ) -> Result<bool> {
        let mut fitted = Vec::new();
        let ids = self.numbered_ids(now_ms);
        for (number, case) in cases.iter().enumerate() {
            let id = ids(number)?;
            fitted.push(self.test_case_item(at, &id, case.clone(), now_ms).await?);
        }
        let put = Write::put(self.table().clone(), prepared.head.item.clone());
        let mut writes = vec![put.when(attr("PK").absent())];
        writes
            .extend(fitted.iter().map(|case| Write::put(self.table().clone(), case.item.clone())));
        let all = [&prepared.head].into_iter().chain(&fitted);
        writes.extend(all.clone().flat_map(|fitted| fitted.unmark(self.table())));
        writes.extend(prepared.writes.iter().cloned());
        let bytes: usize = all.map(|fitted| fitted.item.size()).sum();
        if writes.len() > TRANSACT_MAX || bytes > TRANSACTION_BYTES_MAX {
            self.discard_fitted(&fitted).await;
            return self.create_in_steps(at, prepared, cases, None, now_ms).await;
        }
        let verdicts = match self.transact(writes).await? {
            Transacted::Applied => return Ok(true),
            Transacted::Refused(verdicts) => verdicts,
        };
        self.discard_fitted(&fitted).await;
        check_registrar(&verdicts, prepared)?;
        Ok(false)
    }

    /// False when another writer was faster.
    async fn create_in_steps(
        &self,
        at: &ProblemRef,
        prepared: &Prepared,
        cases: &[NewTestCase],
        found: Option<Item>,
        now_ms: i64,
    ) -> Result<bool> {
        let revision = self.new_revision(now_ms);
        let is_same = match found.as_ref().and_then(|item| item.s(REVISION)) {
            Some(revision) => is_revision(CREATING, revision),
            None => attr("PK").absent(),
        };
        let claim = Write::put(self.table().clone(), claim(at, &revision, now_ms)).when(is_same);
        let note = self.unfinished_note(at, &revision);
        if !self.transact(vec![claim, note]).await?.is_applied() {
            return Ok(false);
        }
        let mine = is_revision(CREATING, &revision);
        let check = Write::check(self.table().clone(), keys::problem(at), mine.clone());
        if found.is_some() && !self.purge_children(at, &check).await? {
            return Err(taken_over(at));
        }
        self.store_claimed(at, cases, &check, now_ms).await?;
        let put = Write::put(self.table().clone(), prepared.head.item.clone()).when(mine);
        let mut writes = vec![put, Write::delete(self.table().clone(), unfinished(at))];
        writes.extend(prepared.head.unmark(self.table()));
        writes.extend(prepared.writes.iter().cloned());
        let verdicts = match self.transact(writes).await? {
            Transacted::Applied => return Ok(true),
            Transacted::Refused(verdicts) => verdicts,
        };
        let refused = check_registrar(&verdicts, prepared);
        self.abandon_claim(at, &revision).await?;
        refused?;
        Err(taken_over(at))
    }

    /// Stores the test cases of a claimed problem in as few transactions as possible.
    async fn store_claimed(
        &self,
        at: &ProblemRef,
        cases: &[NewTestCase],
        check: &Write,
        now_ms: i64,
    ) -> Result<()> {
        let (mut batch, mut bytes) = (vec![check.clone()], 0);
        let ids = self.numbered_ids(now_ms);
        for (number, case) in cases.iter().enumerate() {
            let id = ids(number)?;
            let case = self.test_case_item(at, &id, case.clone(), now_ms).await?;
            let writes = 1 + case.objects().len();
            let size = case.item.size();
            if batch.len() + writes > TRANSACT_MAX || bytes + size > TRANSACTION_BYTES_MAX {
                self.write_claimed(at, std::mem::replace(&mut batch, vec![check.clone()])).await?;
                bytes = 0;
            }
            bytes += size;
            batch.extend(case.unmark(self.table()));
            batch.push(Write::put(self.table().clone(), case.item));
        }
        self.write_claimed(at, batch).await
    }

    async fn write_claimed(&self, at: &ProblemRef, batch: Vec<Write>) -> Result<()> {
        // The sweep finds the objects of a batch that is refused.
        if batch.len() == 1 || self.transact(batch).await?.is_applied() {
            return Ok(());
        }
        Err(taken_over(at))
    }

    /// The ids of test cases that are stored with their problem, in order.
    fn numbered_ids(&self, now_ms: i64) -> impl Fn(usize) -> Result<TestCaseId> + use<B> {
        let first = EventId::next(self.event_ids(), now_ms);
        move |number| TestCaseId::new(format!("{first}-{number:05}"))
    }

    async fn discard_fitted(&self, all: &[Fitted]) {
        for fitted in all {
            self.discard(fitted.objects()).await;
        }
    }
}

fn exists(at: &ProblemRef) -> Error {
    Error::conflict(format!("the problem {at} exists"))
}

fn taken_over(at: &ProblemRef) -> Error {
    Error::conflict(format!("another request creates the problem {at}"))
}

/// The writes of the registrar are the last ones.
fn check_registrar(verdicts: &[Verdict], prepared: &Prepared) -> Result<()> {
    let failed = |verdict: &Verdict| matches!(verdict, Verdict::Failed(_));
    if verdicts.iter().rev().take(prepared.registrar).any(failed) {
        return Err(Error::forbidden("the plan of the user does not allow another problem"));
    }
    Ok(())
}
