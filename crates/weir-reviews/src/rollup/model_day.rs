//! What a model did on a day, as sums that can be added in any order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::finding_counts::FindingCounts;
use super::histogram::Histogram;
use super::summary::Summary;
use crate::bounds::SUM_MAX;
use crate::finding::{Finding, Severity};
use crate::ids::{Category, ModelId};
use crate::money::MicroUsd;

/// The reviews of a model on a day, summed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelDay {
    /// Reviews in which it responded.
    #[serde(rename = "ok")]
    pub successes: u64,
    /// Reviews in which it failed.
    #[serde(rename = "err")]
    pub errors: u64,
    /// Reviews in which it took too long.
    #[serde(rename = "late")]
    pub timeouts: u64,
    /// All its findings.
    #[serde(rename = "all")]
    pub total: FindingCounts,
    /// Findings by severity, in the order of [`Severity::ALL`].
    #[serde(rename = "sev")]
    pub by_severity: [FindingCounts; 5],
    /// Findings by category.
    #[serde(rename = "cat", with = "pairs")]
    pub by_category: BTreeMap<Option<Category>, FindingCounts>,
    /// Findings of categories that are too rare to be counted apart.
    #[serde(rename = "rare", default)]
    pub rare_categories: FindingCounts,
    /// Cost of all its responses.
    #[serde(with = "micros")]
    pub cost: MicroUsd,
    /// Tokens that it read.
    #[serde(rename = "in")]
    pub input_tokens: u64,
    /// Tokens that it wrote.
    #[serde(rename = "out")]
    pub output_tokens: u64,
    /// Latency of its successful responses, in milliseconds: one that fails at once is not fast.
    #[serde(rename = "lat")]
    pub latency_ms: Histogram,
}

impl ModelDay {
    /// The sum of what each of `summaries` says about `model`.
    #[must_use]
    pub fn from_summaries<'a>(
        model: &ModelId,
        summaries: impl IntoIterator<Item = &'a Summary>,
    ) -> ModelDay {
        let mut day = ModelDay::default();
        summaries
            .into_iter()
            .filter_map(|summary| summary.rollup.models.get(model))
            .for_each(|one| day.merge(one));
        day
    }

    /// Adds another day, repository or review.
    pub fn merge(&mut self, other: &ModelDay) {
        self.successes = self.successes.saturating_add(other.successes);
        self.errors = self.errors.saturating_add(other.errors);
        self.timeouts = self.timeouts.saturating_add(other.timeouts);
        self.total.merge(&other.total);
        self.by_severity.iter_mut().zip(&other.by_severity).for_each(|(a, b)| a.merge(b));
        for (category, counts) in &other.by_category {
            self.by_category.entry(category.clone()).or_default().merge(counts);
        }
        self.rare_categories.merge(&other.rare_categories);
        self.cost = self.cost.saturating_add(other.cost);
        self.input_tokens = saturating_sum(self.input_tokens, other.input_tokens);
        self.output_tokens = saturating_sum(self.output_tokens, other.output_tokens);
        self.latency_ms.merge(&other.latency_ms);
    }

    /// Reviews that it took part in.
    #[must_use]
    pub fn reviews(&self) -> u64 {
        self.successes.saturating_add(self.errors).saturating_add(self.timeouts)
    }

    /// Whether a sum stopped at its bound.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        self.cost.is_saturated()
            || self.input_tokens >= SUM_MAX
            || self.output_tokens >= SUM_MAX
            || self.latency_ms.is_saturated()
    }

    /// Counts a finding.
    pub(super) fn count(
        &mut self,
        severity: Severity,
        category: Option<&Category>,
        one: &FindingCounts,
    ) {
        for counts in self.counts(severity, category) {
            counts.merge(one);
        }
    }

    /// Counts that a finding is accepted or dismissed, which it may have been before.
    pub(super) fn judge(&mut self, finding: &Finding, before: Option<bool>, accepted: bool) {
        for counts in self.counts(finding.severity, finding.category.as_ref()) {
            counts.judge(before, accepted);
        }
    }

    /// The counts that count a finding.
    fn counts(
        &mut self,
        severity: Severity,
        category: Option<&Category>,
    ) -> impl Iterator<Item = &mut FindingCounts> {
        let place = Severity::ALL.into_iter().position(|known| known == severity);
        let by_severity = place.and_then(|place| self.by_severity.get_mut(place));
        let by_category = self.by_category.entry(category.cloned()).or_default();
        [&mut self.total, by_category].into_iter().chain(by_severity)
    }

    /// Counts all but the `most` most frequent categories together.
    pub(super) fn fold_categories(&mut self, most: usize) {
        let mut ranked: Vec<_> = std::mem::take(&mut self.by_category).into_iter().collect();
        // The sort is stable, so equally frequent categories stay in alphabetical order.
        ranked.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.findings));
        let rare = ranked.split_off(most.min(ranked.len()));
        rare.iter().for_each(|(_, counts)| self.rare_categories.merge(counts));
        self.by_category = ranked.into_iter().collect();
    }
}

pub(super) fn saturating_sum(a: u64, b: u64) -> u64 {
    a.saturating_add(b).min(SUM_MAX)
}

/// JSON has only texts as keys, and an uncategorised finding has none.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Category, FindingCounts};

    type ByCategory = BTreeMap<Option<Category>, FindingCounts>;

    pub(super) fn serialize<S: Serializer>(map: &ByCategory, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ByCategory, D::Error> {
        Ok(Vec::deserialize(from)?.into_iter().collect())
    }
}

mod micros {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::MicroUsd;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub(super) fn serialize<S: Serializer>(cost: &MicroUsd, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(cost.0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<MicroUsd, D::Error> {
        u64::deserialize(from).map(MicroUsd)
    }
}
