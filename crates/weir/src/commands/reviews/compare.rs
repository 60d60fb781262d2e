//! `weir reviews compare`: which model is worth its money.

use clap::Args;
use weir_api::reviews::{CompareParams, Comparison, Estimate, ModelComparison, PairComparison};

use super::amount;
use super::repository::Repository;
use crate::commands::api_context::{ApiContext, rows, with_params};
use crate::failure::Failure;
use crate::time::GivenTime;
use crate::{bars, output};

const AFTER_HELP: &str = "\
Examples:
  weir reviews compare
  weir reviews compare --models gpt-5,claude-sonnet-4 --from 2026-01-01 --to 2026-02-01
  weir reviews compare --repo acme/shop --json

in consensus   share of the findings that other models made too
only it        findings that no other model made
accepted       share of the findings with feedback that were accepted
agreement      2a/(2a+b+c): a issues that both found, b and c findings of one of them only
kappa          Cohen's kappa over (review, file, category): 0 is chance, 1 is full agreement

A range in brackets is a 95 % interval. The job reviews-rollup of a server sums new reviews \
every few seconds (jobs.aggregate_interval_secs).";

/// Flags of `weir reviews compare`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct CompareArgs {
    /// Models to compare, for example gpt-5,claude-sonnet-4 [default: up to 20 with the most reviews]
    #[arg(long, value_name = "ID,ID", value_delimiter = ',')]
    models: Vec<String>,
    /// First day, in UTC: 2026-01-31, 7d (ago), today or yesterday [default: 90 days before --to]
    #[arg(long, value_name = "DAY")]
    from: Option<GivenTime>,
    /// Day after the last one, in UTC, up to 400 days after --from [default: tomorrow]
    #[arg(long, value_name = "DAY")]
    to: Option<GivenTime>,
    /// Repository, for example acme/shop [default: all repositories]
    #[arg(long, value_name = "OWNER/REPO")]
    repo: Option<Repository>,
}

pub(super) async fn run(context: &ApiContext<'_>, args: CompareArgs) -> Result<(), Failure> {
    let params = CompareParams {
        models: Some(args.models.join(",")).filter(|models| !models.is_empty()),
        from: args.from.map(|day| day.utc_day()).transpose()?,
        to: args.to.map(|day| day.utc_day()).transpose()?,
        repo: args.repo.map(|repo| repo.to_string()),
    };
    let path = with_params(&context.path(&["compare"]), &params)?;
    let comparison: Comparison = context.api.get(&path).await?;
    context.print(&comparison, show)
}

fn show(comparison: &Comparison) -> std::io::Result<()> {
    if comparison.models.iter().all(|model| model.reviews == 0) {
        output::line(format!("no reviews {}", period(comparison)))?;
        return output::line(
            "the job reviews-rollup sums new reviews: weir jobs run reviews-rollup",
        );
    }
    quality(&comparison.models)?;
    expense(&comparison.models)?;
    if !comparison.pairs.is_empty() {
        pairs(&comparison.pairs)?;
    }
    chart(&comparison.models)?;
    about(comparison)
}

fn quality(models: &[ModelComparison]) -> std::io::Result<()> {
    rows(
        models,
        &[
            ("model", |model| output::printable(&model.model_id)),
            ("reviews", |model| output::thousands(model.reviews)),
            ("success", |model| estimate(&model.success_rate, amount::percent)),
            ("findings", |model| output::thousands(model.findings.findings)),
            ("per review", |model| estimate(&model.findings_per_review, number)),
            ("in consensus", |model| estimate(&model.consensus_share, amount::percent)),
            ("only it", |model| output::thousands(model.findings.only_it)),
            ("accepted", |model| estimate(&model.acceptance_rate, amount::percent)),
        ],
    )
}

fn expense(models: &[ModelComparison]) -> std::io::Result<()> {
    rows(
        models,
        &[
            ("model", |model| output::printable(&model.model_id)),
            ("cost", |model| amount::dollars(&model.cost_usd)),
            ("per consensus finding", |model| {
                estimate(&model.cost_per_consensus_finding_usd, amount::rounded_dollars)
            }),
            ("latency", |model| estimate(&model.latency_mean_ms, milliseconds)),
            ("p50", |model| model.latency_p50_ms.map(amount::seconds).unwrap_or_default()),
            ("p95", |model| model.latency_p95_ms.map(amount::seconds).unwrap_or_default()),
            ("input", |model| output::thousands(model.input_tokens)),
            ("output", |model| output::thousands(model.output_tokens)),
        ],
    )
}

fn pairs(pairs: &[PairComparison]) -> std::io::Result<()> {
    rows(
        pairs,
        &[
            ("models", |pair| output::printable(&pair.models.join(" and "))),
            ("reviews", |pair| output::thousands(pair.reviews)),
            ("both", |pair| output::thousands(pair.shared)),
            ("only first", |pair| output::thousands(pair.only_first)),
            ("only second", |pair| output::thousands(pair.only_second)),
            ("agreement", |pair| estimate(&pair.positive_agreement, number)),
            ("kappa", |pair| estimate(&pair.kappa, number)),
        ],
    )
}

/// Bars of the cost per consensus finding; models without one are left out.
fn chart(models: &[ModelComparison]) -> std::io::Result<()> {
    let values = models.iter().filter_map(|model| {
        let value = model.cost_per_consensus_finding_usd.value?;
        let micros = amount::micros(&format!("{value:.6}"))?;
        Some((output::printable(&model.model_id), i64::try_from(micros).unwrap_or(i64::MAX)))
    });
    let values: Vec<(String, i64)> = values.collect();
    if values.is_empty() {
        return Ok(());
    }
    let widest = values.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let values = values.into_iter().map(|(name, value)| (format!("{name:widest$}"), value));
    output::line("cost per consensus finding")?;
    let dollars = |micros: i64| amount::dollars_of_micros(micros.unsigned_abs());
    for line in bars::lines(&values.collect::<Vec<_>>(), dollars) {
        output::line(line)?;
    }
    Ok(())
}

fn about(comparison: &Comparison) -> std::io::Result<()> {
    let days = output::counted(comparison.days, "day");
    output::line(format!("{} with reviews {}", days, period(comparison)))?;
    for (count, what) in [
        (comparison.models_left_out, "model with fewer reviews"),
        (comparison.pairs_left_out, "pair on days with too many of them"),
    ] {
        if count > 0 {
            output::line(format!("left out: {} {what}", output::thousands(count)))?;
        }
    }
    match comparison.models.iter().any(|model| model.is_saturated) {
        true => output::line("some sums reached their bound, so that figures are too small"),
        false => Ok(()),
    }
}

fn period(comparison: &Comparison) -> String {
    let of = comparison.repo.as_deref().map_or_else(String::new, |repo| format!(" of {repo}"));
    format!("from {} until before {}{of}", comparison.from, comparison.to)
}

/// A figure with its interval: `0.62 [0.55, 0.70]`; nothing where it is undefined.
fn estimate(estimate: &Estimate, shown: fn(f64) -> String) -> String {
    match (estimate.value, &estimate.interval) {
        (None, _) => String::new(),
        (Some(value), None) => shown(value),
        (Some(value), Some(interval)) => {
            format!("{} [{}, {}]", shown(value), shown(interval.low), shown(interval.high))
        }
    }
}

fn number(value: f64) -> String {
    format!("{value:.2}")
}

fn milliseconds(value: f64) -> String {
    format!("{:.1} s", value / 1_000.0)
}
