//! Days by the hour, and simulated days.

use std::collections::BTreeMap;

use weir_api::keeper as wire;
use weir_framework::time::time;
use weir_keeper::counters::Counters;
use weir_keeper::hours::{DayHours, HourSpend};
use weir_keeper::ids::Label;
use weir_keeper::money::MicroUsd;
use weir_keeper::simulate::{ModelOutcome, SimulationEvent, SimulationEventKind, SimulationReport};
use weir_keeper::what_if::{WhatIf, WhatIfReport, cumulative};

use super::runtime::percent;

pub(in crate::keeper) fn day_hours(day: DayHours) -> wire::DayHours {
    wire::DayHours {
        org_id: day.org_id.to_string(),
        app_id: day.app_id.map(|app| app.to_string()),
        date: day.date.to_string(),
        timezone: day.timezone.name().to_owned(),
        is_recorded: day.is_recorded,
        labels: day.models.keys().map(Label::to_string).collect(),
        hours: day.hours.iter().map(hour).collect(),
    }
}

fn hour(hour: &HourSpend) -> wire::HourSpend {
    let spend = hour.models.values().fold(MicroUsd::ZERO, |sum, one| sum.saturating_add(*one));
    wire::HourSpend {
        start: time(hour.start_ms),
        spent_usd_micros: spend.0,
        models: amounts(&hour.models),
    }
}

fn amounts(models: &BTreeMap<Label, MicroUsd>) -> BTreeMap<String, u64> {
    models.iter().map(|(label, amount)| (label.to_string(), amount.0)).collect()
}

pub(in crate::keeper) fn what_if(request: wire::SimulationRequest) -> WhatIf {
    WhatIf {
        model_ordering: request.model_ordering,
        quotas: request.quotas,
        sticky_fallback_enabled: request.sticky_fallback_enabled,
        tight_mode_threshold_pct: request.tight_mode_threshold_pct,
    }
}

pub(in crate::keeper) fn simulation(report: WhatIfReport) -> wire::SimulationResponse {
    let (day, per_row) = (report.recorded, report.requests_per_row);
    let totals = Counters::sum(day.models.values().copied());
    let model = |(label, counters): (&Label, &Counters)| wire::RecordedModel {
        label: label.to_string(),
        requests: counters.requests,
        cost_usd_micros: counters.cost.0,
    };
    let point = |(at_ms, spend): (i64, BTreeMap<Label, MicroUsd>)| wire::SpendPoint {
        at: time(at_ms),
        spend_usd_micros: amounts(&spend),
    };
    wire::SimulationResponse {
        org_id: day.org_id.to_string(),
        date: day.date.to_string(),
        timezone: day.timezone.name().to_owned(),
        requests: totals.requests,
        requests_per_step: per_row,
        recorded: wire::RecordedDay {
            cost_usd_micros: totals.cost.0,
            models: day.models.iter().map(model).collect(),
            series: cumulative(&day).into_iter().map(point).collect(),
        },
        simulated: report.simulated.into_iter().map(|day| simulated(day, per_row)).collect(),
    }
}

fn simulated(day: SimulationReport, per_row: u64) -> wire::SimulatedDay {
    let labels: Vec<String> = day.models.iter().map(|model| model.label.to_string()).collect();
    let point = |at_ms: i64, spend: &[MicroUsd]| wire::SpendPoint {
        at: time(at_ms),
        spend_usd_micros: labels.iter().cloned().zip(spend.iter().map(|spend| spend.0)).collect(),
    };
    wire::SimulatedDay {
        app_id: day.app_id.map(|app| app.to_string()),
        cost_usd_micros: day.cost_usd_micros.0,
        served: day.served.saturating_mul(per_row),
        refused: day.refused.saturating_mul(per_row),
        series: day.series.iter().map(|at| point(at.at_ms, &at.spend_usd_micros)).collect(),
        models: day.models.into_iter().map(|model| outcome(&model, per_row)).collect(),
        events: day.events.into_iter().map(event).collect(),
    }
}

fn outcome(model: &ModelOutcome, per_row: u64) -> wire::SimulatedModel {
    wire::SimulatedModel {
        label: model.label.to_string(),
        requests: model.requests.saturating_mul(per_row),
        cost_usd_micros: model.cost_usd_micros.0,
        quota_usd_micros: model.quota_usd_micros.0,
        quota_pct: percent(model.quota_pct),
        overshoot_usd_micros: model.overshoot_usd_micros.0,
        first_used_at: model.first_used_at_ms.map(time),
        tight_at: model.tight_at_ms.map(time),
        exceeded_at: model.exceeded_at_ms.map(time),
    }
}

fn event(event: SimulationEvent) -> wire::SimulatedEvent {
    use wire::SimulatedEventKind as Kind;
    let (kind, label, from, to) = match event.what {
        SimulationEventKind::Tight { label } => (Kind::Tight, Some(label), None, None),
        SimulationEventKind::Exceeded { label } => (Kind::Exceeded, Some(label), None, None),
        SimulationEventKind::Fallback { from, to } => (Kind::Fallback, None, Some(from), Some(to)),
        SimulationEventKind::AllExceeded => (Kind::AllExceeded, None, None, None),
    };
    let text = |label: Option<Label>| label.map(|label| label.to_string());
    wire::SimulatedEvent {
        at: time(event.at_ms),
        event: kind,
        label: text(label),
        from: text(from),
        to: text(to),
    }
}
