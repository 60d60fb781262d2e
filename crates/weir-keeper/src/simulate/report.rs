//! What a replay tells, ready for a table and a chart.

use serde::Serialize;

use crate::day::OrgDay;
use crate::ids::Label;
use crate::money::{MicroUsd, Percent};

/// A day as it would have been.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The day.
    pub day: OrgDay,
    /// Its first instant, in milliseconds since 1970.
    pub start_ms: i64,
    /// The first instant after it.
    pub end_ms: i64,
    /// Every model of the chain, in its order.
    pub models: Vec<ModelOutcome>,
    /// What happened, in the order of time.
    pub events: Vec<Event>,
    /// What was spent in all.
    pub cost_usd_micros: MicroUsd,
    /// Submissions that were served.
    pub served: u64,
    /// Submissions for which no model was open.
    pub refused: u64,
    /// Submissions of other days, passed over.
    pub outside: u64,
    /// What had been spent on each model by a time, in the order of the chain.
    pub series: Vec<Point>,
}

/// What became of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelOutcome {
    /// Its label.
    pub label: Label,
    /// Submissions it served.
    pub requests: u64,
    /// Tokens read, from a cache or not.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// What was spent on it.
    pub cost_usd_micros: MicroUsd,
    /// What might have been.
    pub quota_usd_micros: MicroUsd,
    /// The first as a part of the second.
    pub quota_pct: Percent,
    /// What was spent beyond the quota before anyone saw.
    pub overshoot_usd_micros: MicroUsd,
    /// When it was used first.
    pub first_used_at_ms: Option<i64>,
    /// When its spend came to the threshold.
    pub tight_at_ms: Option<i64>,
    /// When its quota was spent.
    pub exceeded_at_ms: Option<i64>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What.
    #[serde(flatten)]
    pub what: Happened,
}

/// What can happen to a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Happened {
    /// A model's spend came to the threshold.
    Tight {
        /// The model.
        label: Label,
    },
    /// A model's quota was spent.
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
    /// The totals showed that all quotas were spent.
    AllExceeded,
}

/// A point of the chart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Point {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What had been spent on each model, in the order of the chain.
    pub spend_usd_micros: Vec<MicroUsd>,
}
