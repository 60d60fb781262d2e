//! How far the models of one review agree.

use std::collections::{BTreeMap, BTreeSet};

use super::pair_day::{Pair, PairCounts};
use crate::finding::Finding;
use crate::ids::{Category, FindingId, ModelId};
use crate::review::{RecordedReview, Response, ResponseStatus};

/// The consensus groups of each finding.
pub(super) struct Groups<'a>(BTreeMap<(&'a ModelId, &'a FindingId), BTreeSet<usize>>);

impl<'a> Groups<'a> {
    pub(super) fn new(recorded: &'a RecordedReview) -> Groups<'a> {
        let mut groups = BTreeMap::<_, BTreeSet<usize>>::new();
        for (number, consensus) in recorded.consensus.iter().enumerate() {
            for member in &consensus.members {
                groups.entry((&member.model, &member.finding)).or_default().insert(number);
            }
        }
        Groups(groups)
    }

    pub(super) fn of(&self, finding: &'a Finding) -> &BTreeSet<usize> {
        const NONE: &BTreeSet<usize> = &BTreeSet::new();
        self.0.get(&(&finding.model, &finding.id)).unwrap_or(NONE)
    }
}

/// A unit of Cohen's κ: a listed file, and a category that a model reported in the review.
type Unit<'a> = (&'a str, Option<&'a Category>);

/// The findings of a model that responded, as pairs compare them.
struct Opinion<'a> {
    model: &'a ModelId,
    /// The groups of each of its findings.
    findings: Vec<&'a BTreeSet<usize>>,
    groups: BTreeSet<usize>,
    /// Units in which it has findings.
    units: BTreeSet<Unit<'a>>,
}

/// How far the models that responded agree, pair by pair.
pub(super) fn pairs_of<'a>(
    recorded: &'a RecordedReview,
    groups: &Groups<'a>,
) -> BTreeMap<Pair, PairCounts> {
    let files: BTreeSet<&str> =
        recorded.review.pull_request.files.iter().map(String::as_str).collect();
    let categories: BTreeSet<_> =
        recorded.findings.iter().map(|found| found.finding.category.as_ref()).collect();
    let units = files.len() as u64 * categories.len() as u64;
    let has_responded = |response: &&Response| response.status == ResponseStatus::Success;
    let responded = recorded.responses.iter().filter(has_responded);
    let mut opinions: Vec<Opinion<'_>> =
        responded.map(|response| opinion_of(&response.model, recorded, groups, &files)).collect();
    opinions.sort_by_key(|opinion| opinion.model);
    let mut pairs = BTreeMap::new();
    for (place, first) in opinions.iter().enumerate() {
        for second in opinions.iter().skip(place + 1) {
            if let Some(pair) = Pair::new(first.model, second.model) {
                pairs.insert(pair, agreement(first, second, units));
            }
        }
    }
    pairs
}

fn opinion_of<'a, 'b: 'a>(
    model: &'b ModelId,
    recorded: &'b RecordedReview,
    groups: &'a Groups<'b>,
    files: &BTreeSet<&str>,
) -> Opinion<'a> {
    let own = || {
        recorded
            .findings
            .iter()
            .map(|found| &found.finding)
            .filter(|finding| finding.model == *model)
    };
    let findings: Vec<_> = own().map(|finding| groups.of(finding)).collect();
    let listed = own().filter(|finding| files.contains(finding.file_path.as_str()));
    Opinion {
        model,
        groups: findings.iter().flat_map(|groups| groups.iter().copied()).collect(),
        findings,
        units: listed
            .map(|finding| (finding.file_path.as_str(), finding.category.as_ref()))
            .collect(),
    }
}

fn agreement(first: &Opinion<'_>, second: &Opinion<'_>, units: u64) -> PairCounts {
    let shared: BTreeSet<usize> = first.groups.intersection(&second.groups).copied().collect();
    let others = |opinion: &Opinion<'_>| {
        opinion.findings.iter().filter(|groups| groups.is_disjoint(&shared)).count() as u64
    };
    let both = first.units.intersection(&second.units).count() as u64;
    let only = |opinion: &Opinion<'_>| opinion.units.len() as u64 - both;
    let any = both + only(first) + only(second);
    PairCounts {
        reviews: 1,
        shared: shared.len() as u64,
        only_first: others(first),
        only_second: others(second),
        units_both: both,
        units_first: only(first),
        units_second: only(second),
        units_neither: units.saturating_sub(any),
    }
}
