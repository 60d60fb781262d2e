//! Stores an upload of many test cases.
//!
//! Ids derive from the upload: a repeat finds what is stored already and adds only the rest. An upload that fits is one
//! transaction. A larger one is stored in batches, each with its own count; the first one has the audit event.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};
use weir_table::limits::TRANSACT_MAX;
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Item, Query, Transacted, Value, Write};

use super::bulk::CheckedUpload;
use super::change::{check_live, refused};
use super::item::{is_live, not_live, too_many};
use crate::bounds::{TEST_CASES_MAX, TRANSACTION_BYTES_MAX};
use crate::error::{Error, Result};
use crate::ids::{IdempotencyKey, ProblemRef, TestCaseId};
use crate::item::COUNT;
use crate::keys;
use crate::practice::Practice;
use crate::problems::item::{STATE, is_deleted};
use crate::spill::Fitted;
use crate::update::REVISION;
use weir_table::expr::attr;

/// The result of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uploaded {
    /// Test cases that were added.
    pub added: usize,
    /// Test cases that an earlier attempt of the same upload had added.
    pub unchanged: usize,
}

/// The attribute with the digest of an upload.
const DIGEST: &str = "hash";
/// Writes of a batch beside its test cases: the check of the problem, the counter and the audit event.
const OTHER_WRITES: usize = 3;

/// Test cases for one transaction.
#[derive(Default)]
struct Batch {
    cases: Vec<Fitted>,
    writes: usize,
    bytes: usize,
}

impl Batch {
    fn has_room(&self, case: &Fitted) -> bool {
        let writes = self.writes + 1 + case.objects().len();
        writes + OTHER_WRITES <= TRANSACT_MAX
            && self.bytes + case.item.size() <= TRANSACTION_BYTES_MAX
    }

    fn push(&mut self, case: Fitted) {
        self.writes += 1 + case.objects().len();
        self.bytes += case.item.size();
        self.cases.push(case);
    }
}

impl<B: Backend> Practice<B> {
    /// Stores the test cases of an upload. The same upload again changes nothing: one with the same key, or without a key
    /// one with the same content.
    ///
    /// # Errors
    /// The problem is missing, deleted or cannot have so many test cases, the key was used for other content, or the store
    /// fails; then the call can be repeated.
    pub async fn upload_test_cases(
        &self,
        problem: &ProblemRef,
        mut upload: CheckedUpload,
        key: Option<&IdempotencyKey>,
        actor: &str,
    ) -> Result<Uploaded> {
        let prefix = upload_prefix(&upload, key);
        let head = self.live_problem(problem).await?;
        let existing = self.uploaded_ids(problem, &prefix).await?;
        let missing = upload.count().saturating_sub(existing.len());
        self.check_room(problem, missing).await?;
        if key.is_some() {
            self.claim_upload(problem, &head, &prefix, &upload).await?;
        }
        let detail = format!("uploaded {} test cases as {prefix}", upload.count());
        let mut audit = Some(self.test_case_event(problem, actor, detail, self.now_ms())?);
        let (mut batch, mut added) = (Batch::default(), 0);
        for number in 0..upload.count() {
            let id = TestCaseId::new(format!("{prefix}-{number:05}"))?;
            if existing.contains(&id) {
                continue;
            }
            let new = upload.read(number)?;
            let case = self.test_case_item(problem, &id, new, self.now_ms()).await?;
            if !batch.has_room(&case) {
                let full = std::mem::take(&mut batch);
                added += self.store_batch(problem, &head, full, &mut audit).await?;
            }
            batch.push(case);
        }
        added += self.store_batch(problem, &head, batch, &mut audit).await?;
        Ok(Uploaded { added, unchanged: upload.count().saturating_sub(added) })
    }

    /// Notes which content an upload with a key has; another content under this key is refused.
    async fn claim_upload(
        &self,
        problem: &ProblemRef,
        head: &Item,
        prefix: &str,
        upload: &CheckedUpload,
    ) -> Result<()> {
        let digest = Value::B(upload.digest().to_vec());
        let record = keys::item(keys::upload(problem, prefix)).with(DIGEST, digest.clone());
        let is_same = attr("PK").absent().or(attr(DIGEST).eq(digest));
        let put = Write::put(self.table().clone(), record).when(is_same);
        match self.transact(vec![self.same_problem(problem, head), put]).await? {
            Transacted::Applied => Ok(()),
            Transacted::Refused(verdicts) => {
                check_live(problem, &verdicts)?;
                Err(Error::conflict("idempotency_key: it was used for another upload"))
            }
        }
    }

    /// Stores a batch, without what the same upload stores at the same time.
    async fn store_batch(
        &self,
        problem: &ProblemRef,
        head: &Item,
        batch: Batch,
        audit: &mut Option<Write>,
    ) -> Result<usize> {
        let (mut cases, mut done) = (batch.cases, Vec::new());
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            if cases.is_empty() {
                break;
            }
            let mut writes = vec![self.same_problem(problem, head)];
            writes.push(self.count_added(problem, cases.len()));
            for case in &cases {
                let put = Write::put(self.table().clone(), case.item.clone());
                writes.push(put.when(attr("PK").absent()));
            }
            writes.extend(cases.iter().flat_map(|case| case.unmark(self.table())));
            writes.extend(audit.clone());
            let verdicts = match self.transact(writes).await? {
                Transacted::Applied => {
                    *audit = None;
                    self.discard_all(&done).await;
                    return Ok(cases.len());
                }
                Transacted::Refused(verdicts) => verdicts,
            };
            let before = cases.len();
            let exists = self.existing_of(&cases).await?;
            let (old, new) = cases.into_iter().partition(|case| exists.contains(&sort_of(case)));
            (done, cases) = (done.into_iter().chain::<Vec<Fitted>>(old).collect(), new);
            if cases.len() == before {
                self.discard_all(&cases).await;
                check_live(problem, &verdicts)?;
                return Err(refused(problem, &verdicts, before));
            }
        }
        self.discard_all(&done).await;
        self.discard_all(&cases).await;
        if cases.is_empty() { Ok(0) } else { Err(Error::Contended) }
    }

    async fn discard_all(&self, cases: &[Fitted]) {
        for case in cases {
            self.discard(case.objects()).await;
        }
    }

    async fn existing_of(&self, cases: &[Fitted]) -> Result<BTreeSet<String>> {
        let found = self.items(cases.iter().filter_map(|case| keys::key_of(&case.item)).collect());
        let sort = |item: &Item| item.s("SK").map(str::to_owned);
        Ok(found.await?.iter().filter_map(sort).collect())
    }

    /// The problem, if it may be changed.
    async fn live_problem(&self, problem: &ProblemRef) -> Result<Item> {
        let found = self.item(keys::problem(problem)).await?;
        match found {
            Some(item) if item.get(STATE).is_none() && !is_deleted(&item) => Ok(item),
            found => Err(not_live(problem, found.as_ref())),
        }
    }

    /// Requires the problem that the upload began with; another one may have its key by now.
    fn same_problem(&self, problem: &ProblemRef, head: &Item) -> Write {
        let same = match head.get(REVISION) {
            Some(revision) => attr(REVISION).eq(revision.clone()),
            None => attr(REVISION).absent(),
        };
        Write::check(self.table().clone(), keys::problem(problem), is_live().and(same))
    }

    /// Refuses an upload that cannot fit before its first batch is stored.
    async fn check_room(&self, problem: &ProblemRef, added: usize) -> Result<()> {
        let counter = self.item(keys::test_case_count(problem)).await?;
        let count = counter.as_ref().and_then(|item| item.i64(COUNT)).unwrap_or_default();
        let room = TEST_CASES_MAX.saturating_sub(usize::try_from(count).unwrap_or_default());
        if added > room { Err(too_many(problem, counter.as_ref(), added)) } else { Ok(()) }
    }

    /// The ids of an upload that are stored already.
    async fn uploaded_ids(
        &self,
        problem: &ProblemRef,
        prefix: &str,
    ) -> Result<BTreeSet<TestCaseId>> {
        let first = TestCaseId::new(format!("{prefix}-"))?;
        let sort = keys::test_case(problem, &first).sort;
        let query = Query::partition(self.table().clone(), keys::problem_partition(problem));
        let mut query = query.project(["PK", "SK"]);
        if let Some(sort) = sort {
            query = query.begins_with(sort);
        }
        let mut ids = BTreeSet::new();
        loop {
            let page = self.store().query(&query).await?;
            let id = |item: &Item| item.s("SK").and_then(keys::parse_test_case);
            ids.extend(page.items.iter().filter_map(id));
            match page.cursor {
                Some(cursor) => query = query.after(cursor),
                None => return Ok(ids),
            }
        }
    }
}

fn sort_of(case: &Fitted) -> String {
    case.item.s("SK").unwrap_or_default().to_owned()
}

/// What the ids of an upload begin with.
fn upload_prefix(upload: &CheckedUpload, key: Option<&IdempotencyKey>) -> String {
    let digest = match key {
        Some(key) => Sha256::digest(key.as_str()).to_vec(),
        None => upload.digest().to_vec(),
    };
    let kind = if key.is_some() { "k" } else { "u" };
    digest.iter().take(16).fold(kind.to_owned(), |text, byte| format!("{text}{byte:02x}"))
}
