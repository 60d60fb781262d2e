//! What the client of a submission is told.

use serde::Serialize;

use crate::day::OrgDay;
use crate::decide::Mode;
use crate::ids::RequestId;
use crate::money::{MicroUsd, Percent};

/// A submission that was counted, now or before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Accepted {
    /// Its id.
    pub request_id: RequestId,
    /// `ACCEPTED`.
    pub status: &'static str,
    /// Whether it had been counted before; all else is then as it was told first.
    pub duplicate: bool,
    /// What was done.
    pub processing: Processing,
    /// How the model does, as far as is summed up.
    pub daily_total: DailyTotal,
}

/// What was done with a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Processing {
    /// The shard it was counted in.
    pub shard_id: u8,
    /// When totals will show it, at the latest by our aim.
    pub expected_aggregation_lag_secs: u32,
    /// What was counted.
    pub cost_usd_micros: MicroUsd,
    /// What it costs by the price, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computed_cost_usd_micros: Option<MicroUsd>,
    /// The day it was counted in.
    pub org_day: OrgDay,
}

/// How a model does today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DailyTotal {
    /// What was spent.
    pub cost_usd_micros: MicroUsd,
    /// What may be.
    pub quota_usd_micros: MicroUsd,
    /// The first as a part of the second.
    pub quota_pct: Percent,
    /// How closely to watch.
    pub mode: Mode,
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BatchAnswer {
    /// How many were counted, now or before.
    pub accepted: usize,
    /// How many were not.
    pub failed: usize,
    /// Each, in the order of the request.
    pub results: Vec<BatchResult>,
}

/// What became of one submission of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum BatchResult {
    /// It was counted.
    Accepted(Accepted),
    /// It was not.
    Failed {
        /// Its id, as it came.
        request_id: String,
        /// The code of the error.
        error: &'static str,
        /// What is wrong.
        message: String,
    },
}
