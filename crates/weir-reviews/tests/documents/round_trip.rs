//! Findings that are written as SARIF read back as they were.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use weir_reviews::finding::{Finding, Severity};
use weir_reviews::ids::{Category, FindingId};
use weir_reviews::sarif::{self, ReadOptions, Skipped};

use crate::samples::{model, review, typical};

fn findings() -> impl Strategy<Value = Vec<Finding>> {
    vec(any_finding(), 0..12).prop_map(|mut findings| {
        for (index, finding) in findings.iter_mut().enumerate() {
            finding.id = FindingId::new(format!("{}-{index:02}", finding.id)).unwrap();
        }
        findings.sort_by(|a, b| (&a.model, &a.id).cmp(&(&b.model, &b.id)));
        findings
    })
}

prop_compose! {
    fn any_finding()(
        model_id in "[ab]|[!-\"$-~]{1,8}",
        id in "[!-\"$-~]{1,8}",
        severity in proptest::sample::select(&Severity::ALL[..]),
        category in option::of("[a-zA-Z][a-z0-9_.-]{0,8}"),
        rule in option::of("\\PC{1,12}"),
        file_path in "(\\./|/|[a-c]:|file:///)?\\PC{1,20}",
        line_start in 1_u32..1000,
        more in 0_u32..50,
        title in "\\PC{0,20}[a-z]",
        description in "|(.|\n|\\{0\\}){1,40}",
        suggestion in option::of("(.|\n){0,20}"),
    ) -> Finding {
        Finding {
            model: model(&model_id),
            id: FindingId::new(id).unwrap(),
            severity,
            category: category.map(|text| Category::new(text).unwrap()),
            rule,
            file_path,
            line_start,
            line_end: line_start + more,
            title,
            description,
            suggestion,
        }
    }
}

/// SARIF demands a message, so a finding without a description has its title there.
fn with_message(mut finding: Finding) -> Finding {
    if finding.description.trim().is_empty() {
        finding.description.clone_from(&finding.title);
    }
    finding
}

fn read_back(document: &serde_json::Value) -> Vec<Finding> {
    let models = sarif::read(document.to_string().as_bytes(), &ReadOptions::default()).unwrap();
    assert!(models.iter().all(|model| model.skipped == Skipped::default()));
    models.into_iter().flat_map(|model| model.findings).collect()
}

proptest! {
    #[test]
    fn findings_read_back_as_they_were(findings in findings()) {
        let expected: Vec<Finding> = findings.iter().cloned().map(with_message).collect();
        let document = sarif::write_findings(&review(findings, Vec::new()));
        prop_assert_eq!(read_back(&document), expected);
    }
}

#[test]
fn a_model_without_findings_is_read_too() {
    let document = sarif::write_findings(&typical()).to_string();
    let models = sarif::read(document.as_bytes(), &ReadOptions::default()).unwrap();
    let names: Vec<&str> = models.iter().map(|model| model.model.as_str()).collect();
    assert_eq!(names, ["claude-sonnet", "gpt-5", "meta/llama-3", "slow_model"]);
}
