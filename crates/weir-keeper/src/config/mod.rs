//! Configuration of orgs and apps: the chain of models, the quotas, and how often clients check.
//!
//! A request ([`PutOrg`], [`PutApp`]) is validated into a configuration ([`OrgConfig`], [`AppConfig`]), which is stored
//! in a versioned record ([`OrgRecord`], [`AppRecord`]). The configuration in force for an app is [`EffectiveConfig`]:
//! its own settings where it has any, else its org's. A new time zone or quota scope stays pending in the record until
//! the next local midnight.

mod cache;
mod check;
mod effective;
mod history;
mod item;
mod read;
mod record;
mod request;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weir_calendar::Zone;

pub(crate) use self::cache::ConfigCache;
pub use self::effective::{EffectiveConfig, PastSettings};
pub(crate) use self::history::{ConfigHistory, OrgHistory, PastConfig};
pub(crate) use self::item::{DELETED_AT, PURGED_AT, VERSION};
pub use self::record::{AppRecord, OrgRecord, PendingChange};
pub use self::request::{Overrides, PutApp, PutOrg};
use crate::decide::Refresh;
use crate::ids::Label;
use crate::money::MicroUsd;

/// Default threshold of the tight mode, in percent.
pub const THRESHOLD_PCT_DEFAULT: u8 = 95;
/// Default shard count of an org.
pub const SHARD_COUNT_DEFAULT: u8 = 8;
/// Default check intervals of clients.
pub const REFRESH_DEFAULT: Refresh = Refresh { normal_secs: 300, tight_secs: 60 };

macro_rules! string_enums {
    ($($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $variant:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        pub enum $name {$(
            $(#[$each])*
            #[serde(rename = $text)]
            $variant,
        )*}

        impl $name {
            /// The stored text.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// Parses the stored text.
            #[must_use]
            pub fn parse(text: &str) -> Option<$name> {
                match text { $($text => Some($name::$variant),)* _ => None }
            }
        }
    )*};
}

string_enums! {
    /// Whether quotas apply to the org or to each app.
    QuotaScope {
        /// One quota for all apps of the org together.
        Org = "ORG",
        /// A quota for each app.
        App = "APP",
    }
    /// The treatment of a submission whose model has no price.
    Unpriced {
        /// Reject it.
        Refuse = "refuse",
        /// Meter it as free.
        Zero = "zero",
    }
}

/// Names of the fields that differ, for the audit event of a change.
pub(crate) fn changed_fields(old: &impl Serialize, new: &impl Serialize) -> String {
    let fields = |config: serde_json::Result<serde_json::Value>| match config {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (old, new) = (fields(serde_json::to_value(old)), fields(serde_json::to_value(new)));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let differs = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    differs.map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// The configuration of an org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OrgConfig {
    /// Name of the org.
    pub org_name: String,
    /// Time zone of the org's days.
    pub timezone: Zone,
    /// Whether quotas apply to the org or to each app.
    pub quota_scope: QuotaScope,
    /// The chain of models, the preferred one first.
    pub model_ordering: Vec<Label>,
    /// Daily quota of each model, in micro-USD.
    pub quotas: BTreeMap<Label, MicroUsd>,
    /// Percentage of its quota from which a model is tight.
    pub tight_mode_threshold_pct: u8,
    /// Number of shards that counters are spread over; never changes.
    pub agg_shard_count: u8,
    /// Whether a fallback is sticky: it lasts for the rest of the day.
    pub sticky_fallback_enabled: bool,
    /// Seconds between two checks of a client below the threshold.
    pub refresh_interval_normal_secs: u32,
    /// Seconds between two checks of a client near a quota.
    pub refresh_interval_tight_secs: u32,
    /// The treatment of submissions whose model has no price.
    pub unpriced: Unpriced,
}

/// The configuration of an app; absent fields are inherited from its org.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct AppConfig {
    /// Name of the app.
    pub app_name: String,
    /// The chain of models, the preferred one first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_ordering: Option<Vec<Label>>,
    /// Daily quota of each model, in micro-USD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quotas: Option<BTreeMap<Label, MicroUsd>>,
    /// Percentage of its quota from which a model is tight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tight_mode_threshold_pct: Option<u8>,
    /// Whether a fallback is sticky: it lasts for the rest of the day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky_fallback_enabled: Option<bool>,
    /// Seconds between two checks of a client below the threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_interval_normal_secs: Option<u32>,
    /// Seconds between two checks of a client near a quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_interval_tight_secs: Option<u32>,
}

impl AppConfig {
    /// Whether it sets any part of a chain of its own, which is not possible where all apps share one.
    #[must_use]
    pub fn has_own_chain(&self) -> bool {
        self.model_ordering.is_some()
            || self.quotas.is_some()
            || self.sticky_fallback_enabled.is_some()
    }
}
