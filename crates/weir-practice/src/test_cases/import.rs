//! Imports test cases of a problem: new ones many at once, changed ones one by one.

use weir_table::expr::attr;
use weir_table::limits::{BATCH_GET_MAX, TRANSACT_MAX};
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Item, Transacted, Verdict, Write};

use super::item::{TEXTS, not_live, too_many};
use super::{NewTestCase, TestCase};
use crate::bounds::TRANSACTION_BYTES_MAX;
use crate::error::{Error, Result};
use crate::ids::ProblemRef;
use crate::import::{Imported, OnDifference, Step, step};
use crate::item::{CREATED, UPDATED, VERSION};
use crate::keys::{self, find};
use crate::practice::Practice;
use crate::problems::item::STATE;
use crate::spill::Fitted;
use crate::update::{unchanged, version_of};

/// Most test cases that are imported in one transaction: each may name two objects.
const TOGETHER_MAX: usize = (TRANSACT_MAX - 2) / 3;

impl TestCase {
    fn to_new(&self) -> NewTestCase {
        let (input, output, is_sample) = (self.input.clone(), self.output.clone(), self.is_sample);
        NewTestCase { input, output, is_sample }
    }

    /// Checks a test case from elsewhere.
    pub(crate) fn check_import(&self) -> Result<()> {
        self.to_new().check()
    }

    /// Whether two test cases are the same. Other databases do not know samples and changes.
    pub(crate) fn is_same(&self, other: &TestCase) -> bool {
        let texts = |case: &TestCase| (case.input.clone(), case.output.clone());
        texts(self) == texts(other) && self.created_s == other.created_s
    }
}

impl<B: Backend> Practice<B> {
    /// Stores test cases of a problem as they are elsewhere; a result for each.
    ///
    /// # Errors
    /// The problem is missing, or the store fails.
    pub(crate) async fn import_test_cases(
        &self,
        problem: &ProblemRef,
        cases: &[TestCase],
        on: OnDifference,
    ) -> Result<Vec<Result<Imported>>> {
        let mut results = Vec::with_capacity(cases.len());
        for some in cases.chunks(TOGETHER_MAX.min(BATCH_GET_MAX)) {
            results.extend(self.import_some(problem, some, on).await?);
        }
        Ok(results)
    }

    async fn import_some(
        &self,
        problem: &ProblemRef,
        cases: &[TestCase],
        on: OnDifference,
    ) -> Result<Vec<Result<Imported>>> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let keys = cases.iter().map(|case| keys::test_case(problem, &case.id)).collect();
            let stored = self.items(keys).await?;
            let (mut results, mut new) = (Vec::new(), Vec::new());
            for case in cases {
                let item = find(&stored, &keys::test_case(problem, &case.id));
                results.push(match (case.check_import(), item) {
                    (Err(error), _) => Err(error),
                    (Ok(()), None) => {
                        new.push(case);
                        Ok(Imported::Created)
                    }
                    (Ok(()), Some(item)) => self.import_one(problem, case, item, on).await,
                });
            }
            if self.add_imported(problem, &new).await? {
                return Ok(results);
            }
        }
        Err(Error::Contended)
    }

    /// Adds new test cases, as few transactions as their size allows. False when another writer was faster.
    async fn add_imported(&self, problem: &ProblemRef, new: &[&TestCase]) -> Result<bool> {
        let (mut together, mut bytes) = (Vec::new(), 0);
        for case in new {
            let fitted = self.imported_case(problem, case).await?;
            if bytes + fitted.item.size() > TRANSACTION_BYTES_MAX {
                if !self.add_together(problem, std::mem::take(&mut together)).await? {
                    return Ok(false);
                }
                bytes = 0;
            }
            bytes += fitted.item.size();
            together.push(fitted);
        }
        self.add_together(problem, together).await
    }

    async fn add_together(&self, problem: &ProblemRef, cases: Vec<Fitted>) -> Result<bool> {
        if cases.is_empty() {
            return Ok(true);
        }
        let mut writes = vec![self.exists_check(problem), self.count_added(problem, cases.len())];
        for case in &cases {
            let put = Write::put(self.table().clone(), case.item.clone());
            writes.push(put.when(attr("PK").absent()));
        }
        writes.extend(cases.iter().flat_map(|case| case.unmark(self.table())));
        let Transacted::Refused(verdicts) = self.transact(writes).await? else { return Ok(true) };
        for case in &cases {
            self.discard(case.objects()).await;
        }
        match (verdicts.first(), verdicts.get(1)) {
            (Some(Verdict::Failed(item)), _) => Err(not_live(problem, item.as_ref())),
            (_, Some(Verdict::Failed(counter))) => {
                Err(too_many(problem, counter.as_ref(), cases.len()))
            }
            _ => Ok(false),
        }
    }

    /// Replaces a stored test case, if it differs.
    async fn import_one(
        &self,
        problem: &ProblemRef,
        case: &TestCase,
        old: &Item,
        on: OnDifference,
    ) -> Result<Imported> {
        let stored = self.read_test_case(old).await?.ok_or(Error::Contended)?;
        let found = Some((stored.is_same(case), stored.updated_s));
        if let Step::Done(done) = step(found, case.updated_s, on) {
            return Ok(done);
        }
        let case = TestCase { is_sample: stored.is_sample, ..case.clone() };
        let mut fitted = self.imported_case(problem, &case).await?;
        fitted.item.set(VERSION, version_of(old) + 1);
        let dropped = self.dropped(old, Some(&fitted.item), TEXTS);
        let put = Write::put(self.table().clone(), fitted.item.clone()).when(unchanged(old));
        let mut writes = vec![put];
        writes.extend(fitted.unmark(self.table()).chain(self.marks(&dropped)));
        if self.transact(writes).await?.is_applied() {
            self.discard(&dropped).await;
            return Ok(Imported::Updated);
        }
        self.discard(fitted.objects()).await;
        Err(Error::Contended)
    }

    async fn imported_case(&self, problem: &ProblemRef, case: &TestCase) -> Result<Fitted> {
        let now_ms = self.now_ms();
        let mut fitted = self.test_case_item(problem, &case.id, case.to_new(), now_ms).await?;
        fitted.item.set(CREATED, case.created_s);
        fitted.item.set(UPDATED, case.updated_s);
        Ok(fitted)
    }

    /// Requires that a problem is there, deleted or not.
    fn exists_check(&self, problem: &ProblemRef) -> Write {
        let is_whole = attr("PK").exists().and(attr(STATE).absent());
        Write::check(self.table().clone(), keys::problem(problem), is_whole)
    }
}
