//! Counts of findings.

use serde::{Deserialize, Serialize};

/// Findings, and what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "[u64; 4]", into = "[u64; 4]")]
pub struct FindingCounts {
    /// Findings.
    pub findings: u64,
    /// Findings that other models made too.
    pub in_consensus: u64,
    /// Findings that a person accepted.
    pub accepted: u64,
    /// Findings that a person dismissed.
    pub dismissed: u64,
}

impl FindingCounts {
    /// Findings that no other model made.
    #[must_use]
    pub fn only_it(&self) -> u64 {
        self.findings.saturating_sub(self.in_consensus)
    }

    /// Findings that a person accepted or dismissed.
    #[must_use]
    pub fn judged(&self) -> u64 {
        self.accepted.saturating_add(self.dismissed)
    }

    /// Counts that a finding is accepted or dismissed, which it may have been before.
    pub(super) fn judge(&mut self, before: Option<bool>, accepted: bool) {
        if let Some(before) = before {
            let count = self.judged_as(before);
            *count = count.saturating_sub(1);
        }
        let count = self.judged_as(accepted);
        *count = count.saturating_add(1);
    }

    fn judged_as(&mut self, accepted: bool) -> &mut u64 {
        if accepted { &mut self.accepted } else { &mut self.dismissed }
    }

    /// Adds the counts of another counts.
    pub fn merge(&mut self, other: &FindingCounts) {
        let (ours, theirs) = (<[u64; 4]>::from(*self), <[u64; 4]>::from(*other));
        let mut sums = ours.into_iter().zip(theirs).map(|(a, b)| a.saturating_add(b));
        *self = FindingCounts::from(std::array::from_fn(|_| sums.next().unwrap_or_default()));
    }
}

impl From<[u64; 4]> for FindingCounts {
    fn from([findings, in_consensus, accepted, dismissed]: [u64; 4]) -> FindingCounts {
        FindingCounts { findings, in_consensus, accepted, dismissed }
    }
}

impl From<FindingCounts> for [u64; 4] {
    fn from(counts: FindingCounts) -> [u64; 4] {
        [counts.findings, counts.in_consensus, counts.accepted, counts.dismissed]
    }
}
