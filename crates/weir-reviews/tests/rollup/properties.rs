//! Sums of any reviews in any order equal brute force.

use std::collections::BTreeMap;

use proptest::prelude::*;
use weir_calendar::Day;
use weir_reviews::bounds::{CATEGORY_MAX, FILES_MAX, FINDINGS_MAX, MODEL_ID_MAX, MODELS_MAX};
use weir_reviews::compare::{Comparison, compare};
use weir_reviews::finding::Severity;
use weir_reviews::ids::{Category, FindingId, ModelId};
use weir_reviews::review::{RecordedFinding, RecordedReview, ResponseStatus};
use weir_reviews::rollup::{DayRollup, ModelDay, PairDay, Summary};

use crate::brute_force::assert_equals;
use crate::generate::{self, Shape};
use crate::scene::{SMALL, reviews};

fn rolled_up(reviews: &[RecordedReview]) -> BTreeMap<Day, DayRollup> {
    let mut days = BTreeMap::<Day, DayRollup>::new();
    for summary in reviews.iter().map(Summary::of) {
        days.entry(summary.id.day).or_default().merge(&summary.rollup);
    }
    days
}

fn merged(parts: &[&DayRollup]) -> DayRollup {
    let mut all = DayRollup::default();
    parts.iter().for_each(|part| all.merge(part));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_comparison_equals_brute_force(seed: u64, reviews in 0_usize..30, models in 1_usize..6) {
        let shape = Shape { reviews, models, days: 5, ..SMALL };
        let all: Vec<_> = generate::reviews(seed, shape).collect();
        assert_equals(&compare(&rolled_up(&all), None), &all);
    }

    #[test]
    fn merging_is_associative_and_commutative(seed: u64) {
        let summaries: Vec<DayRollup> =
            reviews(seed).iter().map(|one| Summary::of(one).rollup).collect();
        let third = summaries.len() / 3;
        let sum = |part: &[DayRollup]| merged(&part.iter().collect::<Vec<_>>());
        let (a, b, c) =
            (sum(&summaries[..third]), sum(&summaries[third..2 * third]), sum(&summaries[2 * third..]));
        let whole = sum(&summaries);
        prop_assert_eq!(&merged(&[&merged(&[&a, &b]), &c]), &whole);
        prop_assert_eq!(&merged(&[&a, &merged(&[&b, &c])]), &whole);
        prop_assert_eq!(&merged(&[&c, &b, &a]), &whole);
    }

    #[test]
    fn a_day_equals_its_summaries(seed: u64) {
        let summaries: Vec<Summary> = reviews(seed).iter().map(Summary::of).collect();
        let day = DayRollup::from_summaries(&summaries);
        prop_assert_eq!(&day.pairs, &PairDay::from_summaries(&summaries));
        for (model, sums) in &day.models {
            prop_assert_eq!(sums, &ModelDay::from_summaries(model, &summaries));
        }
    }

    #[test]
    fn rollups_are_stored_and_read_without_loss(seed: u64) {
        let days = rolled_up(&reviews(seed));
        for day in days.values() {
            let text = serde_json::to_string(day).unwrap();
            prop_assert_eq!(&serde_json::from_str::<DayRollup>(&text).unwrap(), day);
        }
    }
}

#[test]
fn the_same_days_have_the_same_intervals_and_most_hold_their_value() {
    let shape = Shape { reviews: 400, days: 30, models: 4, ..SMALL };
    let all: Vec<_> = generate::reviews(71, shape).collect();
    let first = compare(&rolled_up(&all), None);
    assert_eq!(first, compare(&rolled_up(&all), None));
    let estimates = |comparison: &Comparison| {
        let models = comparison.models.iter().flat_map(|one| {
            [one.success_rate, one.findings_per_review, one.acceptance_rate, one.latency_mean_ms]
        });
        let pairs = comparison.pairs.iter().flat_map(|one| [one.positive_agreement, one.kappa]);
        models.chain(pairs).collect::<Vec<_>>()
    };
    for estimate in estimates(&first) {
        let (value, interval) = (estimate.value.unwrap(), estimate.interval.unwrap());
        assert!(interval.low < value && value < interval.high, "{estimate:?}");
    }
}

#[test]
fn chosen_models_are_compared_even_without_reviews() {
    let all = reviews(72);
    let models = [generate::model(0), ModelId::new("unknown").unwrap()];
    let found = compare(&rolled_up(&all), Some(&models));
    let whole = compare(&rolled_up(&all), None);
    let names: Vec<&str> = found.models.iter().map(|one| one.model.as_str()).collect();
    assert_eq!(names, ["unknown", models[0].as_str()]);
    let unknown = &found.models[0];
    assert_eq!(
        (unknown.reviews, unknown.success_rate.value, unknown.latency_p50_ms),
        (0, None, None)
    );
    let same = whole.models.iter().find(|one| one.model == models[0]).unwrap();
    assert_eq!(found.models[1].findings, same.findings);
    assert!(found.pairs.is_empty());
}

#[test]
fn sums_that_stop_say_so() {
    let mut all = reviews(73);
    let model = all[0].responses[0].model.clone();
    let mut rollup = Summary::of(&all.remove(0)).rollup;
    assert!(!rollup.models[&model].is_saturated());
    for _ in 0..70 {
        rollup.merge(&rollup.clone());
    }
    assert!(rollup.models[&model].is_saturated());
    let days = BTreeMap::from([(Day::utc(0), rollup)]);
    let found = compare(&days, Some(&[model]));
    assert!(found.models[0].is_saturated);
    assert!(found.models[0].success_rate.value.unwrap() > 0.0);
}

/// The largest review: every model responds, every finding has a category of its own, every file is listed.
#[test]
fn the_summary_of_the_largest_review_fits_in_an_item() {
    let mut review =
        generate::reviews(74, Shape { reviews: 1, models: 1, issues: 0, ..SMALL }).next().unwrap();
    let template = generate::reviews(75, Shape { reviews: 50, ..SMALL })
        .find_map(|one| Some((one.responses.first()?.clone(), one.findings.first()?.clone())));
    let (response, found) = template.unwrap();
    review.review.pull_request.files = (0..FILES_MAX).map(|file| format!("{file}")).collect();
    let models: Vec<ModelId> =
        (0..MODELS_MAX).map(|one| ModelId::new(format!("{one:0MODEL_ID_MAX$}")).unwrap()).collect();
    let respond = |model: &ModelId| {
        let (model, status) = (model.clone(), ResponseStatus::Success);
        weir_reviews::review::Response { model, status, ..response.clone() }
    };
    review.responses = models.iter().map(respond).collect();
    review.findings = (0..FINDINGS_MAX)
        .map(|number| {
            let mut one: RecordedFinding = found.clone();
            one.finding.model = models[number % MODELS_MAX].clone();
            one.finding.id = FindingId::new(number.to_string()).unwrap();
            one.finding.severity = Severity::ALL[number % 5];
            one.finding.category = Some(Category::new(format!("{number:0CATEGORY_MAX$}")).unwrap());
            one.finding.file_path = (number % FILES_MAX).to_string();
            one
        })
        .collect();
    let rollup = Summary::of(&review).rollup;
    assert_eq!(rollup.pairs.pairs.len(), MODELS_MAX * (MODELS_MAX - 1) / 2);
    let bytes = serde_json::to_string(&rollup).unwrap().len();
    assert!(bytes < weir_reviews::bounds::ROLLUP_DATA_MAX, "{bytes}");
    println!("{bytes} bytes");
}
