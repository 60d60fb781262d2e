//! `…/aggregates/{date}/hours`: spend of a day by the hour.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Spend of a day by the hour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DayHours {
    /// Id of the org.
    pub org_id: String,
    /// Id of the app; absent for an org.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_id: Option<String>,
    /// Day of the org.
    #[schema(format = Date)]
    pub date: String,
    /// IANA time zone of the org at the end of the day.
    pub timezone: String,
    /// Whether the hours have all spend of the day; `false` for a day from before hours were recorded.
    pub is_recorded: bool,
    /// Labels of the models that were used.
    pub labels: Vec<String>,
    /// Hours that have begun, 23 to 25 on a whole day.
    pub hours: Vec<HourSpend>,
}

/// Spend of an hour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HourSpend {
    /// Start of the hour.
    #[schema(format = DateTime)]
    pub start: String,
    /// Spend on all models in the hour, in micro-USD.
    pub spent_usd_micros: u64,
    /// Spend in the hour by model label, in micro-USD.
    pub models: BTreeMap<String, u64>,
}
