//! Compares models over days: what they found, how far they agree, and what they cost.
//!
//! [`read()`] reads the rollups of the days and hands them to [`compare`], which is a pure function. Sums are exact. Shares
//! are ratios of sums over the whole range, not means of daily shares.

mod bootstrap;
mod columns;
mod ratio;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use weir_table::{Backend, Store};

pub use bootstrap::Interval;
pub use ratio::Ratio;
use weir_calendar::Day;

use self::columns::{DOLLARS, Intervals, ModelIntervals, PairIntervals};
use crate::bounds::COMPARE_MODELS_MAX;
use crate::error::{Error, Result};
use crate::finding::Severity;
use crate::ids::{Category, ModelId};
use crate::money::MicroUsd;
use crate::rollup::{
    DayRange, DayRollup, FindingCounts, Level, ModelDay, Pair, PairCounts, RollupTable, read_days,
};

/// A figure with the size of its sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The figure; `None` where it is undefined.
    pub value: Option<f64>,
    /// Number of observations: the denominator of a share, the units of κ.
    pub sample: u64,
    /// The 95 % interval of the figure; `None` with less than two days.
    pub interval: Option<Interval>,
}

/// Findings of a severity or category.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FindingGroup {
    /// The counts.
    pub counts: FindingCounts,
    /// Share of the findings that other models made too.
    pub consensus_share: Option<f64>,
    /// Share of the judged findings that were accepted.
    pub acceptance_rate: Option<f64>,
}

impl FindingGroup {
    fn new(counts: FindingCounts) -> FindingGroup {
        FindingGroup {
            counts,
            consensus_share: Ratio::new(counts.in_consensus, counts.findings).value(),
            acceptance_rate: Ratio::new(counts.accepted, counts.judged()).value(),
        }
    }
}

/// The figures of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelComparison {
    /// The model.
    pub model: ModelId,
    /// Reviews that it took part in.
    pub reviews: u64,
    /// Reviews in which it responded.
    pub successes: u64,
    /// Reviews in which it failed.
    pub errors: u64,
    /// Reviews in which it took too long.
    pub timeouts: u64,
    /// Share of the reviews in which it responded.
    pub success_rate: Estimate,
    /// All its findings.
    pub findings: FindingCounts,
    /// Findings divided by the reviews that it took part in.
    pub findings_per_review: Estimate,
    /// Share of its findings that other models made too.
    pub consensus_share: Estimate,
    /// Share of its judged findings that were accepted.
    pub acceptance_rate: Estimate,
    /// Cost of all its responses.
    pub cost: MicroUsd,
    /// Cost divided by its findings in a consensus, in dollars.
    pub cost_per_consensus_finding_usd: Estimate,
    /// Mean latency of its successful responses, in milliseconds.
    pub latency_mean_ms: Estimate,
    /// Latency that half of its successful responses do not exceed, in milliseconds, within 1 %.
    pub latency_p50_ms: Option<u64>,
    /// Latency that 95 % of its successful responses do not exceed, in milliseconds, within 1 %.
    pub latency_p95_ms: Option<u64>,
    /// Tokens that it read.
    pub input_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// Findings by severity, the worst first.
    pub by_severity: Vec<(Severity, FindingGroup)>,
    /// Findings by category; `None` are those without one.
    pub by_category: Vec<(Option<Category>, FindingGroup)>,
    /// Findings of categories that were too many to be counted apart.
    pub rare_categories: FindingGroup,
    /// Whether a sum stopped at its bound, so that figures are too small.
    pub is_saturated: bool,
}

/// How far two models agree.
#[derive(Debug, Clone, PartialEq)]
pub struct PairComparison {
    /// The models.
    pub pair: Pair,
    /// The sums behind the figures.
    pub counts: PairCounts,
    /// Positive agreement over findings, from 0 to 1; the sample is the findings of both.
    pub positive_agreement: Estimate,
    /// Cohen's κ over units (review, file, category), from −1 to 1; the sample is the units.
    pub kappa: Estimate,
}

/// A comparison of models.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// Days on which the models took part in a review.
    pub days: u64,
    /// The models, in alphabetical order.
    pub models: Vec<ModelComparison>,
    /// Their pairs, in alphabetical order.
    pub pairs: Vec<PairComparison>,
    /// Models with fewer reviews that were left out, if no models were asked for.
    pub models_left_out: u64,
    /// Pairs on days that had too many to be counted; their models may be among those compared.
    pub pairs_left_out: u64,
}

/// Compares models over the rollups of days of a repository, or of all. Without `models`, compares those with the most
/// reviews.
///
/// # Errors
/// Too many models are asked for, a rollup cannot be read, or the store fails.
pub async fn read<B: Backend>(
    store: &Store<B>,
    table: &RollupTable,
    level: &Level,
    range: DayRange,
    models: Option<&[ModelId]>,
) -> Result<Comparison> {
    if let Some(count) = models.map(<[ModelId]>::len)
        && !(1..=COMPARE_MODELS_MAX).contains(&count)
    {
        let problem = format!("has {count} models; 1 to {COMPARE_MODELS_MAX} are allowed");
        return Err(Error::invalid("models", problem));
    }
    Ok(compare(&read_days(store, table, level, range).await?, models))
}

/// Compares models over days.
#[must_use]
pub fn compare(days: &BTreeMap<Day, DayRollup>, models: Option<&[ModelId]>) -> Comparison {
    let mut sum = DayRollup::default();
    days.values().for_each(|day| sum.merge(day));
    let chosen =
        models.map_or_else(|| most_reviewed(&sum), |models| models.iter().cloned().collect());
    let models_left_out = match models {
        Some(_) => 0,
        None => (sum.models.len() - chosen.len()) as u64,
    };
    sum.models.retain(|model, _| chosen.contains(model));
    sum.pairs.pairs.retain(|pair, _| chosen.contains(&pair.first) && chosen.contains(&pair.second));
    for model in chosen {
        sum.models.entry(model).or_default();
    }
    let intervals = Intervals::new(days, &sum);
    let models = sum.models.iter().zip(&intervals.models);
    let pairs = sum.pairs.pairs.iter().zip(&intervals.pairs);
    Comparison {
        days: intervals.days,
        models: models.map(|((model, day), intervals)| of_model(model, day, intervals)).collect(),
        pairs: pairs.map(|((pair, counts), intervals)| of_pair(pair, counts, intervals)).collect(),
        models_left_out,
        pairs_left_out: sum.pairs.left_out,
    }
}

fn most_reviewed(sum: &DayRollup) -> BTreeSet<ModelId> {
    let mut ranked: Vec<(&ModelId, &ModelDay)> = sum.models.iter().collect();
    ranked.sort_by_key(|(_, day)| Reverse(day.reviews()));
    ranked.into_iter().take(COMPARE_MODELS_MAX).map(|(model, _)| model.clone()).collect()
}

fn of_model(model: &ModelId, day: &ModelDay, intervals: &ModelIntervals) -> ModelComparison {
    let FindingCounts { findings, in_consensus, accepted, .. } = day.total;
    let (reviews, judged) = (day.reviews(), day.total.judged());
    let micros_per_finding = estimate(day.cost.0, in_consensus, None);
    let by_severity = Severity::ALL.into_iter().zip(day.by_severity);
    let by_category = day.by_category.iter();
    ModelComparison {
        model: model.clone(),
        reviews,
        successes: day.successes,
        errors: day.errors,
        timeouts: day.timeouts,
        success_rate: estimate(day.successes, reviews, intervals.success_rate),
        findings: day.total,
        findings_per_review: estimate(findings, reviews, intervals.findings_per_review),
        consensus_share: estimate(in_consensus, findings, intervals.consensus_share),
        acceptance_rate: estimate(accepted, judged, intervals.acceptance_rate),
        cost: day.cost,
        cost_per_consensus_finding_usd: Estimate {
            value: micros_per_finding.value.map(|micros| micros * DOLLARS),
            sample: in_consensus,
            interval: intervals.cost_per_consensus_finding,
        },
        latency_mean_ms: estimate(
            day.latency_ms.sum(),
            day.latency_ms.count(),
            intervals.latency_mean,
        ),
        latency_p50_ms: day.latency_ms.percentile(50),
        latency_p95_ms: day.latency_ms.percentile(95),
        input_tokens: day.input_tokens,
        output_tokens: day.output_tokens,
        by_severity: by_severity
            .map(|(severity, counts)| (severity, FindingGroup::new(counts)))
            .collect(),
        by_category: by_category
            .map(|(category, counts)| (category.clone(), FindingGroup::new(*counts)))
            .collect(),
        rare_categories: FindingGroup::new(day.rare_categories),
        is_saturated: day.is_saturated(),
    }
}

fn of_pair(pair: &Pair, counts: &PairCounts, intervals: &PairIntervals) -> PairComparison {
    let findings = [counts.shared, counts.shared, counts.only_first, counts.only_second];
    let units = [counts.units_both, counts.units_first, counts.units_second, counts.units_neither];
    let sum = |counts: [u64; 4]| counts.into_iter().fold(0, u64::saturating_add);
    PairComparison {
        pair: pair.clone(),
        counts: *counts,
        positive_agreement: Estimate {
            value: Ratio::positive_agreement(counts).value(),
            sample: sum(findings),
            interval: intervals.positive_agreement,
        },
        kappa: Estimate {
            value: Ratio::kappa(counts).value(),
            sample: sum(units),
            interval: intervals.kappa,
        },
    }
}

fn estimate(numerator: u64, denominator: u64, interval: Option<Interval>) -> Estimate {
    Estimate { value: Ratio::new(numerator, denominator).value(), sample: denominator, interval }
}
