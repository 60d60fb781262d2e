//! What orgs and apps are set up to: their chain of models, the quotas, and how closely clients watch.
//!
//! A request ([`PutOrg`], [`PutApp`]) is checked and becomes a configuration ([`OrgConfig`], [`AppConfig`]), which is kept in
//! a record with its version ([`OrgRecord`], [`AppRecord`]). What holds for an app at a moment is [`Effective`]: its own
//! where it has any, else its org's. A new time zone or quota scope waits in the record for the next local midnight.

pub(crate) mod cache;
mod check;
mod effective;
mod item;
mod read;
mod record;
mod request;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use self::effective::{Before, Effective};
pub(crate) use self::item::VERSION;
pub use self::record::{AppRecord, OrgRecord, Pending};
pub use self::request::{Overrides, PutApp, PutOrg};
use crate::day::Zone;
use crate::decide::Refresh;
use crate::ids::Label;
use crate::money::MicroUsd;

/// The threshold of the tight mode, unless set otherwise.
pub const THRESHOLD_PCT_DEFAULT: u8 = 95;
/// The shards of an org, unless set otherwise.
pub const SHARD_COUNT_DEFAULT: u8 = 8;
/// How often clients ask, unless set otherwise.
pub const REFRESH_DEFAULT: Refresh = Refresh { normal_secs: 300, tight_secs: 60 };

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $variant:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        pub enum $name {$(
            $(#[$each])*
            #[serde(rename = $text)]
            $variant,
        )*}

        impl $name {
            /// The text of it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// What this text says.
            #[must_use]
            pub fn parse(text: &str) -> Option<$name> {
                match text { $($text => Some($name::$variant),)* _ => None }
            }
        }
    )*};
}

words! {
    /// Whose spend the quotas are for.
    QuotaScope {
        /// All apps of the org together.
        Org = "ORG",
        /// Each app by itself.
        App = "APP",
    }
    /// What to do with a submission whose model has no price.
    Unpriced {
        /// Refuse it.
        Refuse = "refuse",
        /// Count it as free.
        Zero = "zero",
    }
}

/// The names of the settings that differ: what an audit event tells of a change.
pub(crate) fn differing(old: &impl Serialize, new: &impl Serialize) -> String {
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
    /// Its name.
    pub org_name: String,
    /// By which its days begin and end.
    pub timezone: Zone,
    /// Whose spend the quotas are for.
    pub quota_scope: QuotaScope,
    /// The chain: the preferred model first.
    pub model_ordering: Vec<Label>,
    /// What may be spent on each model a day.
    pub quotas: BTreeMap<Label, MicroUsd>,
    /// From which percentage of its quota a model is tight.
    pub tight_mode_threshold_pct: u8,
    /// Over how many shards counters are spread; never changes.
    pub agg_shard_count: u8,
    /// Whether a fallback lasts for the day.
    pub sticky_fallback_enabled: bool,
    /// Seconds between two checks of a client while there is room.
    pub refresh_interval_normal_secs: u32,
    /// The same close to a quota.
    pub refresh_interval_tight_secs: u32,
    /// What to do with submissions of unknown price.
    pub unpriced: Unpriced,
}

/// The configuration of an app; what it does not say is its org's.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct AppConfig {
    /// Its name.
    pub app_name: String,
    /// The chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_ordering: Option<Vec<Label>>,
    /// What may be spent on each model a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quotas: Option<BTreeMap<Label, MicroUsd>>,
    /// From which percentage of its quota a model is tight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tight_mode_threshold_pct: Option<u8>,
    /// Whether a fallback lasts for the day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky_fallback_enabled: Option<bool>,
    /// Seconds between two checks of a client while there is room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_interval_normal_secs: Option<u32>,
    /// The same close to a quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_interval_tight_secs: Option<u32>,
}

impl AppConfig {
    /// Whether it says anything of a chain of its own, which it cannot where all apps share one.
    #[must_use]
    pub fn has_own_chain(&self) -> bool {
        self.model_ordering.is_some()
            || self.quotas.is_some()
            || self.sticky_fallback_enabled.is_some()
    }
}
