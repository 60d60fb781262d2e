//! Consensus: the issues that several models found.
//!
//! [`find`] is a pure function of the findings and of the models that succeeded:
//! 1. `words` cuts the title and the description of a finding into tokens.
//! 2. `compare` decides which pairs may match (file, lines, category, model) and scores how alike they are.
//! 3. `candidates` bounds the pairs, `rivals` lets the findings of a model compete, and `groups` joins the most alike groups until no average score reaches the threshold.
//! 4. `merge` makes a [`Consensus`] of every group with two models.
//!
//! All pairs of a group may match, so that a group has one finding of a model and never chains across distant lines. The
//! result does not depend on the order of the findings: they are sorted by file, model and id first.

mod candidates;
mod compare;
mod concepts;
mod groups;
mod merge;
mod rivals;
mod stem;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use crate::bounds::CONSENSUS_MEMBERS_MAX;
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::ids::ModelId;
use crate::review::{Consensus, Member};

use compare::Comparison;

/// Lines between two findings that may still be the same issue.
pub const LINE_SLACK: u32 = 3;
/// Average score at which two groups are joined.
pub const THRESHOLD: f64 = 0.18;
/// Weight of a token of the title; a token of the description has 1.
pub const TITLE_WEIGHT: f64 = 2.0;
/// Weight of a concept, beside the word that stands for it.
pub const CONCEPT_WEIGHT: f64 = 1.5;
/// Exponent of a token's rarity: a token that few findings have weighs more.
pub const RARITY: f64 = 1.0;
/// Score of two findings on exactly the same lines, beside that of their texts.
pub const PLACE_WEIGHT: f64 = 0.2;

/// How findings are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Lines between two findings that may still be the same issue.
    pub line_slack: u32,
    /// Average score at which two groups are joined.
    pub threshold: f64,
    /// Weight of a token of the title; a token of the description has 1.
    pub title_weight: f64,
    /// Weight of a concept, beside the word that stands for it.
    pub concept_weight: f64,
    /// Exponent of a token's rarity; at 0 all tokens weigh the same.
    pub rarity: f64,
    /// Score of two findings on exactly the same lines, beside that of their texts.
    pub place_weight: f64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            line_slack: LINE_SLACK,
            threshold: THRESHOLD,
            title_weight: TITLE_WEIGHT,
            concept_weight: CONCEPT_WEIGHT,
            rarity: RARITY,
            place_weight: PLACE_WEIGHT,
        }
    }
}

/// Finds the issues that at least two models found. `succeeded` are the models that responded, with findings or without.
#[must_use]
pub fn find(findings: &[Finding], succeeded: &[ModelId], options: &Options) -> Vec<Consensus> {
    let comparison = Comparison::new(sorted(findings), options);
    let groups = comparison.files().flat_map(|file| groups::join(&comparison, file));
    let groups = groups.filter(|group| group.len() > 1).collect();
    merge::all(&comparison, groups, distinct(succeeded))
}

/// Makes consensus items of groups that a client formed itself. Its groups need not follow the rules of [`find`], except that
/// a consensus is about one file.
///
/// # Errors
/// A member does not exist or is named twice; a group has fewer than two models, several files or too many members.
pub fn from_members(
    groups: &[Vec<Member>],
    findings: &[Finding],
    succeeded: &[ModelId],
    options: &Options,
) -> Result<Vec<Consensus>> {
    let comparison = Comparison::new(sorted(findings), options);
    let by_member: BTreeMap<(&str, &str), usize> = (comparison.findings().iter())
        .enumerate()
        .map(|(at, finding)| ((finding.model.as_str(), finding.id.as_str()), at))
        .collect();
    let mut taken = BTreeSet::new();
    let mut checked = Vec::new();
    for (at, members) in groups.iter().enumerate() {
        let group = resolve(members, &by_member, &mut taken);
        let group = group.and_then(|group| check_group(&comparison, group));
        checked.push(group.map_err(|error| error.inside(&format!("consensus[{at}]")))?);
    }
    Ok(merge::all(&comparison, checked, distinct(succeeded)))
}

/// The positions of the members among the sorted findings, sorted.
fn resolve(
    members: &[Member],
    by_member: &BTreeMap<(&str, &str), usize>,
    taken: &mut BTreeSet<usize>,
) -> Result<Vec<usize>> {
    if members.len() > CONSENSUS_MEMBERS_MAX {
        let problem =
            format!("has {} findings; at most {CONSENSUS_MEMBERS_MAX} are allowed", members.len());
        return Err(Error::too_large("members", problem));
    }
    let mut group = Vec::new();
    for (at, Member { model, finding }) in members.iter().enumerate() {
        let wrong = |problem| {
            Error::invalid(format!("members[{at}]"), format!("{finding:?} of {model:?} {problem}"))
        };
        let position = by_member.get(&(model.as_str(), finding.as_str()));
        let position = *position.ok_or_else(|| wrong("is not a finding of this review"))?;
        if !taken.insert(position) {
            return Err(wrong("is named twice"));
        }
        group.push(position);
    }
    group.sort_unstable();
    Ok(group)
}

fn check_group(comparison: &Comparison<'_>, group: Vec<usize>) -> Result<Vec<usize>> {
    let members = || group.iter().filter_map(|&at| comparison.findings().get(at));
    let models: BTreeSet<_> = members().map(|finding| &finding.model).collect();
    let files: BTreeSet<_> = members().map(|finding| &finding.file_path).collect();
    if models.len() < 2 {
        return Err(Error::invalid("members", "has findings of fewer than two models"));
    }
    if files.len() > 1 {
        return Err(Error::invalid("members", "has findings of several files"));
    }
    Ok(group)
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
