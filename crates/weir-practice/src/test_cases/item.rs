//! The item of a test case, and the writes that are common to its changes.

use weir_table::expr::{Condition, add, attr};
use weir_table::{Backend, Item, Write};

use super::{NewTestCase, TestCase};
use crate::bounds::TEST_CASES_MAX;
use crate::error::{Error, Result};
use crate::fields::Fields;
use crate::ids::{ProblemRef, TestCaseId};
use crate::item::{COUNT, Data, VERSION, data, entity, secs};
use crate::keys;
use crate::kinds::EntityType;
use crate::objects::ObjectOwner;
use crate::practice::Practice;
use crate::problems::item::{DELETED, STATE};
use crate::spill::Fitted;

const INPUT: &str = "inp";
const OUTPUT: &str = "out";
const SAMPLE: &str = "smp";

/// The fields that may be in objects.
pub(crate) const TEXTS: &[&str] = &[INPUT, OUTPUT];

/// The condition that a problem is there and not deleted.
pub(crate) fn is_live() -> Condition {
    let is_whole = attr("PK").exists().and(attr(STATE).absent());
    is_whole.and(data(DELETED).ne(true))
}

impl<B: Backend> Practice<B> {
    /// The item of a test case; large texts are in objects.
    pub(crate) async fn test_case_item(
        &self,
        problem: &ProblemRef,
        id: &TestCaseId,
        new: NewTestCase,
        now_ms: i64,
    ) -> Result<Fitted> {
        let fields = Data::new()
            .with(INPUT, self.encode_text("input", new.input).await?)
            .with(OUTPUT, self.encode_text("output", new.output).await?)
            .with(SAMPLE, new.is_sample);
        let key = keys::test_case(problem, id);
        let item = entity(key, EntityType::TestCase, fields, secs(now_ms)).with(VERSION, 1);
        let owner = ObjectOwner::TestCase(problem.clone(), id.clone());
        self.fit(item, &owner, TEXTS).await
    }

    /// Counts new test cases, if the problem may have so many.
    pub(crate) fn count_added(&self, problem: &ProblemRef, count: usize) -> Write {
        let most = i64::try_from(TEST_CASES_MAX.saturating_sub(count)).unwrap_or(i64::MAX);
        let fits = attr(COUNT).absent().or(attr(COUNT).le(most));
        let update = add(COUNT, i64::try_from(count).unwrap_or(i64::MAX)).add(VERSION, 1);
        let update = update.set(crate::item::TYPE, EntityType::Counter.as_str());
        Write::update(self.table().clone(), keys::test_case_count(problem), update).when(fits)
    }

    /// Counts a deleted test case. One that another program wrote may never have been counted.
    pub(crate) fn count_deleted(&self, problem: &ProblemRef) -> Write {
        let update = add(COUNT, -1).add(VERSION, 1);
        let key = keys::test_case_count(problem);
        Write::update(self.table().clone(), key, update).when(attr(COUNT).ge(1))
    }

    /// Reads a test case with its texts; `None` if it has changed since its item was read.
    pub(crate) async fn read_test_case(&self, item: &Item) -> Result<Option<TestCase>> {
        let fields = Fields::of(item)?;
        let id = item.s("SK").and_then(keys::parse_test_case);
        let (Some(input), Some(output)) =
            (self.read_text(item, INPUT).await?, self.read_text(item, OUTPUT).await?)
        else {
            return Ok(None);
        };
        Ok(Some(TestCase {
            id: id.ok_or_else(|| fields.wrong("SK"))?,
            input,
            output,
            is_sample: is_sample(item),
            created_s: fields.created_s()?,
            updated_s: fields.updated_s()?,
        }))
    }
}

/// Whether an item is that of a sample; those of other programs are hidden.
pub(crate) fn is_sample(item: &Item) -> bool {
    Fields::of(item).is_ok_and(|fields| fields.flag(SAMPLE))
}

/// The error of a problem that may not be changed.
pub(crate) fn not_live(problem: &ProblemRef, item: Option<&Item>) -> Error {
    match item {
        Some(item) if item.get(STATE).is_none() => {
            Error::conflict(format!("the problem {problem} is deleted; restore it first"))
        }
        _ => Error::not_found("problem", problem),
    }
}

/// The error of a problem with too many test cases.
pub(crate) fn too_many(problem: &ProblemRef, counter: Option<&Item>, added: usize) -> Error {
    let count = counter.and_then(|item| item.i64(COUNT)).unwrap_or_default();
    let problem = format!(
        "the problem {problem} has {count}, and {added} more are too many; at most {TEST_CASES_MAX} \
         are allowed"
    );
    Error::too_large("test_cases", problem)
}
