//! Where models agree: the same lines of the same file in the same category.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::ids::{ConsensusId, ModelId};
use crate::review::{Consensus, Member};

/// Finds the issues that several models found.
pub(super) fn find(findings: &[Finding], succeeded: &[ModelId]) -> Vec<Consensus> {
    let mut groups: BTreeMap<_, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        let Finding { file_path, line_start, line_end, category, .. } = finding;
        let group = groups.entry((file_path, line_start, line_end, category)).or_default();
        if group.iter().all(|other| other.model != finding.model) {
            group.push(finding);
        }
    }
    let groups = groups.into_values().filter(|group| group.len() > 1);
    let consensus = |(number, group): (usize, Vec<&Finding>)| merged(number, &group, succeeded);
    groups.enumerate().filter_map(consensus).collect()
}

fn merged(number: usize, group: &[&Finding], succeeded: &[ModelId]) -> Option<Consensus> {
    let first = group.first()?;
    let member = |f: &&Finding| Member { model: f.model.clone(), finding: f.id.clone() };
    let mut members: Vec<Member> = group.iter().map(member).collect();
    members.sort_unstable();
    Some(Consensus {
        id: ConsensusId::new(format!("consensus-{:03}", number + 1)).ok()?,
        agreeing_models: members.iter().map(|member| member.model.clone()).collect(),
        members,
        models_asked: succeeded.len() as u64,
        severity: group.iter().map(|finding| finding.severity).max()?,
        category: first.category.clone(),
        file_path: first.file_path.clone(),
        line_start: first.line_start,
        line_end: first.line_end,
        title: first.title.clone(),
        merged_description: first.description.clone(),
    })
}
