//! Lists test cases. One query reads the problem and its test cases, which are behind it in its partition.

use weir_table::retry::{Listed, TRIES_MAX, pause};
use weir_table::{Backend, Item, Query, SortRange};

use super::item::is_sample;
use super::{TestCase, TestCaseAccess};
use crate::bounds::PROBLEM_BYTES_MAX;
use crate::error::{Error, Result};
use crate::ids::ProblemRef;
use crate::keys::{self, META};
use crate::list::PageRequest;
use crate::practice::Practice;
use crate::problems::item::is_whole;

/// The bytes of texts that a response may still have.
#[derive(Debug)]
pub(crate) struct TextBudget(usize);

impl Default for TextBudget {
    fn default() -> TextBudget {
        TextBudget(PROBLEM_BYTES_MAX)
    }
}

impl TextBudget {
    fn take(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes);
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.0 == 0
    }
}

impl<B: Backend> Practice<B> {
    /// A page of the test cases of a problem, by id. A page may be short while there are more: it ends when its texts have
    /// [`PROBLEM_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// The problem is missing, the cursor is not of this list, or the store fails.
    pub async fn test_cases(
        &self,
        problem: &ProblemRef,
        access: TestCaseAccess,
        page: &PageRequest,
    ) -> Result<Listed<TestCase>> {
        let query = self.problem_query(problem);
        // The first page has the problem too.
        let limit = page.limit.saturating_add(u32::from(page.cursor.is_none()));
        let found = self.store().page(query, limit, page.cursor.clone()).await?;
        let head = match &page.cursor {
            None => found.items.iter().find(|item| item.s("SK") == Some(META)).cloned(),
            Some(_) => self.item(keys::problem(problem)).await?,
        };
        if !head.is_some_and(|head| is_whole(&head)) {
            return Err(Error::not_found("problem", problem));
        }
        let mut texts = TextBudget::default();
        let (items, last) = self.read_test_cases(&found.items, access, &mut texts).await?;
        let cursor = match last {
            Some(last) => {
                Some(self.store().cursor_after(&self.problem_query(problem), last).await?)
            }
            None => found.cursor,
        };
        Ok(Listed { items, cursor })
    }

    /// The problem, and behind it its test cases.
    pub(crate) fn problem_query(&self, problem: &ProblemRef) -> Query {
        let query = Query::partition(self.table().clone(), keys::problem_partition(problem));
        query.sort(SortRange::Ge(META.into()))
    }

    /// The test cases among items, as far as they may be viewed, until the budget is used up. Then also the last item that
    /// was read. A small item may have large texts, because they are compressed or in objects.
    pub(crate) async fn read_test_cases<'a>(
        &self,
        items: &'a [Item],
        access: TestCaseAccess,
        texts: &mut TextBudget,
    ) -> Result<(Vec<TestCase>, Option<&'a Item>)> {
        let is_case = |item: &&Item| item.s("SK").and_then(keys::parse_test_case).is_some();
        let is_shown = |item: &&Item| access.allows(is_sample(item));
        let mut cases = Vec::new();
        for item in items.iter().filter(is_case).filter(is_shown) {
            let case = self.latest_test_case(item).await?;
            texts.take(case.as_ref().map_or(0, |case| case.input.len() + case.output.len()));
            cases.extend(case);
            if texts.is_used_up() {
                return Ok((cases, Some(item)));
            }
        }
        Ok((cases, None))
    }

    /// Reads a test case; its item again when an object is no longer there. `None` when it was deleted.
    pub(crate) async fn latest_test_case(&self, item: &Item) -> Result<Option<TestCase>> {
        let mut found = item.clone();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            if let Some(case) = self.read_test_case(&found).await? {
                return Ok(Some(case));
            }
            let key =
                keys::key_of(&found).ok_or_else(|| Error::damaged("a test case", "its key"))?;
            match self.item(key).await? {
                Some(item) => found = item,
                None => return Ok(None),
            }
        }
        let key = keys::key_of(item).map_or_else(String::new, |key| key.to_string());
        Err(Error::damaged(format!("the item {key:?}"), "an object with its text is missing"))
    }
}
