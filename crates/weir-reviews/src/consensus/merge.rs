//! Makes a consensus of the findings of a group.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use super::compare::Comparison;
use crate::bounds::TEXT_MAX;
use crate::finding::{Finding, Severity};
use crate::ids::{Category, ConsensusId, ModelId};
use crate::review::{Consensus, Member};

/// The consensus of each group, numbered by severity, file, line and members.
pub(super) fn all(
    comparison: &Comparison<'_>,
    groups: Vec<Vec<usize>>,
    models_asked: u64,
) -> Vec<Consensus> {
    let mut all: Vec<Consensus> = groups
        .into_iter()
        .filter_map(|group| consensus(comparison, &group, models_asked))
        .collect();
    all.sort_by(in_order);
    for (at, consensus) in all.iter_mut().enumerate() {
        consensus.id = ConsensusId::numbered(at + 1);
    }
    all
}

fn in_order(a: &Consensus, b: &Consensus) -> Ordering {
    let by_file = b.severity.cmp(&a.severity).then_with(|| a.file_path.cmp(&b.file_path));
    let lines = |of: &Consensus| (of.line_start, of.line_end);
    by_file.then_with(|| lines(a).cmp(&lines(b))).then_with(|| a.members.cmp(&b.members))
}

/// None if the group is empty.
fn consensus(comparison: &Comparison<'_>, group: &[usize], models_asked: u64) -> Option<Consensus> {
    let findings: Vec<&Finding> =
        group.iter().filter_map(|&at| comparison.findings().get(at).copied()).collect();
    let representative = *findings.get(representative(comparison, group))?;
    let agreeing_models: BTreeSet<&ModelId> = findings.iter().map(|of| &of.model).collect();
    Some(Consensus {
        id: ConsensusId::numbered(0),
        members: findings.iter().map(|of| member(of)).collect(),
        agreeing_models: agreeing_models.into_iter().cloned().collect(),
        models_asked,
        severity: severity(&findings)?,
        category: category(&findings, representative),
        file_path: representative.file_path.clone(),
        line_start: findings.iter().map(|of| of.line_start).min()?,
        line_end: findings.iter().map(|of| of.line_end).max()?,
        title: representative.title.clone(),
        merged_description: merged_description(&findings),
    })
}

fn member(finding: &Finding) -> Member {
    Member { model: finding.model.clone(), finding: finding.id.clone() }
}

/// The position in the group of the finding that is most like the others; the first of equals.
fn representative(comparison: &Comparison<'_>, group: &[usize]) -> usize {
    let likeness = |at: usize| -> f64 {
        let others = group.iter().filter(|&&other| other != at);
        others.map(|&other| comparison.score(at, other).total).sum()
    };
    let mut best = (0, f64::NEG_INFINITY);
    for (position, &at) in group.iter().enumerate() {
        let likeness = likeness(at);
        if likeness > best.1 {
            best = (position, likeness);
        }
    }
    best.0
}

/// The highest severity that two models give, or the highest.
fn severity(findings: &[&Finding]) -> Option<Severity> {
    let mut models: BTreeMap<Severity, BTreeSet<&ModelId>> = BTreeMap::new();
    for finding in findings {
        models.entry(finding.severity).or_default().insert(&finding.model);
    }
    let agreed = models.iter().rev().find(|(_, models)| models.len() > 1);
    agreed.or_else(|| models.last_key_value()).map(|(severity, _)| *severity)
}

/// The category of most findings; among equals that of the representative, if it has one, or the first.
fn category(findings: &[&Finding], representative: &Finding) -> Option<Category> {
    let mut counts: BTreeMap<&Category, usize> = BTreeMap::new();
    for category in findings.iter().filter_map(|of| of.category.as_ref()) {
        *counts.entry(category).or_default() += 1;
    }
    let rank = |(category, count): &(&Category, usize)| {
        (*count, representative.category.as_ref() == Some(*category), Reverse((*category).clone()))
    };
    counts.into_iter().max_by_key(rank).map(|(category, _)| category.clone())
}

/// What each model said, within the bound of a text: every finding has an equal share of it.
fn merged_description(findings: &[&Finding]) -> String {
    let share = TEXT_MAX / findings.len().max(1);
    let mut merged = String::new();
    for finding in findings {
        if !merged.is_empty() {
            merged.push_str(SEPARATOR);
        }
        merged.push_str(&shortened(statement(finding), share.saturating_sub(SEPARATOR.len())));
    }
    merged
}

const SEPARATOR: &str = "\n\n";
const ELLIPSIS: &str = "…";

/// `model (high, lines 3-5): title` and the description.
fn statement(finding: &Finding) -> String {
    let Finding { model, severity, line_start, line_end, title, description, .. } = finding;
    let lines = match line_start == line_end {
        true => format!("line {line_start}"),
        false => format!("lines {line_start}-{line_end}"),
    };
    let (title, description) = (title.trim(), description.trim());
    let gap = if description.is_empty() { "" } else { "\n" };
    format!("{model} ({severity}, {lines}): {title}{gap}{description}")
}

fn shortened(mut text: String, max: usize) -> String {
    if text.len() > max {
        text.truncate(text.floor_char_boundary(max.saturating_sub(ELLIPSIS.len())));
        text.push_str(ELLIPSIS);
    }
    text
}
