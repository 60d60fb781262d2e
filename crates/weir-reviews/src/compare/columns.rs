//! The days of a comparison as a matrix: a row for each day, columns for each model and each pair.

use std::collections::BTreeMap;

use super::bootstrap::{Interval, Statistic, intervals};
use crate::rollup::{Day, DayRollup, ModelDay, PairCounts};

const MODEL_COLUMNS: usize = 9;
const PAIR_COLUMNS: usize = 7;
/// Micro-USD to dollars.
pub(super) const DOLLARS: f64 = 1e-6;

/// The intervals of a model's figures.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ModelIntervals {
    pub(super) success_rate: Option<Interval>,
    pub(super) findings_per_review: Option<Interval>,
    pub(super) consensus_share: Option<Interval>,
    pub(super) acceptance_rate: Option<Interval>,
    pub(super) cost_per_consensus_finding: Option<Interval>,
    pub(super) latency_mean: Option<Interval>,
}

/// The intervals of a pair's figures.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PairIntervals {
    pub(super) positive_agreement: Option<Interval>,
    pub(super) kappa: Option<Interval>,
}

/// All intervals of a comparison, in the order of its models and pairs.
pub(super) struct Intervals {
    /// Days with reviews of the models.
    pub(super) days: u64,
    pub(super) models: Vec<ModelIntervals>,
    pub(super) pairs: Vec<PairIntervals>,
}

impl Intervals {
    /// The intervals of the models and pairs of `sum` over `days`.
    pub(super) fn new(days: &BTreeMap<Day, DayRollup>, sum: &DayRollup) -> Intervals {
        let has_model =
            |day: &&DayRollup| sum.models.keys().any(|model| day.models.contains_key(model));
        let rows: Vec<Vec<f64>> =
            days.values().filter(has_model).map(|day| row(day, sum)).collect();
        let pairs_from = sum.models.len() * MODEL_COLUMNS;
        let of_models =
            (0..sum.models.len()).flat_map(|number| model_statistics(number * MODEL_COLUMNS));
        let of_pairs = (0..sum.pairs.pairs.len())
            .flat_map(|number| pair_statistics(pairs_from + number * PAIR_COLUMNS));
        let statistics: Vec<Statistic> = of_models.chain(of_pairs).collect();
        let mut found = intervals(&rows, &statistics).into_iter();
        let mut next = || found.next().flatten();
        let models = sum.models.keys().map(|_| ModelIntervals {
            success_rate: next(),
            findings_per_review: next(),
            consensus_share: next(),
            acceptance_rate: next(),
            cost_per_consensus_finding: next(),
            latency_mean: next(),
        });
        let models = models.collect();
        let pairs = sum.pairs.pairs.keys();
        let pairs =
            pairs.map(|_| PairIntervals { positive_agreement: next(), kappa: next() }).collect();
        Intervals { days: rows.len() as u64, models, pairs }
    }
}

/// In the order of the fields of [`ModelIntervals`].
fn model_statistics(from: usize) -> [Statistic; 6] {
    let ratio =
        |over, under, scale| Statistic::Ratio { over: from + over, under: from + under, scale };
    [
        ratio(1, 0, 1.0),
        ratio(2, 0, 1.0),
        ratio(3, 2, 1.0),
        ratio(4, 5, 1.0),
        ratio(6, 3, DOLLARS),
        ratio(7, 8, 1.0),
    ]
}

/// In the order of the fields of [`PairIntervals`].
fn pair_statistics(from: usize) -> [Statistic; 2] {
    [Statistic::PositiveAgreement(from), Statistic::Kappa(from + 3)]
}

fn row(day: &DayRollup, sum: &DayRollup) -> Vec<f64> {
    let models = sum.models.keys().flat_map(|model| model_columns(day.models.get(model)));
    let pairs = sum.pairs.pairs.keys().flat_map(|pair| pair_columns(day.pairs.pairs.get(pair)));
    models.chain(pairs).map(float).collect()
}

fn model_columns(day: Option<&ModelDay>) -> [u64; MODEL_COLUMNS] {
    day.map_or([0; MODEL_COLUMNS], |day| {
        [
            day.reviews(),
            day.successes,
            day.total.findings,
            day.total.in_consensus,
            day.total.accepted,
            day.total.judged(),
            day.cost.0,
            day.latency_ms.sum(),
            day.latency_ms.count(),
        ]
    })
}

fn pair_columns(counts: Option<&PairCounts>) -> [u64; PAIR_COLUMNS] {
    let counts = counts.copied().unwrap_or_default();
    let [_, columns @ ..] = <[u64; 8]>::from(counts);
    columns
}

#[expect(clippy::cast_precision_loss, reason = "the sums of a resample are estimates")]
fn float(count: u64) -> f64 {
    count as f64
}
