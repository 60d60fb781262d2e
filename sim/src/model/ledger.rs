//! What was submitted, and what it sums to.

use std::collections::BTreeMap;

use weir_keeper::day::OrgDay;
use weir_keeper::ids::{AppId, Label, OrgId, RequestId, Scope};
use weir_keeper::submit::Submission;

/// The org, the app and the request id of a submission.
pub type SubmissionId = (OrgId, AppId, RequestId);

/// A model of a scope on a day.
pub type TotalId = (Scope, Label, OrgDay);

/// Spend and usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    /// Spend, in micro-USD.
    pub cost: u128,
    /// Input tokens.
    pub input: u128,
    /// Number of submissions.
    pub requests: u128,
}

impl Sum {
    /// The sum with one more submission.
    pub fn add(&mut self, submission: &Submission) {
        self.cost += u128::from(submission.stated_cost.unwrap_or_default().0);
        self.input += u128::from(submission.tokens.input);
        self.requests += 1;
    }

    /// The sum of both.
    pub fn add_all(&mut self, other: Sum) {
        self.cost += other.cost;
        self.input += other.input;
        self.requests += other.requests;
    }
}

/// Everything that was counted.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Submissions that were counted, as they were.
    pub counted: BTreeMap<SubmissionId, Submission>,
    /// Their sums.
    pub sums: BTreeMap<TotalId, Sum>,
}

impl Ledger {
    /// The sum of a total.
    #[must_use]
    pub fn sum(&self, id: &TotalId) -> Sum {
        self.sums.get(id).copied().unwrap_or_default()
    }
}

/// Whether two submissions report the same call: all but the time of the report.
#[must_use]
pub fn is_same_call(one: &Submission, two: &Submission) -> bool {
    *one == Submission { at_ms: one.at_ms, ..two.clone() }
}
