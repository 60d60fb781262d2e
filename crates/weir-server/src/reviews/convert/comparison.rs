//! Comparisons and rollups, from the domain to the wire.

use weir_api::reviews as api;
use weir_reviews::compare::{Comparison, Estimate, FindingGroup, ModelComparison, PairComparison};
use weir_reviews::ids::{Owner, Repo};
use weir_reviews::rollup::{DayRange, Difference, FindingCounts, Level, VerifyReport};

use super::response::severity;

/// The rollups of a repository, or of all.
pub(in crate::reviews) fn level(repository: Option<(Owner, Repo)>) -> Level {
    repository.map_or(Level::All, |(owner, repo)| Level::Repository(owner, repo))
}

/// `owner/repo`, or none for all.
pub(in crate::reviews) fn level_text(level: &Level) -> Option<String> {
    match level {
        Level::Repository(owner, repo) => Some(format!("{owner}/{repo}")),
        Level::All => None,
    }
}

/// A comparison of models.
pub(in crate::reviews) fn comparison(
    comparison: Comparison,
    repo: Option<String>,
    range: DayRange,
) -> api::Comparison {
    api::Comparison {
        from: range.from().to_string(),
        to: range.to().to_string(),
        repo,
        days: comparison.days,
        models: comparison.models.into_iter().map(model).collect(),
        pairs: comparison.pairs.into_iter().map(pair).collect(),
        models_left_out: comparison.models_left_out,
        pairs_left_out: comparison.pairs_left_out,
    }
}

fn model(model: ModelComparison) -> api::ModelComparison {
    let of_severity =
        |(of, group)| api::SeverityFigures { severity: severity(of), figures: figures(&group) };
    api::ModelComparison {
        model_id: model.model.to_string(),
        reviews: model.reviews,
        successes: model.successes,
        errors: model.errors,
        timeouts: model.timeouts,
        success_rate: estimate(model.success_rate),
        findings: counts(&model.findings),
        findings_per_review: estimate(model.findings_per_review),
        consensus_share: estimate(model.consensus_share),
        acceptance_rate: estimate(model.acceptance_rate),
        cost_usd: model.cost.to_string(),
        cost_per_consensus_finding_usd: estimate(model.cost_per_consensus_finding_usd),
        latency_mean_ms: estimate(model.latency_mean_ms),
        latency_p50_ms: model.latency_p50_ms,
        latency_p95_ms: model.latency_p95_ms,
        input_tokens: model.input_tokens,
        output_tokens: model.output_tokens,
        by_severity: model.by_severity.into_iter().map(of_severity).collect(),
        by_category: model
            .by_category
            .into_iter()
            .map(|(category, group)| api::CategoryFigures {
                category: category.map(|category| category.to_string()),
                figures: figures(&group),
            })
            .collect(),
        rare_categories: figures(&model.rare_categories),
        is_saturated: model.is_saturated,
    }
}

fn pair(pair: PairComparison) -> api::PairComparison {
    let counts = pair.counts;
    api::PairComparison {
        models: vec![pair.pair.first.to_string(), pair.pair.second.to_string()],
        reviews: counts.reviews,
        shared: counts.shared,
        only_first: counts.only_first,
        only_second: counts.only_second,
        units_both: counts.units_both,
        units_first: counts.units_first,
        units_second: counts.units_second,
        units_neither: counts.units_neither,
        positive_agreement: estimate(pair.positive_agreement),
        kappa: estimate(pair.kappa),
    }
}

fn estimate(estimate: Estimate) -> api::Estimate {
    let interval = estimate.interval.map(|of| api::Interval { low: of.low, high: of.high });
    api::Estimate { value: estimate.value, sample: estimate.sample, interval }
}

fn figures(group: &FindingGroup) -> api::FindingFigures {
    api::FindingFigures {
        counts: counts(&group.counts),
        consensus_share: group.consensus_share,
        acceptance_rate: group.acceptance_rate,
    }
}

fn counts(counts: &FindingCounts) -> api::FindingCounts {
    api::FindingCounts {
        findings: counts.findings,
        in_consensus: counts.in_consensus,
        only_it: counts.only_it(),
        accepted: counts.accepted,
        dismissed: counts.dismissed,
    }
}

/// The result of a verification.
pub(in crate::reviews) fn verification(
    report: VerifyReport,
    recomputed: u64,
) -> api::VerifyRollupsResponse {
    let difference = |one: Difference| api::RollupDifference {
        repo: level_text(&one.level),
        day: one.day.to_string(),
        part: one.part,
        stored: one.stored,
        computed: one.computed,
    };
    api::VerifyRollupsResponse {
        days: report.days,
        differing: report.differing,
        differences: report.differences.into_iter().map(difference).collect(),
        failures: report.failures,
        is_pending: report.is_pending,
        recomputed,
    }
}
