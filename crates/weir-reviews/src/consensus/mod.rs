//! Consensus: the issues that several models found.
//!
//! [`find`] is a pure function of the findings and of the models that succeeded:
//! 1. `words` cuts the title and the description of a finding into tokens, and `concepts` adds those that words stand for.
//! 2. `compare` decides which pairs may match (file, lines, model) and scores how alike they are.
//! 3. `candidates` bounds the pairs, and `rivals` lets the findings of a model compete.
//! 4. `groups` joins the most alike groups until no average score reaches the threshold.
//! 5. `merge` makes a [`Consensus`] of every group with two models.
//!
//! All pairs of a group may match, so that a group has one finding of a model and never chains across distant lines. The
//! result does not depend on the order of the findings: they are sorted by file, model and id first.

mod candidates;
mod compare;
mod concepts;
mod groups;
mod merge;
mod options;
mod rivals;
mod sketch;
mod stem;
mod words;

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::ids::ModelId;
use crate::review::Consensus;

use compare::Comparison;

pub use options::{
    CATEGORY_PENALTY_RANGE, LINE_SLACK_RANGE, Options, THRESHOLD_RANGE, TITLE_WEIGHT_RANGE,
};

/// Finds the issues that at least two models found. `succeeded` are the models that responded, with findings or without.
#[must_use]
pub fn find(findings: &[Finding], succeeded: &[ModelId], options: &Options) -> Vec<Consensus> {
    let comparison = Comparison::new(sorted(findings), options);
    let groups = comparison.files().flat_map(|file| groups::join(&comparison, file));
    let groups = groups.filter(|group| group.len() > 1).collect();
    merge::all(&comparison, groups, distinct(succeeded))
}

/// The findings in the order that breaks all ties.
fn sorted(findings: &[Finding]) -> Vec<&Finding> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by(|a, b| (&a.file_path, &a.model, &a.id).cmp(&(&b.file_path, &b.model, &b.id)));
    sorted
}

fn distinct(models: &[ModelId]) -> u64 {
    models.iter().collect::<BTreeSet<_>>().len() as u64
}

#[cfg(test)]
mod tests;
