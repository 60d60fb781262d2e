//! Adds, replaces and deletes one test case. Each is one transaction.

use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Item, Transacted, Verdict, Write};

use super::item::{TEXTS, is_live, not_live, too_many};
use super::{NewTestCase, TestCase};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::error::{Error, Result};
use crate::ids::{ProblemRef, TestCaseId};
use crate::item::{CREATED, VERSION, secs};
use crate::keys;
use crate::practice::Practice;
use crate::update::{touch, unchanged};

impl<B: Backend> Practice<B> {
    /// Adds a test case to a problem.
    ///
    /// # Errors
    /// A text is too large, the problem is missing, deleted or full, or the store fails.
    pub async fn add_test_case(
        &self,
        problem: &ProblemRef,
        new: NewTestCase,
        actor: &str,
    ) -> Result<TestCase> {
        new.check()?;
        let now_ms = self.now_ms();
        let id = TestCaseId::next(self.event_ids(), now_ms);
        let audit = self.test_case_event(problem, actor, format!("added {id}"), now_ms)?;
        let added = stored(&id, &new, secs(now_ms), secs(now_ms));
        let fitted = self.test_case_item(problem, &id, new, now_ms).await?;
        let mut writes = vec![self.live_check(problem), self.count_added(problem, 1)];
        writes.push(Write::put(self.table().clone(), fitted.item.clone()));
        writes.extend(fitted.unmark(self.table()).chain([audit]));
        match self.transact(writes).await? {
            Transacted::Applied => Ok(added),
            Transacted::Refused(verdicts) => {
                self.discard(fitted.objects()).await;
                Err(refused(problem, &verdicts, 1))
            }
        }
    }

    /// Replaces a test case.
    ///
    /// # Errors
    /// A text is too large, the problem is deleted, it or the test case is missing, or the store fails.
    pub async fn replace_test_case(
        &self,
        problem: &ProblemRef,
        id: &TestCaseId,
        new: NewTestCase,
        actor: &str,
    ) -> Result<TestCase> {
        new.check()?;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let old = self.test_case_found(problem, id).await?;
            let now_ms = self.now_ms();
            let created_s = old.i64(CREATED).unwrap_or_else(|| secs(now_ms));
            let replaced = stored(id, &new, created_s, secs(now_ms));
            let mut fitted = self.test_case_item(problem, id, new.clone(), now_ms).await?;
            fitted.item.set(CREATED, created_s);
            fitted.item.set(VERSION, crate::update::version_of(&old));
            touch(&mut fitted.item, secs(now_ms));
            let dropped = self.dropped(&old, Some(&fitted.item), TEXTS);
            let put = Write::put(self.table().clone(), fitted.item.clone()).when(unchanged(&old));
            let mut writes = vec![self.live_check(problem), put];
            writes.extend(fitted.unmark(self.table()).chain(self.marks(&dropped)));
            let detail = format!("replaced {id}");
            writes.push(self.test_case_event(problem, actor, detail, now_ms)?);
            match self.transact(writes).await? {
                Transacted::Applied => {
                    self.discard(&dropped).await;
                    return Ok(replaced);
                }
                Transacted::Refused(verdicts) => {
                    self.discard(fitted.objects()).await;
                    check_live(problem, &verdicts)?;
                }
            }
        }
        Err(Error::Contended)
    }

    /// Deletes a test case.
    ///
    /// # Errors
    /// The problem is deleted, it or the test case is missing, or the store fails.
    pub async fn delete_test_case(
        &self,
        problem: &ProblemRef,
        id: &TestCaseId,
        actor: &str,
    ) -> Result<()> {
        let mut is_counted = true;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let old = self.test_case_found(problem, id).await?;
            let dropped = self.dropped(&old, None, TEXTS);
            let delete = Write::delete(self.table().clone(), keys::test_case(problem, id));
            let mut writes =
                vec![self.live_check(problem), delete.when(unchanged(&old)).essential()];
            let detail = format!("deleted {id}");
            writes.push(self.test_case_event(problem, actor, detail, self.now_ms())?);
            writes.extend(self.marks(&dropped));
            if is_counted {
                writes.push(self.count_deleted(problem));
            }
            match self.transact(writes).await? {
                Transacted::Applied => {
                    self.discard(&dropped).await;
                    return Ok(());
                }
                Transacted::Refused(verdicts) => {
                    check_live(problem, &verdicts)?;
                    is_counted &= !matches!(verdicts.last(), Some(Verdict::Failed(_)));
                }
            }
        }
        Err(Error::Contended)
    }

    /// Requires that a problem is there and not deleted.
    pub(super) fn live_check(&self, problem: &ProblemRef) -> Write {
        Write::check(self.table().clone(), keys::problem(problem), is_live())
    }

    async fn test_case_found(&self, problem: &ProblemRef, id: &TestCaseId) -> Result<Item> {
        let found = self.item(keys::test_case(problem, id)).await?;
        found.ok_or_else(|| Error::not_found("test case", id))
    }

    pub(super) fn test_case_event(
        &self,
        problem: &ProblemRef,
        actor: &str,
        detail: String,
        now_ms: i64,
    ) -> Result<Write> {
        let action = AuditAction::TestCasesChanged;
        let subject = format!("problem {problem}");
        self.audit_write(NewAuditEvent { action, subject, actor, detail: Some(detail) }, now_ms)
    }
}

fn stored(id: &TestCaseId, new: &NewTestCase, created_s: i64, updated_s: i64) -> TestCase {
    let NewTestCase { input, output, is_sample } = new.clone();
    TestCase { id: id.clone(), input, output, is_sample, created_s, updated_s }
}

/// The error when the first write of a transaction, the check of the problem, was refused.
pub(super) fn check_live(problem: &ProblemRef, verdicts: &[Verdict]) -> Result<()> {
    match verdicts.first() {
        Some(Verdict::Failed(item)) => Err(not_live(problem, item.as_ref())),
        _ => Ok(()),
    }
}

/// The error of an addition whose first two writes are the check of the problem and the counter.
pub(super) fn refused(problem: &ProblemRef, verdicts: &[Verdict], added: usize) -> Error {
    if let Err(error) = check_live(problem, verdicts) {
        return error;
    }
    match verdicts.get(1) {
        Some(Verdict::Failed(counter)) => too_many(problem, counter.as_ref(), added),
        // The sweep has claimed the mark of an object: the request took an hour.
        _ => Error::Contended,
    }
}
