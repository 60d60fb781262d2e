//! Recorded runs: what a user tried, how it went, and which hints were given.
//!
//! A run is one item, which carries its entries in the history of its user (GSI1) and, while it is public, in the feed
//! (GSI2). So a change of its visibility is one write, and feed and run never disagree. Its code and long results are
//! compressed, and in objects when they do not fit.

mod change;
mod feed;
mod import;
mod item;
mod read;
mod record;

use serde_json::Value as Json;

pub use self::record::RecordedRun;
use crate::ids::{HistoryId, IdempotencyKey, Platform, UserId};

/// A run about to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// Id that the client made, so that a repeat records nothing; `None` for a new one.
    pub id: Option<HistoryId>,
    /// Key with which the client repeats the request, instead of an id.
    pub idempotency_key: Option<IdempotencyKey>,
    /// The user; `None` if nobody was signed in.
    pub user_id: Option<UserId>,
    /// How the user is shown to others.
    pub user_identifier: Option<String>,
    /// Id of the problem in the client's database.
    pub problem_id: Option<String>,
    /// Platform of the problem.
    pub platform: Platform,
    /// Id of the problem on its platform.
    pub problem_number: String,
    /// Title of the problem.
    pub problem_title: Option<String>,
    /// Language of the code.
    pub language: Option<String>,
    /// The code.
    pub code: String,
    /// Summary of the results: an object.
    pub result_summary: Json,
    /// Test cases that passed.
    pub passed_count: u32,
    /// Test cases that failed.
    pub failed_count: u32,
    /// Test cases in all.
    pub total_count: u32,
    /// Whether the run is in the public feed.
    pub is_public: bool,
    /// Results of the test cases: a list.
    pub test_results: Json,
    /// Hints that were given.
    pub hints: Vec<String>,
    /// Further fields of the client: an object.
    pub metadata: Json,
}

impl NewRun {
    /// A run with only what every run has.
    #[must_use]
    pub fn new(platform: Platform, problem_number: impl Into<String>, code: String) -> NewRun {
        let object = || Json::Object(serde_json::Map::new());
        NewRun {
            id: None,
            idempotency_key: None,
            user_id: None,
            user_identifier: None,
            problem_id: None,
            platform,
            problem_number: problem_number.into(),
            problem_title: None,
            language: None,
            code,
            result_summary: object(),
            passed_count: 0,
            failed_count: 0,
            total_count: 0,
            is_public: false,
            test_results: Json::Array(Vec::new()),
            hints: Vec::new(),
            metadata: object(),
        }
    }
}

/// A run without its code and the results of its test cases.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// The id.
    pub id: HistoryId,
    /// The user; `None` if nobody was signed in.
    pub user_id: Option<UserId>,
    /// How the user is shown to others.
    pub user_identifier: Option<String>,
    /// Id of the problem in the client's database.
    pub problem_id: Option<String>,
    /// Platform of the problem.
    pub platform: Option<String>,
    /// Id of the problem on its platform.
    pub problem_number: Option<String>,
    /// Title of the problem.
    pub problem_title: Option<String>,
    /// Language of the code.
    pub language: Option<String>,
    /// Summary of the results: an object.
    pub result_summary: Json,
    /// Test cases that passed.
    pub passed_count: i64,
    /// Test cases that failed.
    pub failed_count: i64,
    /// Test cases in all.
    pub total_count: i64,
    /// Whether the run is in the public feed.
    pub is_public: bool,
    /// Hints that were given.
    pub hints: Vec<String>,
    /// Further fields of the client: an object.
    pub metadata: Json,
    /// When the run was recorded, in seconds since 1970.
    pub created_s: i64,
    /// When the run was last changed, in seconds since 1970.
    pub updated_s: i64,
}

/// A run with its code and the results of its test cases.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Everything but the large texts.
    pub summary: RunSummary,
    /// The code.
    pub code: String,
    /// Results of the test cases: a list.
    pub test_results: Json,
}
