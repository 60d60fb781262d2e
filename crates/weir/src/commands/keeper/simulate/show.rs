//! The result of a simulation: a table of models, the events of the day, and a chart of its hours.

use serde_json::json;
use weir_calendar::Zone;
use weir_keeper::config::EffectiveConfig;
use weir_keeper::simulate::{
    ModelOutcome, Simulation, SimulationEvent, SimulationEventKind, SimulationReport,
};

use crate::bars;
use crate::commands::api_context::header;
use crate::commands::keeper::amount::cents;
use crate::failure::Failure;
use crate::output;

const DAY_MS: i64 = 86_400_000;

/// Prints the results: one, or one for each app.
pub(super) fn print(
    plan: &Simulation<'_>,
    reports: &[SimulationReport],
    plot: bool,
    json: bool,
) -> Result<(), Failure> {
    if json {
        let mut result = json!({
            "timezone": plan.config.timezone,
            "lag_ms": plan.lag_ms,
            "cache_ms": plan.cache_ms,
            "model_ordering": plan.config.model_ordering,
        });
        let (name, value) = match reports {
            [report] => ("report", json!(report)),
            reports => ("reports", json!(reports)),
        };
        if let Some(fields) = result.as_object_mut() {
            fields.insert(name.to_owned(), value);
        }
        return Ok(output::json(&result)?);
    }
    for report in reports {
        let app = report.app_id.as_ref();
        let config = app.and_then(|app| plan.apps.get(app)).unwrap_or(plan.config);
        if reports.len() > 1 {
            let app = app.map_or("submissions without an app", |app| app.as_str());
            output::line(format!("{}:", output::printable(app)))?;
        }
        one(report, &DayClock::new(report, &config.timezone), config, plot)?;
    }
    Ok(())
}

fn one(
    report: &SimulationReport,
    clock: &DayClock<'_>,
    config: &EffectiveConfig,
    plot: bool,
) -> std::io::Result<()> {
    models(report, clock)?;
    for event in &report.events {
        let what = happened(event, config.tight_mode_threshold_pct);
        output::line(format!("{}  {what}", clock.time(event.at_ms)))?;
    }
    if plot {
        chart(report, clock)?;
    }
    output::line(sum(report, clock.zone))?;
    // One app is the whole.
    for app in report.apps.iter().filter(|_| report.apps.len() > 1) {
        let (id, cost) = (output::printable(app.app_id.as_str()), app.cost_usd_micros);
        output::line(format!("  {id}: {cost} for {}", output::counted(app.requests, "request")))?;
    }
    Ok(())
}

fn models(report: &SimulationReport, clock: &DayClock<'_>) -> std::io::Result<()> {
    let at = |at_ms: Option<i64>| at_ms.map(|at_ms| clock.time(at_ms)).unwrap_or_default();
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

/// The local time of the org on a day. When the clocks change, an hour can occur twice, so that times need their offset.
struct DayClock<'a> {
    zone: &'a Zone,
    has_offsets: bool,
}

impl DayClock<'_> {
    fn new<'a>(report: &SimulationReport, zone: &'a Zone) -> DayClock<'a> {
        DayClock { zone, has_offsets: report.end_ms - report.start_ms != DAY_MS }
    }

    /// The time of a day, like `09:00:00`, or `09:00:00-05:00` when the clocks change.
    fn time(&self, at_ms: i64) -> String {
        self.part(at_ms, "09:00:00".len())
    }

    /// The hour of a day, like `09`, or `09-05:00` when the clocks change.
    fn hour(&self, at_ms: i64) -> String {
        self.part(at_ms, "09".len())
    }

    fn part(&self, at_ms: i64, length: usize) -> String {
        let local = self.zone.local_time(at_ms);
        let start = "2026-01-23T".len();
        let time = local.get(start..start + length).unwrap_or(&local);
        let offset = local.get("2026-01-23T09:00:00".len()..).filter(|_| self.has_offsets);
        format!("{time}{}", offset.unwrap_or_default())
    }
}

/// The spend in each hour, by model.
fn chart(report: &SimulationReport, clock: &DayClock<'_>) -> std::io::Result<()> {
    let mut hours: Vec<(String, Vec<i64>)> = Vec::new();
    for pair in report.series.windows(2) {
        let [from, to] = pair else { continue };
        let spent = from.spend_usd_micros.iter().zip(&to.spend_usd_micros);
        let spent: Vec<i64> = spent
            .map(|(from, to)| i64::try_from(to.saturating_sub(*from).0).unwrap_or(i64::MAX))
            .collect();
        let hour = clock.hour(from.at_ms);
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
