//! The pairs of findings that are worth a comparison.
//!
//! Usually all that may match. A model that reports hundreds of findings on the same lines would make that a million pairs;
//! because a group takes one finding of a model, every finding chooses the few of each model that look most like it, and
//! those that choose each other are compared.

use std::ops::Range;

use super::compare::Comparison;
use crate::bounds::COMPARED_PER_MODEL_MAX;

/// The pairs of findings of a file that are compared, the lower position first.
pub(super) fn pairs(comparison: &Comparison<'_>, file: Range<usize>) -> Vec<(usize, usize)> {
    let models = models(comparison, file.clone());
    let mut pairs = Vec::new();
    for own in &models {
        for at in own.clone() {
            for other in models.iter().filter(|other| *other != own) {
                let chosen = most_alike(comparison, at, other.clone());
                pairs.extend(chosen.into_iter().map(|other| (at.min(other), at.max(other))));
            }
        }
    }
    pairs.sort_unstable();
    // A pair is there twice if both findings chose each other.
    pairs
        .chunk_by(|a, b| a == b)
        .filter(|same| same.len() == 2)
        .flat_map(<[_]>::first)
        .copied()
        .collect()
}

/// The positions of the findings of each model.
fn models(comparison: &Comparison<'_>, file: Range<usize>) -> Vec<Range<usize>> {
    let findings = comparison.findings().get(file.clone()).unwrap_or_default();
    let mut start = file.start;
    let ranges = findings.chunk_by(|a, b| a.model == b.model).map(|model| {
        let range = start..start + model.len();
        start = range.end;
        range
    });
    ranges.collect()
}

/// The findings among `others` that look most like the one `at`; the first of equals.
fn most_alike(comparison: &Comparison<'_>, at: usize, others: Range<usize>) -> Vec<usize> {
    let mut best: Vec<(u32, usize)> = Vec::new();
    let Some(finding) = comparison.findings().get(at) else { return Vec::new() };
    let candidates = comparison.findings().get(others.clone()).unwrap_or_default();
    for (other, candidate) in others.zip(candidates) {
        if !comparison.may_match(finding, candidate) {
            continue;
        }
        let overlap = comparison.rough_overlap(at, other);
        let is_full = best.len() == COMPARED_PER_MODEL_MAX;
        if is_full && best.last().is_some_and(|(worst, _)| *worst >= overlap) {
            continue;
        }
        best.truncate(COMPARED_PER_MODEL_MAX - 1);
        let place = best.partition_point(|(better, _)| *better >= overlap);
        best.insert(place, (overlap, other));
    }
    best.into_iter().map(|(_, other)| other).collect()
}
