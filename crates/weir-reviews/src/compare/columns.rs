//! The days of a comparison as columns of each model and each pair, and the figures that have an interval.

use std::collections::BTreeMap;

use weir_calendar::Day;

use super::bootstrap::{Interval, Resamples, Statistic};
use crate::ids::ModelId;
use crate::rollup::{DayRollup, ModelDay, Pair, PairCounts};

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
        let days: Vec<&DayRollup> = days.values().filter(has_model).collect();
        let resamples = Resamples::new(days.len());
        let of_model = |model: &ModelId| {
            let columns = days.iter().map(|day| model_columns(day.models.get(model)));
            ModelIntervals::from(resamples.intervals(&Vec::from_iter(columns), MODEL_STATISTICS))
        };
        let of_pair = |pair: &Pair| {
            let columns = days.iter().map(|day| pair_columns(day.pairs.pairs.get(pair)));
            PairIntervals::from(resamples.intervals(&Vec::from_iter(columns), PAIR_STATISTICS))
        };
        Intervals {
            days: days.len() as u64,
            models: sum.models.keys().map(of_model).collect(),
            pairs: sum.pairs.pairs.keys().map(of_pair).collect(),
        }
    }
}

impl From<[Option<Interval>; 6]> for ModelIntervals {
    fn from(intervals: [Option<Interval>; 6]) -> ModelIntervals {
        let [success_rate, findings_per_review, consensus_share, acceptance_rate, cost, latency] =
            intervals;
        ModelIntervals {
            success_rate,
            findings_per_review,
            consensus_share,
            acceptance_rate,
            cost_per_consensus_finding: cost,
            latency_mean: latency,
        }
    }
}

impl From<[Option<Interval>; 2]> for PairIntervals {
    fn from([positive_agreement, kappa]: [Option<Interval>; 2]) -> PairIntervals {
        PairIntervals { positive_agreement, kappa }
    }
}

/// In the order of the fields of [`ModelIntervals`].
const MODEL_STATISTICS: [Statistic<9>; 6] = [
    |[reviews, successes, ..]| ratio(*successes, *reviews),
    |[reviews, _, findings, ..]| ratio(*findings, *reviews),
    |[_, _, findings, in_consensus, ..]| ratio(*in_consensus, *findings),
    |[.., accepted, judged, _, _, _]| ratio(*accepted, *judged),
    |[_, _, _, in_consensus, _, _, cost, ..]| ratio(cost * DOLLARS, *in_consensus),
    |[.., latency_ms, responses]| ratio(*latency_ms, *responses),
];

/// In the order of the fields of [`PairIntervals`].
const PAIR_STATISTICS: [Statistic<8>; 2] = [
    |[_, a, b, c, ..]| ratio(2.0 * a, 2.0 * a + b + c),
    |[.., a, b, c, d]| ratio(2.0 * (a * d - b * c), (a + b) * (b + d) + (a + c) * (c + d)),
];

fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

fn model_columns(day: Option<&ModelDay>) -> [f64; 9] {
    let columns = day.map_or([0; 9], |day| {
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
    });
    columns.map(float)
}

fn pair_columns(counts: Option<&PairCounts>) -> [f64; 8] {
    <[u64; 8]>::from(counts.copied().unwrap_or_default()).map(float)
}

#[expect(clippy::cast_precision_loss, reason = "the sums of a resample are estimates")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_read_their_columns() {
        let model = [10.0, 8.0, 40.0, 30.0, 3.0, 4.0, 6e6, 800.0, 8.0];
        let figures = MODEL_STATISTICS.map(|statistic| statistic(&model).unwrap());
        assert_eq!(figures, [0.8, 4.0, 0.75, 0.75, 0.2, 100.0]);
        let pair = [9.0, 3.0, 2.0, 4.0, 20.0, 5.0, 10.0, 15.0];
        assert_eq!(PAIR_STATISTICS.map(|statistic| statistic(&pair)), [Some(0.5), Some(0.4)]);
        assert_eq!(PAIR_STATISTICS.map(|statistic| statistic(&[0.0; 8])), [None, None]);
    }
}
