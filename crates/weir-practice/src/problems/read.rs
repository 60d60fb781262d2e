//! Reads problems: one, one with its test cases, and pages of lists.

use weir_table::retry::{Listed, TRIES_MAX, pause};
use weir_table::{Backend, Get, Item};

use super::item::{decode_summary, is_whole, summary_paths};
use super::{Problem, ProblemSummary};
use crate::bounds::PROBLEM_PAGES_MAX;
use crate::error::{Error, Result};
use crate::ids::{Platform, ProblemRef, Tag};
use crate::keys::{self, List, META};
use crate::kinds::ProblemStatus;
use crate::list::PageRequest;
use crate::practice::Practice;
use crate::test_cases::{TestCase, TestCaseAccess, TextBudget};

/// Which problems to list. Deleted ones are listed only by their status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProblemFilter {
    /// Only problems in this status.
    pub status: Option<ProblemStatus>,
    /// Only problems of this platform.
    pub platform: Option<Platform>,
    /// Only problems with this tag.
    pub tag: Option<Tag>,
}

impl ProblemFilter {
    /// The list to read: that with the fewest members in general. Deleted problems are in one list only.
    fn list(&self) -> List {
        match self {
            ProblemFilter { status: Some(ProblemStatus::Deleted), .. } => {
                List::ProblemsOfStatus(ProblemStatus::Deleted)
            }
            ProblemFilter { tag: Some(tag), .. } => List::ProblemsWithTag(tag.clone()),
            ProblemFilter { platform: Some(platform), .. } => {
                List::ProblemsOfPlatform(platform.clone())
            }
            ProblemFilter { status: Some(status), .. } => List::ProblemsOfStatus(*status),
            _ => List::Problems,
        }
    }

    /// Whether a problem is listed. The index may lag, so this checks everything.
    fn matches(&self, problem: &ProblemSummary) -> bool {
        let status = match self.status {
            Some(status) => problem.statuses().contains(&status),
            None => problem.deletion.is_none(),
        };
        status
            && self.platform.as_ref().is_none_or(|platform| *platform == problem.at.platform)
            && self.tag.as_ref().is_none_or(|tag| problem.tags.contains(tag))
    }
}

/// A problem with its test cases.
#[derive(Debug, Clone, PartialEq)]
pub struct ProblemWithTestCases {
    /// The problem.
    pub problem: Problem,
    /// Test cases of the problem, by id.
    pub test_cases: Vec<TestCase>,
    /// Cursor for [`Practice::test_cases`], if all of them together are too large for a response.
    pub cursor: Option<String>,
}

impl<B: Backend> Practice<B> {
    /// A problem, deleted or not.
    ///
    /// # Errors
    /// The problem is missing, or the store fails.
    pub async fn problem(&self, at: &ProblemRef) -> Result<Problem> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let found = self.item(keys::problem(at)).await?.filter(is_whole);
            let found = found.ok_or_else(|| Error::not_found("problem", at))?;
            if let Some(problem) = self.read_problem(&found).await? {
                return Ok(problem);
            }
        }
        Err(Error::damaged(format!("the problem {at}"), "an object with its text is missing"))
    }

    /// A problem without its large texts, deleted or not.
    ///
    /// # Errors
    /// The problem is missing, or the store fails.
    pub async fn problem_summary(&self, at: &ProblemRef) -> Result<ProblemSummary> {
        let get = Get::new(self.table().clone(), keys::problem(at)).project(summary_paths());
        let found = self.store().get(&get).await?.filter(is_whole);
        decode_summary(&found.ok_or_else(|| Error::not_found("problem", at))?)
    }

    /// A problem with its test cases, deleted or not: one query for each MiB that is stored, at most
    /// [`PROBLEM_PAGES_MAX`]. Texts of about 8 MiB are returned at once; the cursor continues.
    ///
    /// # Errors
    /// The problem is missing, or the store fails.
    pub async fn problem_with_test_cases(
        &self,
        at: &ProblemRef,
        access: TestCaseAccess,
    ) -> Result<ProblemWithTestCases> {
        let mut query = self.problem_query(at);
        let (mut head, mut test_cases, mut texts) = (None, Vec::new(), TextBudget::default());
        let mut pages = 0;
        let cursor = loop {
            let page = self.store().query(&query).await?;
            pages += 1;
            let is_head = |item: &&Item| item.s("SK") == Some(META) && is_whole(item);
            head = head.or_else(|| page.items.iter().find(is_head).cloned());
            if head.is_none() {
                return Err(Error::not_found("problem", at));
            }
            let (cases, last) = self.read_test_cases(&page.items, access, &mut texts).await?;
            test_cases.extend(cases);
            match (page.cursor, last) {
                (_, Some(last)) => {
                    break Some(self.store().cursor_after(&self.problem_query(at), last).await?);
                }
                (Some(cursor), None) if pages < PROBLEM_PAGES_MAX => query = query.after(cursor),
                (cursor, None) => break cursor,
            }
        };
        let read = match &head {
            Some(head) => self.read_problem(head).await?,
            None => None,
        };
        let problem = match read {
            Some(problem) => problem,
            None => self.problem(at).await?,
        };
        Ok(ProblemWithTestCases { problem, test_cases, cursor })
    }

    /// A page of problems, newest first, without their large texts. A page may be short while there are more.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn problems(
        &self,
        filter: &ProblemFilter,
        page: &PageRequest,
    ) -> Result<Listed<ProblemSummary>> {
        let found = self.members_with(&filter.list(), page, &summary_paths()).await?;
        let whole = found.items.iter().filter(|item| is_whole(item));
        let read = |item: &Item| decode_summary(item).ok().filter(|one| filter.matches(one));
        Ok(Listed { items: whole.filter_map(read).collect(), cursor: found.cursor })
    }
}
