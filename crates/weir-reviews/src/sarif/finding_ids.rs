//! Ids of findings that stay the same when a tool runs again.
//!
//! A result's own `guid` or fingerprint is its id, if no other result of the model has the same: fingerprints of a line are
//! shared by all results on it. Otherwise the id is a hash of what the finding says and where.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use super::document::SarifResult;
use crate::error::Result;
use crate::finding::Finding;
use crate::ids::FindingId;

/// Bytes of the hash that an id has.
const HASH_BYTES: usize = 16;

/// A finding whose id is not decided.
#[derive(Debug)]
pub(super) struct Draft {
    /// The finding, with any id.
    pub(super) finding: Finding,
    /// What the tool identifies the result by.
    pub(super) own_id: Option<FindingId>,
}

/// What the tool identifies a result by.
pub(super) fn own_id(result: &SarifResult) -> Option<FindingId> {
    let guid = result.guid.iter();
    let fingerprints = result.fingerprints.0.values().chain(result.partial_fingerprints.0.values());
    guid.chain(fingerprints).find_map(|text| FindingId::new(text).ok())
}

/// Gives each finding of a model its id.
///
/// # Errors
/// Never: a hash is a valid id.
pub(super) fn assign(drafts: Vec<Draft>) -> Result<Vec<Finding>> {
    let mut used_by: BTreeMap<FindingId, usize> = BTreeMap::new();
    for id in drafts.iter().filter_map(|draft| draft.own_id.clone()) {
        *used_by.entry(id).or_default() += 1;
    }
    let is_unique = |id: &FindingId| used_by.get(id) == Some(&1);
    let mut taken: BTreeSet<FindingId> = used_by.keys().cloned().collect();
    let mut equal_before: BTreeMap<String, u64> = BTreeMap::new();
    let mut findings = Vec::with_capacity(drafts.len());
    for Draft { mut finding, own_id } in drafts {
        finding.id = match own_id.filter(is_unique) {
            Some(id) => id,
            None => derived(&finding, &mut equal_before, &mut taken)?,
        };
        findings.push(finding);
    }
    Ok(findings)
}

fn derived(
    finding: &Finding,
    equal_before: &mut BTreeMap<String, u64>,
    taken: &mut BTreeSet<FindingId>,
) -> Result<FindingId> {
    let content = hash(&[
        finding.rule.as_deref().unwrap_or_default(),
        &finding.file_path,
        &finding.line_start.to_string(),
        &finding.line_end.to_string(),
        &finding.description,
    ]);
    let occurrence = equal_before.entry(content.clone()).or_default();
    loop {
        let id = FindingId::new(hash(&[&content, &occurrence.to_string()]))?;
        *occurrence += 1;
        if taken.insert(id.clone()) {
            return Ok(id);
        }
    }
}

/// A hash of the parts, of which none can be mistaken for a piece of another.
pub(super) fn hash(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    let digest = hasher.finalize();
    digest.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect()
}
