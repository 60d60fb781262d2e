//! One review whose figures are computed by hand.

use std::collections::BTreeMap;

use weir_reviews::compare::{Ratio, compare};
use weir_reviews::finding::Severity;
use weir_reviews::ids::{Category, FindingId, ModelId};
use weir_reviews::money::MicroUsd;
use weir_reviews::review::{Member, RecordedFinding, RecordedReview, Response, ResponseStatus};
use weir_reviews::rollup::{FindingCounts, PairCounts, Summary};

use crate::generate::{self, Shape};
use crate::scene::SMALL;

fn model(text: &str) -> ModelId {
    ModelId::new(text).unwrap()
}

fn member(model_id: &str, finding: &str) -> Member {
    Member { model: model(model_id), finding: FindingId::new(finding).unwrap() }
}

fn response(model_id: &str, status: ResponseStatus, latency_ms: u64) -> Response {
    Response {
        model: model(model_id),
        status,
        latency_ms,
        cost: MicroUsd(500),
        ..generate::response(&mut fastrand::Rng::with_seed(1), 0)
    }
}

fn found(
    model_id: &str,
    id: &str,
    file: &str,
    category: Option<&str>,
    accepted: Option<bool>,
) -> RecordedFinding {
    let category = category.map(|text| Category::new(text).unwrap());
    let member = member(model_id, id);
    RecordedFinding {
        finding: generate::finding(&member, Severity::High, category, file.to_owned()),
        in_consensus: ["a1", "b1"].contains(&id),
        feedback: accepted.map(generate::feedback),
    }
}

/// The pull request has the files x and y. Models a and b respond, c does not. Both find the issue in x.
fn review() -> RecordedReview {
    let shape = Shape { reviews: 1, models: 0, issues: 0, ..SMALL };
    let mut one = generate::reviews(1, shape).next().unwrap();
    one.review.pull_request.files = vec!["x".to_owned(), "y".to_owned()];
    one.responses = vec![
        response("a", ResponseStatus::Success, 100),
        response("b", ResponseStatus::Success, 300),
        response("c", ResponseStatus::Timeout, 60_000),
    ];
    one.findings = vec![
        found("a", "a1", "x", Some("security"), Some(true)),
        found("a", "a2", "y", Some("style"), Some(false)),
        found("b", "b1", "x", Some("security"), None),
        found("b", "b2", "z", Some("style"), None),
        found("b", "b3", "y", None, None),
    ];
    let members = vec![member("a", "a1"), member("b", "b1")];
    let agreeing = vec![model("a"), model("b")];
    one.consensus =
        vec![generate::consensus(0, members, agreeing, 2, Severity::High, "x".to_owned())];
    one
}

#[test]
fn a_pair_agrees_as_computed_by_hand() {
    let rollup = Summary::of(&review()).rollup;
    assert_eq!(rollup.pairs.pairs.len(), 1);
    let (pair, counts) = rollup.pairs.pairs.first_key_value().unwrap();
    assert_eq!((pair.first.as_str(), pair.second.as_str()), ("a", "b"));
    // Two files and three categories (security, style, none) are six units. The file z is not listed.
    let expected = PairCounts {
        reviews: 1,
        shared: 1,
        only_first: 1,
        only_second: 2,
        units_both: 1,
        units_first: 1,
        units_second: 1,
        units_neither: 3,
    };
    assert_eq!(*counts, expected);
    // 2 / (2 + 1 + 2), and observed 24/36 against 20/36 by chance.
    assert_eq!(Ratio::positive_agreement(counts).value(), Some(0.4));
    assert_eq!(Ratio::kappa(counts).value(), Some(0.25));
}

#[test]
fn a_review_without_listed_files_has_no_units() {
    let mut one = review();
    one.review.pull_request.files.clear();
    let rollup = Summary::of(&one).rollup;
    let counts = rollup.pairs.pairs.values().next().unwrap();
    assert_eq!((counts.shared, Ratio::kappa(counts).value()), (1, None));
    let units = counts.units_both + counts.units_first + counts.units_second + counts.units_neither;
    assert_eq!(units, 0);
}

#[test]
fn the_figures_of_a_model_are_those_computed_by_hand() {
    let summary = Summary::of(&review());
    let days = BTreeMap::from([(summary.id.day, summary.rollup)]);
    let comparison = compare(&days, None);
    let [a, b, c] = comparison.models.as_slice() else { panic!("{comparison:?}") };
    let findings = FindingCounts { findings: 2, in_consensus: 1, accepted: 1, dismissed: 1 };
    assert_eq!((a.findings, a.findings.only_it()), (findings, 1));
    assert_eq!((a.acceptance_rate.value, a.acceptance_rate.sample), (Some(0.5), 2));
    assert_eq!((b.acceptance_rate.value, b.acceptance_rate.sample), (None, 0));
    assert_eq!((b.findings_per_review.value, b.latency_p95_ms), (Some(3.0), Some(301)));
    assert_eq!(a.cost_per_consensus_finding_usd.value, Some(0.0005));
    // A timeout says nothing about how fast a model is, but costs.
    assert_eq!((c.success_rate.value, c.latency_mean_ms.value), (Some(0.0), None));
    assert_eq!((c.timeouts, c.cost, c.findings_per_review.value), (1, MicroUsd(500), Some(0.0)));
    assert!(comparison.models.iter().all(|one| one.success_rate.interval.is_none()));
}
