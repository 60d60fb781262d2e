//! The response to a submission.

use crate::day::OrgDay;
use crate::decide::Status;
use crate::ids::RequestId;
use crate::money::{MicroUsd, Percent};

/// An accepted submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The request id.
    pub request_id: RequestId,
    /// Always `ACCEPTED`.
    pub status: &'static str,
    /// Whether it was accepted before; the other fields then repeat the first response.
    pub duplicate: bool,
    /// How it was metered.
    pub processing: Processing,
    /// The day's total of the model, as far as it is aggregated.
    pub daily_total: DailyTotal,
}

/// How a submission was metered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processing {
    /// The shard it is metered in.
    pub shard_id: u8,
    /// Seconds until daily totals should include it.
    pub expected_aggregation_lag_secs: u32,
    /// Metered cost, in micro-USD.
    pub cost_usd_micros: MicroUsd,
    /// Cost computed from the price, in micro-USD, where a price is known.
    pub computed_cost_usd_micros: Option<MicroUsd>,
    /// The org's day it is metered in.
    pub org_day: OrgDay,
}

/// The day's total of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DailyTotal {
    /// Spend on the model, in micro-USD.
    pub cost_usd_micros: MicroUsd,
    /// Daily quota of the model, in micro-USD.
    pub quota_usd_micros: MicroUsd,
    /// Spend as a percentage of the quota.
    pub quota_pct: Percent,
    /// How close the spend is to the quota.
    pub mode: Status,
}
