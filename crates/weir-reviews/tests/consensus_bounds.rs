//! Consensus over the largest reviews: the time is bounded, and the result is right.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests may do what the tests may"
)]

use std::time::Duration;

use weir_reviews::bounds::{FINDINGS_MAX, MODELS_MAX, TEXT_MAX};
use weir_reviews::consensus::{Options, find};
use weir_reviews::finding::{Finding, Severity};
use weir_reviews::ids::{FindingId, ModelId};
use weir_reviews::review::Consensus;
use weir_testkit::cpu_time;

/// Above the two seconds that an unoptimised build takes at most, and below what a quadratic algorithm takes.
const CPU_TIME_MAX: Duration = Duration::from_secs(5);

fn finding(model: usize, id: usize, title: String, description: String) -> Finding {
    Finding {
        model: ModelId::new(format!("model-{model:02}")).unwrap(),
        id: FindingId::new(format!("f{id:04}")).unwrap(),
        severity: Severity::High,
        category: None,
        rule: None,
        file_path: "a.rs".to_owned(),
        line_start: 7,
        line_end: 7,
        title,
        description,
        suggestion: None,
    }
}

fn timed(name: &str, findings: &[Finding]) -> Vec<Consensus> {
    let models: Vec<_> =
        (0..MODELS_MAX).map(|model| ModelId::new(format!("model-{model:02}")).unwrap()).collect();
    let start = cpu_time();
    let consensus = find(findings, &models, &Options::default());
    let time = cpu_time().saturating_sub(start);
    println!("{name}: {} findings, {} groups, {time:?}", findings.len(), consensus.len());
    assert!(time < CPU_TIME_MAX, "{time:?}");
    consensus
}

/// Words that look different to any filter, from a fixed sequence.
fn words(seed: usize, count: usize) -> String {
    let mut state = seed as u64 + 1;
    let mut words = String::new();
    for _ in 0..count {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        words.push_str(&format!("word{} ", (state >> 33) % 300));
    }
    words
}

#[test]
fn all_findings_on_one_line_with_the_same_words() {
    let all: Vec<_> = (0..FINDINGS_MAX)
        .map(|at| finding(at % MODELS_MAX, at, "Race on `counter`".to_owned(), words(0, 200)))
        .collect();
    let consensus = timed("same words", &all);
    assert_eq!(consensus[0].agreeing_models.len(), MODELS_MAX);
}

#[test]
fn all_findings_on_one_line_with_many_common_words() {
    let all: Vec<_> = (0..FINDINGS_MAX)
        .map(|at| finding(at % MODELS_MAX, at, format!("Issue number{at}"), words(at, 200)))
        .collect();
    timed("common words", &all);
}

#[test]
fn every_issue_on_one_line_is_found_by_every_model() {
    let issues = FINDINGS_MAX / MODELS_MAX;
    let all: Vec<_> = (0..FINDINGS_MAX)
        .map(|at| {
            let issue = at / MODELS_MAX;
            let title = format!("Bad `function_{issue}` of item{issue}");
            finding(at % MODELS_MAX, at, title, format!("The call of function_{issue} is bad"))
        })
        .collect();
    let consensus = timed("a hundred issues", &all);
    assert_eq!(consensus.len(), issues);
    assert!(consensus.iter().all(|of| of.members.len() == MODELS_MAX));
}

#[test]
fn the_longest_texts() {
    // Within the bound of a request: 10 MiB.
    let text = words(3, TEXT_MAX / 5);
    let text = &text[..TEXT_MAX];
    let mut all: Vec<_> = (0..160)
        .map(|at| finding(at % MODELS_MAX, at, "Race on `counter`".to_owned(), text.to_owned()))
        .collect();
    let consensus = timed("64 KiB each", &all);
    assert!(consensus.iter().all(|of| of.merged_description.len() <= TEXT_MAX));
    for finding in &mut all {
        finding.title = std::mem::take(&mut finding.description);
    }
    timed("64 KiB titles", &all);
}

#[test]
fn a_model_that_repeats_itself_agrees_once_and_hides_nobody() {
    let said = || ("Race on `counter`".to_owned(), "The counter is not locked.".to_owned());
    let mut all: Vec<_> = (0..500).map(|at| finding(0, at, said().0, said().1)).collect();
    all.push(finding(1, 0, said().0, said().1));
    all.push(finding(2, 0, "`counter` without lock".to_owned(), String::new()));
    let consensus = timed("500 repeats", &all);
    assert_eq!(consensus.len(), 1);
    assert_eq!(consensus[0].agreeing_models.len(), 3);
}
