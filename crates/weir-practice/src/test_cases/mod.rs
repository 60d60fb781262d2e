//! Test cases of problems: inputs with expected outputs.
//!
//! A test case is an item beside its problem, below `TC#{id}`. The counter of the problem changes in the same transaction,
//! so the bound of [`TEST_CASES_MAX`](crate::bounds::TEST_CASES_MAX) is exact, and every transaction checks that the problem
//! is there and not deleted. Hidden test cases are returned only with [`TestCaseAccess::All`].

pub mod bulk;
mod change;
mod import;
pub(crate) mod item;
mod read;
mod upload;

pub(crate) use self::read::TextBudget;
pub use self::upload::Uploaded;
use crate::error::Result;
use crate::ids::TestCaseId;
use crate::spill::check_text;

/// A test case about to be stored.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewTestCase {
    /// Input of the program.
    pub input: String,
    /// Expected output.
    pub output: String,
    /// Whether everyone who may view the problem may view the test case; otherwise it is hidden.
    #[serde(default, rename = "sample")]
    pub is_sample: bool,
}

impl NewTestCase {
    /// Checks the sizes of the texts.
    ///
    /// # Errors
    /// A text is larger than [`TEXT_MAX`](crate::bounds::TEXT_MAX).
    pub fn check(&self) -> Result<()> {
        check_text("input", &self.input)?;
        check_text("output", &self.output)
    }

    /// Bytes of the texts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.input.len() + self.output.len()
    }
}

/// A stored test case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCase {
    /// The test case id, unique within its problem.
    pub id: TestCaseId,
    /// Input of the program.
    pub input: String,
    /// Expected output.
    pub output: String,
    /// Whether everyone who may view the problem may view the test case.
    pub is_sample: bool,
    /// When the test case was created, in seconds since 1970.
    pub created_s: i64,
    /// When the test case was last changed, in seconds since 1970.
    pub updated_s: i64,
}

/// Which test cases a caller may view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestCaseAccess {
    /// All of them.
    All,
    /// Only samples.
    Samples,
}

impl TestCaseAccess {
    /// Whether a test case may be viewed.
    #[must_use]
    pub fn allows(self, is_sample: bool) -> bool {
        is_sample || self == TestCaseAccess::All
    }
}
