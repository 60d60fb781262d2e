//! The figures of a comparison, computed from the reviews themselves.

use std::collections::{BTreeMap, BTreeSet};

use weir_api::reviews::{
    Comparison, Estimate, Finding, FindingCounts, FindingFigures, ModelComparison, PairComparison,
    Response, ResponseStatus, Review, Verdict,
};

use super::load::{MODELS, SEVERITIES};

/// Asserts that a comparison has the figures of these reviews.
pub(crate) fn assert_equals(comparison: &Comparison, reviews: &[Review]) {
    let models: Vec<&str> = comparison.models.iter().map(|one| one.model_id.as_str()).collect();
    assert_eq!(models, MODELS);
    for found in &comparison.models {
        assert_model(found, reviews);
    }
    let pairs = MODELS.len() * (MODELS.len() - 1) / 2;
    assert_eq!(comparison.pairs.len(), pairs);
    for found in &comparison.pairs {
        assert_pair(found, reviews);
    }
    assert_eq!((comparison.models_left_out, comparison.pairs_left_out), (0, 0));
}

fn assert_model(found: &ModelComparison, reviews: &[Review]) {
    let model = found.model_id.as_str();
    let responses: Vec<&Response> = reviews.iter().filter_map(|one| response(one, model)).collect();
    let count = |status| responses.iter().filter(|one| one.status == status).count() as u64;
    let total = responses.len() as u64;
    assert_eq!(found.reviews, total);
    let successes = count(ResponseStatus::Success);
    assert_eq!(found.successes, successes);
    assert_eq!(found.errors, count(ResponseStatus::Error));
    assert_eq!(found.timeouts, count(ResponseStatus::Timeout));
    let cost: u64 = responses.iter().map(|one| micros(&one.cost_usd)).sum();
    assert_eq!(micros(&found.cost_usd), cost);
    assert_eq!(found.input_tokens, responses.iter().map(|one| one.input_tokens).sum::<u64>());
    assert_eq!(found.output_tokens, responses.iter().map(|one| one.output_tokens).sum::<u64>());
    let all = counts(reviews, model, |_| true);
    assert_eq!(found.findings, all);
    assert_share(found.success_rate, successes, total);
    assert_share(found.findings_per_review, all.findings, total);
    assert_share(found.consensus_share, all.in_consensus, all.findings);
    assert_share(found.acceptance_rate, all.accepted, all.accepted + all.dismissed);
    let has_succeeded = |one: &&&Response| one.status == ResponseStatus::Success;
    let latencies = responses.iter().filter(has_succeeded).map(|one| one.latency_ms);
    let mut latencies: Vec<u64> = latencies.collect();
    latencies.sort_unstable();
    assert_share(found.latency_mean_ms, latencies.iter().sum(), successes);
    for (found, percent) in [(found.latency_p50_ms, 50), (found.latency_p95_ms, 95)] {
        let exact = latencies[(latencies.len() * percent).div_ceil(100) - 1];
        assert!(found.unwrap().abs_diff(exact) * 100 <= exact, "{found:?} instead of {exact}");
    }
    assert_groups(found, reviews, model);
}

fn assert_groups(found: &ModelComparison, reviews: &[Review], model: &str) {
    assert_eq!(found.by_severity.len(), SEVERITIES.len());
    for group in &found.by_severity {
        let is_of = |one: &Finding| one.severity == group.severity;
        assert_figures(&group.figures, counts(reviews, model, is_of));
    }
    let own = findings(reviews).filter(|one| one.model_id == model);
    let categories: BTreeSet<&Option<String>> = own.map(|one| &one.category).collect();
    assert!(found.by_category.iter().map(|one| &one.category).eq(categories));
    for group in &found.by_category {
        let is_of = |one: &Finding| one.category == group.category;
        assert_figures(&group.figures, counts(reviews, model, is_of));
    }
}

fn assert_figures(found: &FindingFigures, expected: FindingCounts) {
    assert_eq!(found.counts, expected);
    assert_near(found.consensus_share, share(expected.in_consensus, expected.findings));
}

fn assert_share(found: Estimate, over: u64, under: u64) {
    assert_eq!(found.sample, under);
    assert_near(found.value, share(over, under));
}

/// Reading a number from JSON may change its last digit.
fn assert_near(found: Option<f64>, expected: Option<f64>) {
    let is_near = match (found, expected) {
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-12 * expected.abs(),
        (found, expected) => found == expected,
    };
    assert!(is_near, "{found:?} instead of {expected:?}");
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn share(over: u64, under: u64) -> Option<f64> {
    (under > 0).then(|| over as f64 / under as f64)
}

fn assert_pair(found: &PairComparison, reviews: &[Review]) {
    let (first, second) = (found.models[0].as_str(), found.models[1].as_str());
    let has_succeeded = |review: &Review, model: &str| {
        response(review, model).is_some_and(|one| one.status == ResponseStatus::Success)
    };
    let both = |review: &&Review| has_succeeded(review, first) && has_succeeded(review, second);
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for review in reviews.iter().filter(both) {
        *sums.entry("reviews").or_default() += 1;
        count_findings(&mut sums, review, first, second);
        count_units(&mut sums, review, first, second);
    }
    for (name, value) in [
        ("reviews", found.reviews),
        ("shared", found.shared),
        ("only_first", found.only_first),
        ("only_second", found.only_second),
        ("units_both", found.units_both),
        ("units_first", found.units_first),
        ("units_second", found.units_second),
        ("units_neither", found.units_neither),
    ] {
        assert_eq!(
            value,
            sums.get(name).copied().unwrap_or_default(),
            "{name} of {:?}",
            found.models
        );
    }
    let under = 2 * found.shared + found.only_first + found.only_second;
    assert_share(found.positive_agreement, 2 * found.shared, under);
}

fn count_findings(sums: &mut BTreeMap<&str, u64>, review: &Review, first: &str, second: &str) {
    let groups = review.consensus.iter().flatten().filter(|group| {
        let has = |model: &str| group.agreeing_models.iter().any(|one| one == model);
        has(first) && has(second)
    });
    let shared: Vec<_> = groups.collect();
    *sums.entry("shared").or_default() += shared.len() as u64;
    for finding in review.findings.iter().flatten() {
        let is_shared = shared.iter().flat_map(|group| &group.members).any(|member| {
            member.model_id == finding.model_id && member.finding_id == finding.finding_id
        });
        let name = match finding.model_id.as_str() {
            model if model == first => "only_first",
            model if model == second => "only_second",
            _ => continue,
        };
        *sums.entry(name).or_default() += u64::from(!is_shared);
    }
}

fn count_units(sums: &mut BTreeMap<&str, u64>, review: &Review, first: &str, second: &str) {
    let findings = || review.findings.iter().flatten();
    let said: BTreeSet<(&str, &str, Option<&str>)> = findings()
        .map(|one| (one.model_id.as_str(), one.file_path.as_str(), one.category.as_deref()))
        .collect();
    let categories: BTreeSet<Option<&str>> =
        findings().map(|one| one.category.as_deref()).collect();
    for file in &review.files {
        for category in &categories {
            let says = |model| said.contains(&(model, file.as_str(), *category));
            let name = match (says(first), says(second)) {
                (true, true) => "units_both",
                (true, false) => "units_first",
                (false, true) => "units_second",
                (false, false) => "units_neither",
            };
            *sums.entry(name).or_default() += 1;
        }
    }
}

fn response<'a>(review: &'a Review, model: &str) -> Option<&'a Response> {
    review.responses.iter().flatten().find(|one| one.model_id == model)
}

fn findings(reviews: &[Review]) -> impl Iterator<Item = &Finding> {
    reviews.iter().flat_map(|review| review.findings.iter().flatten())
}

fn counts(reviews: &[Review], model: &str, is_of: impl Fn(&Finding) -> bool) -> FindingCounts {
    let own: Vec<&Finding> =
        findings(reviews).filter(|one| one.model_id == model && is_of(one)).collect();
    let count = |is: &dyn Fn(&Finding) -> bool| own.iter().filter(|one| is(one)).count() as u64;
    let judged = |verdict| {
        count(&|one: &Finding| one.feedback.as_ref().is_some_and(|one| one.verdict == verdict))
    };
    let in_consensus = count(&|one| one.in_consensus);
    FindingCounts {
        findings: own.len() as u64,
        in_consensus,
        only_it: own.len() as u64 - in_consensus,
        accepted: judged(Verdict::Accepted),
        dismissed: judged(Verdict::Dismissed),
    }
}

/// A decimal number of dollars, in micro-dollars.
fn micros(dollars: &str) -> u64 {
    let (whole, part) = dollars.split_once('.').unwrap_or((dollars, ""));
    format!("{whole}{part:0<6}").parse().unwrap()
}

#[test]
fn dollars_become_micro_dollars() {
    assert_eq!(["0", "0.5", "12.000007"].map(micros), [0, 500_000, 12_000_007]);
}
