//! Problems: what they are, which lists they are in, and how they end.
//!
//! A problem is the item `META` of its partition. Beside it are small items that put it into lists, its test cases and their
//! counter. Every change is one transaction on condition of the version that was read, with the entries of all lists that the
//! change moves the problem between; so lists and item never disagree.
//!
//! Read next: [`create_problem`](crate::Practice::create_problem), `change.rs` for updates, and `purge.rs` for the end.

mod change;
mod check;
mod create;
mod entries;
mod import;
pub(crate) mod item;
mod keys;
mod purge;
mod read;
mod view;

use serde_json::Value as Json;
use weir_table::Write;

pub use self::change::ProblemPatch;
pub use self::purge::PurgeReport;
pub use self::read::{ProblemFilter, ProblemWithTestCases};
pub use self::view::Viewer;
use crate::ids::{ProblemRef, Tag, UserId};
use crate::kinds::ProblemStatus;
use crate::test_cases::NewTestCase;

/// A problem about to be created.
#[derive(Debug, Clone, PartialEq)]
pub struct NewProblem {
    /// Platform and id.
    pub at: ProblemRef,
    /// Title.
    pub title: String,
    /// Address of the problem on its platform.
    pub url: Option<String>,
    /// Tags.
    pub tags: Vec<Tag>,
    /// Code that solves the problem.
    pub solution_code: Option<String>,
    /// Language of the solution.
    pub language: Option<String>,
    /// Constraints of the input.
    pub constraints: Option<String>,
    /// Further fields of the client: an object.
    pub metadata: Json,
    /// Whether the problem is published at once.
    pub is_published: bool,
    /// Test cases, stored with the problem or not at all.
    pub test_cases: Vec<NewTestCase>,
}

impl NewProblem {
    /// A problem with only what every problem has.
    #[must_use]
    pub fn new(at: ProblemRef, title: impl Into<String>) -> NewProblem {
        NewProblem {
            at,
            title: title.into(),
            url: None,
            tags: Vec::new(),
            solution_code: None,
            language: None,
            constraints: None,
            metadata: Json::Object(serde_json::Map::new()),
            is_published: false,
            test_cases: Vec::new(),
        }
    }
}

/// The user who registers a problem, with what the plan of the user requires.
#[derive(Debug, Clone)]
pub struct Registrar {
    /// The user.
    pub user: UserId,
    /// Writes and checks for the transaction that creates the problem, such as the count of the user's problems. They name
    /// no item of the problem. If one is refused, the request is forbidden.
    pub writes: Vec<Write>,
}

/// A problem without its large texts.
#[derive(Debug, Clone, PartialEq)]
pub struct ProblemSummary {
    /// Platform and id.
    pub at: ProblemRef,
    /// Title.
    pub title: String,
    /// Address of the problem on its platform.
    pub url: Option<String>,
    /// Tags.
    pub tags: Vec<Tag>,
    /// Language of the solution.
    pub language: Option<String>,
    /// Whether the problem is published.
    pub is_published: bool,
    /// Why and when the problem was deleted, if it is.
    pub deletion: Option<Deletion>,
    /// Whether the problem needs a review.
    pub needs_review: bool,
    /// Notes for the review.
    pub review_notes: Option<String>,
    /// Whether an administrator has verified the problem.
    pub is_verified: bool,
    /// When the problem was last verified, in seconds since 1970.
    pub reviewed_at_s: Option<i64>,
    /// Further fields of the client: an object.
    pub metadata: Json,
    /// The user who registered the problem.
    pub registered_by: Option<UserId>,
    /// When the problem was created, in seconds since 1970.
    pub created_s: i64,
    /// When the problem was last changed, in seconds since 1970.
    pub updated_s: i64,
    /// Number that every change raises.
    pub version: u64,
}

/// A soft deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// When the problem was deleted, in seconds since 1970.
    pub at_s: i64,
    /// Why.
    pub reason: Option<String>,
}

/// A problem with its large texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Everything but the large texts.
    pub summary: ProblemSummary,
    /// Code that solves the problem.
    pub solution_code: Option<String>,
    /// Constraints of the input.
    pub constraints: Option<String>,
}

impl ProblemSummary {
    /// The statuses that the problem is listed in.
    #[must_use]
    pub fn statuses(&self) -> Vec<ProblemStatus> {
        if self.deletion.is_some() {
            return vec![ProblemStatus::Deleted];
        }
        let published =
            if self.is_published { ProblemStatus::Published } else { ProblemStatus::Draft };
        let review = self.needs_review.then_some(ProblemStatus::NeedsReview);
        let verified = self.is_verified.then_some(ProblemStatus::Verified);
        [Some(published), review, verified].into_iter().flatten().collect()
    }
}
