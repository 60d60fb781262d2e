//! Writes reviews as SARIF.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::finding_ids::hash;
use super::{VERSION, level_of, uri};
use crate::finding::{Finding, Severity};
use crate::ids::{Category, ModelId};
use crate::report::escape;
use crate::review::{Consensus, RecordedReview};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const TOOL: &str = "weir";
/// The rule of issues without a category.
const UNCATEGORISED: &str = "uncategorised";
/// The fingerprint of a finding: its id.
const FINDING_PRINT: &str = "weirFindingId/v1";
/// The fingerprint of a consensus: a hash of file, category and title, so that it stays when lines move.
const CONSENSUS_PRINT: &str = "weirConsensus/v1";

/// The issues that models agree on, as one run.
#[must_use]
pub fn write(review: &RecordedReview) -> Value {
    let rules: BTreeSet<&str> = review.consensus.iter().map(rule_of).collect();
    let mut prints = Fingerprints::default();
    let results = review.consensus.iter().map(|consensus| {
        let index = rules.iter().position(|rule| *rule == rule_of(consensus));
        consensus_result(consensus, index, &prints.next(consensus))
    });
    let results: Vec<Value> = results.collect();
    let rules: Vec<Value> = rules.iter().map(|rule| category_rule(rule)).collect();
    let driver = json!({ "name": TOOL, "version": env!("CARGO_PKG_VERSION"), "rules": rules });
    log(vec![run(review, TOOL, driver, results)])
}

/// Every finding, as one run for each model.
#[must_use]
pub fn write_findings(review: &RecordedReview) -> Value {
    let mut of_model: BTreeMap<&ModelId, Vec<(&Finding, bool)>> = BTreeMap::new();
    for model in &review.review.models {
        of_model.entry(model).or_default();
    }
    for recorded in &review.findings {
        let findings = of_model.entry(&recorded.finding.model).or_default();
        findings.push((&recorded.finding, recorded.in_consensus));
    }
    let runs = of_model.into_iter().map(|(model, findings)| {
        let rules: BTreeSet<&str> =
            findings.iter().filter_map(|(finding, _)| finding.rule.as_deref()).collect();
        let rules: Vec<Value> = rules.into_iter().map(|id| json!({ "id": id })).collect();
        let results = findings.iter().map(|(finding, agreed)| finding_result(finding, *agreed));
        let driver = json!({ "name": model.as_str(), "rules": rules });
        run(review, model.as_str(), driver, results.collect())
    });
    log(runs.collect())
}

fn log(runs: Vec<Value>) -> Value {
    json!({ "$schema": SCHEMA, "version": VERSION, "runs": runs })
}

fn run(review: &RecordedReview, name: &str, driver: Value, results: Vec<Value>) -> Value {
    let pull_request = &review.review.pull_request;
    json!({
        "tool": { "driver": driver },
        // Code scanning replaces the results of an earlier run with the same id up to the last `/`.
        "automationDetails": { "id": format!("{name}/{}", review.review.id) },
        "results": results,
        "properties": {
            "review_id": review.review.id.as_str(),
            "repository": format!("{}/{}", pull_request.owner, pull_request.repo),
            "pr_number": pull_request.number,
        },
    })
}

fn consensus_result(consensus: &Consensus, rule_index: Option<usize>, print: &str) -> Value {
    let text = with_title(&consensus.title, &consensus.merged_description);
    let title = escape::inline(&consensus.title);
    let description = escape::block(&consensus.merged_description);
    let properties = json!({
        "consensus_id": consensus.id.as_str(),
        "title": consensus.title,
        "severity": consensus.severity.as_str(),
        "category": consensus.category.as_ref().map(Category::as_str),
        "agreeing_models": consensus.agreeing_models,
        "agreement_count": consensus.agreeing_models.len(),
        "agreement_ratio": consensus.agreement_ratio(),
        "confidence": consensus.confidence().as_str(),
    });
    let mut result = result_at(
        consensus.severity,
        &consensus.file_path,
        (consensus.line_start, consensus.line_end),
        properties,
    );
    set(&mut result, "ruleId", json!(rule_of(consensus)));
    set(&mut result, "ruleIndex", json!(rule_index));
    let markdown = with_title(&format!("**{title}**"), &description);
    set(&mut result, "message", json!({ "text": text, "markdown": markdown }));
    set(&mut result, "partialFingerprints", json!({ CONSENSUS_PRINT: print }));
    result
}

fn finding_result(finding: &Finding, in_consensus: bool) -> Value {
    let properties = json!({
        "title": finding.title,
        "severity": finding.severity.as_str(),
        "category": finding.category.as_ref().map(Category::as_str),
        // A fix of SARIF would need the replaced text.
        "suggestion": finding.suggestion,
        "in_consensus": in_consensus,
    });
    let lines = (finding.line_start, finding.line_end);
    let mut result = result_at(finding.severity, &finding.file_path, lines, properties);
    if let Some(rule) = &finding.rule {
        set(&mut result, "ruleId", json!(rule));
    }
    let is_described = !finding.description.trim().is_empty();
    let text = if is_described { &finding.description } else { &finding.title };
    set(&mut result, "message", json!({ "text": text }));
    set(&mut result, "fingerprints", json!({ FINDING_PRINT: finding.id.as_str() }));
    result
}

/// The fields that results of both kinds have.
fn result_at(severity: Severity, path: &str, lines: (u32, u32), properties: Value) -> Value {
    // A level other than `none` is only for results that are a fault.
    let kind = if severity == Severity::Info { "informational" } else { "fail" };
    json!({
        "kind": kind,
        "level": level_of(severity),
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": uri::from_path(path) },
                "region": { "startLine": lines.0, "endLine": lines.1 },
            },
        }],
        "properties": properties,
    })
}

fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(field.to_owned(), value);
    }
}

fn with_title(title: &str, description: &str) -> String {
    if description.trim().is_empty() {
        return title.to_owned();
    }
    format!("{title}\n\n{description}")
}

fn rule_of(consensus: &Consensus) -> &str {
    consensus.category.as_ref().map_or(UNCATEGORISED, Category::as_str)
}

fn category_rule(category: &str) -> Value {
    let text = match category {
        UNCATEGORISED => "Several models found the same issue".to_owned(),
        category => format!("Several models found the same {category} issue"),
    };
    json!({
        "id": category,
        "shortDescription": { "text": text },
        "properties": { "tags": [category] },
    })
}

/// Fingerprints of consensus. Equal issues of a file are numbered.
#[derive(Default)]
struct Fingerprints(BTreeMap<String, u64>);

impl Fingerprints {
    fn next(&mut self, consensus: &Consensus) -> String {
        let content = hash(&[&consensus.file_path, rule_of(consensus), consensus.title.trim()]);
        let number = self.0.entry(content.clone()).or_default();
        *number += 1;
        format!("{content}:{number}")
    }
}
