//! The result of a simulation: a table of models, the events of the day, and a chart of its hours.

use serde_json::json;
use weir_keeper::day::Zone;
use weir_keeper::simulate::{
    ModelOutcome, Simulation, SimulationEvent, SimulationEventKind, SimulationReport,
};

use crate::bars;
use crate::commands::api_context::header;
use crate::commands::keeper::amount::cents;
use crate::failure::Failure;
use crate::output;

/// Prints the result.
pub(super) fn print(
    plan: &Simulation<'_>,
    report: &SimulationReport,
    plot: bool,
    json: bool,
) -> Result<(), Failure> {
    let zone = &plan.config.timezone;
    if json {
        let result = json!({
            "timezone": zone,
            "lag_ms": plan.lag_ms,
            "model_ordering": plan.config.model_ordering,
            "report": report,
        });
        return Ok(output::json(&result)?);
    }
    models(report, zone)?;
    for event in &report.events {
        let what = happened(event, plan.config.tight_mode_threshold_pct);
        output::line(format!("{}  {what}", time(zone, event.at_ms)))?;
    }
    if plot {
        chart(report, zone)?;
    }
    Ok(output::line(sum(report, zone))?)
}

fn models(report: &SimulationReport, zone: &Zone) -> std::io::Result<()> {
    let at = |at_ms: Option<i64>| at_ms.map(|at_ms| time(zone, at_ms)).unwrap_or_default();
    let row = |model: &ModelOutcome| {
        vec![
            model.label.to_string(),
            output::thousands(model.requests),
            model.cost_usd_micros.to_string(),
            model.quota_usd_micros.to_string(),
            format!("{} %", model.quota_pct),
            model.overshoot_usd_micros.to_string(),
            at(model.first_used_at_ms),
            at(model.tight_at_ms),
            at(model.exceeded_at_ms),
        ]
    };
    let names = [
        "model",
        "requests",
        "spent",
        "quota",
        "used %",
        "overshoot",
        "used from",
        "tight",
        "exceeded",
    ];
    output::table(header(names), report.models.iter().map(row), &[1, 2, 3, 4, 5])
}

fn happened(event: &SimulationEvent, threshold_pct: u8) -> String {
    match &event.what {
        SimulationEventKind::Tight { label } => {
            format!("{label} is at {threshold_pct} % of its quota")
        }
        SimulationEventKind::Exceeded { label } => format!("{label} has spent its quota"),
        SimulationEventKind::Fallback { from, to } => format!("{from} → {to}"),
        SimulationEventKind::AllExceeded => "all quotas are spent: requests are refused".to_owned(),
    }
}

/// The local time of the org.
fn time(zone: &Zone, at_ms: i64) -> String {
    let local = zone.local_time(at_ms);
    local.get("2026-01-23T".len().."2026-01-23T09:00:00".len()).unwrap_or(&local).to_owned()
}

/// The spend in each hour, by model.
fn chart(report: &SimulationReport, zone: &Zone) -> std::io::Result<()> {
    let mut hours: Vec<(String, Vec<i64>)> = Vec::new();
    for pair in report.series.windows(2) {
        let [from, to] = pair else { continue };
        let spent = from.spend_usd_micros.iter().zip(&to.spend_usd_micros);
        let spent: Vec<i64> = spent
            .map(|(from, to)| i64::try_from(to.saturating_sub(*from).0).unwrap_or(i64::MAX))
            .collect();
        let hour = time(zone, from.at_ms).get(..2).unwrap_or_default().to_owned();
        match hours.last_mut() {
            Some((last, sums)) if *last == hour => {
                for (sum, more) in sums.iter_mut().zip(spent) {
                    *sum = sum.saturating_add(more);
                }
            }
            _ => hours.push((hour, spent)),
        }
    }
    let names: Vec<&str> = report.models.iter().map(|model| model.label.as_str()).collect();
    for line in bars::stacked(&names, &hours, cents) {
        output::line(line)?;
    }
    Ok(())
}

fn sum(report: &SimulationReport, zone: &Zone) -> String {
    let refused = match report.refused {
        0 => String::new(),
        refused => format!(", {} refused", output::thousands(refused)),
    };
    let outside = match report.outside {
        0 => String::new(),
        outside => format!("; {} of other days skipped", output::thousands(outside)),
    };
    format!(
        "{} in {}: {} for {}{refused}{outside}",
        report.day,
        zone.name(),
        report.cost_usd_micros,
        output::counted(report.served, "request"),
    )
}
