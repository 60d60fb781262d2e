//! The report of a simulation, ready for a table and a chart.

use serde::Serialize;

use crate::day::OrgDay;
use crate::ids::{AppId, Label};
use crate::money::{MicroUsd, Percent};

/// A simulated day of an org, or of an app with its own quotas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulationReport {
    /// The app; `None` where all apps share the quotas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_id: Option<AppId>,
    /// The day.
    pub day: OrgDay,
    /// Start of the day, in milliseconds since 1970.
    pub start_ms: i64,
    /// End of the day, in milliseconds since 1970.
    pub end_ms: i64,
    /// Every model, in the order of the chain.
    pub models: Vec<ModelOutcome>,
    /// Events in order of time.
    pub events: Vec<SimulationEvent>,
    /// Total spend, in micro-USD.
    pub cost_usd_micros: MicroUsd,
    /// Number of submissions served.
    pub served: u64,
    /// Number of submissions refused because all quotas were exceeded.
    pub refused: u64,
    /// Number of submissions of other days, skipped.
    pub outside: u64,
    /// Spend by app, of the apps that the submissions name.
    pub apps: Vec<AppSpend>,
    /// Spend on each model over time.
    pub series: Vec<ChartPoint>,
}

/// The part of an app in the spend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AppSpend {
    /// The app.
    pub app_id: AppId,
    /// Number of submissions served.
    pub requests: u64,
    /// Spend, in micro-USD.
    pub cost_usd_micros: MicroUsd,
}

/// The result of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelOutcome {
    /// The model label.
    pub label: Label,
    /// Number of submissions served.
    pub requests: u64,
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Spend on the model, in micro-USD.
    pub cost_usd_micros: MicroUsd,
    /// Daily quota, in micro-USD.
    pub quota_usd_micros: MicroUsd,
    /// Spend as a percentage of the quota.
    pub quota_pct: Percent,
    /// Spend beyond the quota, before the totals showed it and the apps selected again, in micro-USD.
    pub overshoot_usd_micros: MicroUsd,
    /// When it was first used, in milliseconds since 1970.
    pub first_used_at_ms: Option<i64>,
    /// When its spend reached the threshold, in milliseconds since 1970.
    pub tight_at_ms: Option<i64>,
    /// When its spend reached the quota, in milliseconds since 1970.
    pub exceeded_at_ms: Option<i64>,
}

/// An event of a simulated day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulationEvent {
    /// Time of the event, in milliseconds since 1970.
    pub at_ms: i64,
    /// The kind of the event.
    #[serde(flatten)]
    pub what: SimulationEventKind,
}

/// The kinds of events of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SimulationEventKind {
    /// The spend of a model reached its threshold.
    Tight {
        /// The model.
        label: Label,
    },
    /// The spend of a model reached its quota.
    Exceeded {
        /// The model.
        label: Label,
    },
    /// The totals showed it, and another model was recommended from then on.
    Fallback {
        /// The model before.
        from: Label,
        /// The model after.
        to: Label,
    },
    /// The totals showed that all quotas were exceeded.
    AllExceeded,
}

/// A point of the chart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChartPoint {
    /// Time of the point, in milliseconds since 1970.
    pub at_ms: i64,
    /// Spend on each model until then, in micro-USD, in the order of the chain.
    pub spend_usd_micros: Vec<MicroUsd>,
}
