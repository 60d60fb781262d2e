//! The figures of a comparison, computed from the reviews themselves, as plainly as possible.

use std::collections::BTreeSet;

use weir_reviews::compare::{Comparison, Estimate, FindingGroup};
use weir_reviews::finding::Severity;
use weir_reviews::ids::{Category, ModelId};
use weir_reviews::review::{RecordedFinding, RecordedReview, Response, ResponseStatus};
use weir_reviews::rollup::{FindingCounts, PairCounts};

/// Asserts that a comparison has the figures of these reviews.
pub(crate) fn assert_equals(comparison: &Comparison, reviews: &[RecordedReview]) {
    let names = |review: &RecordedReview| -> Vec<ModelId> {
        review.responses.iter().map(|response| response.model.clone()).collect()
    };
    let models: BTreeSet<ModelId> = reviews.iter().flat_map(names).collect();
    let compared: Vec<&ModelId> = comparison.models.iter().map(|one| &one.model).collect();
    assert_eq!(compared, models.iter().collect::<Vec<_>>());
    for model in &models {
        assert_model(comparison, model, reviews);
    }
    let models: Vec<&ModelId> = models.iter().collect();
    let mut pairs = 0;
    for (place, first) in models.iter().enumerate() {
        for second in &models[place + 1..] {
            pairs += usize::from(assert_pair(comparison, first, second, reviews));
        }
    }
    assert_eq!(comparison.pairs.len(), pairs);
}

fn assert_model(comparison: &Comparison, model: &ModelId, reviews: &[RecordedReview]) {
    let found = comparison.models.iter().find(|one| one.model == *model).unwrap();
    let responses: Vec<&Response> =
        reviews.iter().filter_map(|review| response_of(review, model)).collect();
    let count = |status| responses.iter().filter(|one| one.status == status).count() as u64;
    let successes = count(ResponseStatus::Success);
    let total = responses.len() as u64;
    assert_eq!(found.reviews, total);
    assert_eq!(
        (found.successes, found.errors, found.timeouts),
        (successes, count(ResponseStatus::Error), count(ResponseStatus::Timeout))
    );
    let sum = |of: fn(&Response) -> u64| responses.iter().map(|one| of(one)).sum::<u64>();
    assert_eq!(found.cost.0, sum(|one| one.cost.0));
    assert_eq!(found.input_tokens, sum(|one| one.input_tokens));
    assert_eq!(found.output_tokens, sum(|one| one.output_tokens));
    let all = counts(reviews, model, |_| true);
    assert_eq!(found.findings, all);
    assert_share(found.success_rate, successes, total);
    assert_share(found.findings_per_review, all.findings, total);
    assert_share(found.consensus_share, all.in_consensus, all.findings);
    assert_share(found.acceptance_rate, all.accepted, all.accepted + all.dismissed);
    let dollars = found.cost_per_consensus_finding_usd;
    let expected =
        (all.in_consensus > 0).then(|| found.cost.0 as f64 / 1e6 / all.in_consensus as f64);
    assert!(match (dollars.value, expected) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.max(1.0),
        (a, b) => a == b,
    });
    let latencies: Vec<u64> = responses
        .iter()
        .filter(|one| one.status == ResponseStatus::Success)
        .map(|one| one.latency_ms)
        .collect();
    assert_share(found.latency_mean_ms, latencies.iter().sum(), successes);
    assert_near(found.latency_p50_ms, percentile(&latencies, 50));
    assert_near(found.latency_p95_ms, percentile(&latencies, 95));
    assert_eq!(found.by_severity.len(), Severity::ALL.len());
    for (severity, group) in &found.by_severity {
        assert_group(group, counts(reviews, model, |one| one.finding.severity == *severity));
    }
    let own =
        reviews.iter().flat_map(|one| &one.findings).filter(|one| one.finding.model == *model);
    let categories: BTreeSet<Option<Category>> =
        own.map(|one| one.finding.category.clone()).collect();
    assert!(found.by_category.iter().map(|(category, _)| category).eq(&categories));
    for (category, group) in &found.by_category {
        assert_group(group, counts(reviews, model, |one| one.finding.category == *category));
    }
}

fn response_of<'a>(review: &'a RecordedReview, model: &ModelId) -> Option<&'a Response> {
    review.responses.iter().find(|one| one.model == *model)
}

fn counts(
    reviews: &[RecordedReview],
    model: &ModelId,
    is_counted: impl Fn(&RecordedFinding) -> bool,
) -> FindingCounts {
    let own =
        reviews.iter().flat_map(|one| &one.findings).filter(|one| one.finding.model == *model);
    let mut counts = FindingCounts::default();
    for found in own.filter(|one| is_counted(one)) {
        let accepted = found.feedback.as_ref().map(|feedback| feedback.accepted);
        counts.findings += 1;
        counts.in_consensus += u64::from(found.in_consensus);
        counts.accepted += u64::from(accepted == Some(true));
        counts.dismissed += u64::from(accepted == Some(false));
    }
    counts
}

fn assert_group(group: &FindingGroup, expected: FindingCounts) {
    assert_eq!(group.counts, expected);
    assert_eq!(group.consensus_share, share(expected.in_consensus, expected.findings));
    let judged = expected.accepted + expected.dismissed;
    assert_eq!(group.acceptance_rate, share(expected.accepted, judged));
}

fn assert_share(found: Estimate, over: u64, under: u64) {
    assert_eq!((found.value, found.sample), (share(over, under), under));
    if let Some(interval) = found.interval {
        assert!(interval.low <= interval.high, "{interval:?}");
    }
}

fn share(over: u64, under: u64) -> Option<f64> {
    (under > 0).then(|| over as f64 / under as f64)
}

/// The nearest rank: the smallest value that so many percent of the values do not exceed.
fn percentile(values: &[u64], percent: usize) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied()
}

fn assert_near(found: Option<u64>, exact: Option<u64>) {
    assert_eq!(found.is_some(), exact.is_some());
    if let (Some(found), Some(exact)) = (found, exact) {
        assert!(found.abs_diff(exact) * 100 <= exact, "{found} is not within 1 % of {exact}");
    }
}

/// Returns whether the two ever responded in the same review.
fn assert_pair(
    comparison: &Comparison,
    first: &ModelId,
    second: &ModelId,
    reviews: &[RecordedReview],
) -> bool {
    let has_responded = |review: &&RecordedReview, model: &ModelId| {
        response_of(review, model).is_some_and(|one| one.status == ResponseStatus::Success)
    };
    let both =
        |review: &&RecordedReview| has_responded(review, first) && has_responded(review, second);
    let mut counts = PairCounts::default();
    for review in reviews.iter().filter(both) {
        counts.reviews += 1;
        count_findings(&mut counts, review, first, second);
        count_units(&mut counts, review, first, second);
    }
    let found =
        comparison.pairs.iter().find(|one| one.pair.first == *first && one.pair.second == *second);
    let Some(found) = found else {
        assert_eq!(counts.reviews, 0);
        return false;
    };
    assert_eq!(found.counts, counts);
    let under = 2 * counts.shared + counts.only_first + counts.only_second;
    assert_share(found.positive_agreement, 2 * counts.shared, under);
    assert_kappa(found.kappa, &counts);
    true
}

fn count_findings(
    counts: &mut PairCounts,
    review: &RecordedReview,
    first: &ModelId,
    second: &ModelId,
) {
    let has = |members: &[weir_reviews::review::Member], model: &ModelId| {
        members.iter().any(|member| member.model == *model)
    };
    let shared = || {
        let groups = review.consensus.iter();
        groups.filter(|group| has(&group.members, first) && has(&group.members, second))
    };
    counts.shared += shared().count() as u64;
    for found in &review.findings {
        let is_shared = shared().any(|group| {
            let mut members = group.members.iter();
            members.any(|one| one.model == found.finding.model && one.finding == found.finding.id)
        });
        counts.only_first += u64::from(!is_shared && found.finding.model == *first);
        counts.only_second += u64::from(!is_shared && found.finding.model == *second);
    }
}

fn count_units(
    counts: &mut PairCounts,
    review: &RecordedReview,
    first: &ModelId,
    second: &ModelId,
) {
    let categories: BTreeSet<_> = review.findings.iter().map(|one| &one.finding.category).collect();
    for file in &review.review.pull_request.files {
        for category in &categories {
            let says = |model: &ModelId| {
                review.findings.iter().map(|one| &one.finding).any(|one| {
                    one.model == *model && one.file_path == *file && one.category == **category
                })
            };
            *match (says(first), says(second)) {
                (true, true) => &mut counts.units_both,
                (true, false) => &mut counts.units_first,
                (false, true) => &mut counts.units_second,
                (false, false) => &mut counts.units_neither,
            } += 1;
        }
    }
}

/// κ from its definition: observed agreement against the agreement expected by chance.
fn assert_kappa(found: Estimate, counts: &PairCounts) {
    let [a, b, c, d] =
        [counts.units_both, counts.units_first, counts.units_second, counts.units_neither]
            .map(|count| count as f64);
    let units = a + b + c + d;
    assert_eq!(found.sample as f64, units);
    let observed = (a + d) / units;
    let chance = ((a + b) * (a + c) + (c + d) * (b + d)) / (units * units);
    match found.value {
        Some(kappa) => assert!((kappa - (observed - chance) / (1.0 - chance)).abs() < 1e-9),
        None => assert!(units == 0.0 || (1.0 - chance).abs() < 1e-12, "{counts:?}"),
    }
}
