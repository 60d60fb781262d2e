//! What requests and answers of the keeper are made of, as the API's description tells it.
//!
//! What is asked for tens of thousands of times a second is written by the domain itself; the types here that nobody makes
//! only describe it, and schemathesis checks that they do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};
use weir_keeper::bounds::SHARD_COUNTS;
use weir_keeper::config;
use weir_keeper::notices::THRESHOLDS_PCT;

use weir_api::texts;

texts! {
    /// A UUID, in descriptions.
    UuidText = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
        36, "550e8400-e29b-41d4-a716-446655440000";
    /// An app, in descriptions.
    AppText = r"^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}$", 128, "app-production-api";
    /// A label or the id of a webhook, in descriptions.
    WordText = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", 64, "premium";
    /// What Bedrock calls a model, in descriptions.
    ModelText = r"^[!-~]{1,2048}$", 2048, "anthropic.claude-sonnet-4-5-20250929-v1:0";
    /// A region, in descriptions.
    RegionText = r"^[a-z0-9-]{1,32}$", 32, "us-east-1";
    /// A name for people, in descriptions.
    NameText = r"^[^\x00-\x20\x7f-\x9f\s]([^\x00-\x1f\x7f-\x9f]{0,200}[^\x00-\x20\x7f-\x9f\s])?$", 202, "Sample Corp";
    /// `today` or a date, in descriptions.
    DateText = r"^(today|20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8]))$", 10, "today";
    /// A date, in descriptions.
    PlainDateText = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$", 10, "2026-01-23";
}

/// An org in a path.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "described here, read by `place`")]
pub(super) struct OrgAt {
    /// The org.
    #[param(value_type = UuidText, inline)]
    org: String,
}

/// An app in a path.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "described here, read by `place`")]
pub(super) struct AppAt {
    /// The app: up to 128 characters, none of them `#` or `/`.
    #[param(value_type = AppText, inline)]
    app: String,
}

/// Micro-USD a day by label.
pub(super) fn quotas() -> Schema {
    let amount = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(0))
        .maximum(Some(1_000_000_000_000_000_i64));
    ObjectBuilder::new()
        .property_names(Some(WordText::schema()))
        .additional_properties(Some(amount))
        .min_properties(Some(1))
        .max_properties(Some(20))
        .into()
}

/// Shards of counters: one of a few numbers, or nothing said.
fn shards() -> Schema {
    let counts = SHARD_COUNTS.into_iter().map(Value::from).chain([Value::Null]);
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Integer, Type::Null]))
        .enum_values(Some(counts))
        .into()
}

/// Percentages of a quota that there are notices of, or nothing said.
pub(super) fn thresholds() -> Schema {
    let percent = ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some(THRESHOLDS_PCT));
    ArrayBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]))
        .items(percent)
        .into()
}

/// What differs from the defaults, or from the org.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    /// From which percentage of its quota a model is tight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 50, maximum = 100)]
    pub tight_mode_threshold_pct: Option<i64>,
    /// Shards of the counters: 8, 16, 32 or 64; of an org alone, and for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = shards)]
    pub agg_shard_count: Option<i64>,
    /// Whether a fallback lasts for the day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticky_fallback_enabled: Option<bool>,
    /// Seconds between two checks of a client while there is room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86_400)]
    pub refresh_interval_normal_secs: Option<i64>,
    /// The same close to a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86_400)]
    pub refresh_interval_tight_secs: Option<i64>,
    /// Another name of `refresh_interval_normal_secs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86_400)]
    pub refresh_interval_secs: Option<i64>,
}

impl From<Overrides> for config::Overrides {
    fn from(wanted: Overrides) -> config::Overrides {
        config::Overrides {
            tight_mode_threshold_pct: wanted.tight_mode_threshold_pct,
            agg_shard_count: wanted.agg_shard_count,
            sticky_fallback_enabled: wanted.sticky_fallback_enabled,
            refresh_interval_normal_secs: wanted.refresh_interval_normal_secs,
            refresh_interval_tight_secs: wanted.refresh_interval_tight_secs,
            refresh_interval_secs: wanted.refresh_interval_secs,
        }
    }
}

/// What an org is to be set to.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewOrg {
    /// Its name, for people.
    #[schema(value_type = NameText)]
    pub org_name: String,
    /// The IANA time zone by which its days begin and end.
    #[schema(format = "time-zone", example = "America/New_York")]
    pub timezone: String,
    /// Whose spend the quotas are for: all apps together (`ORG`), or each app's by itself (`APP`).
    #[schema(pattern = "^(ORG|APP)$", example = "ORG")]
    pub quota_scope: String,
    /// The chain: labels of models, the preferred one first.
    #[schema(value_type = Vec<WordText>, min_items = 1, max_items = 20)]
    pub model_ordering: Vec<String>,
    /// What may be spent a day on each label of the chain, in millionths of a US dollar.
    #[schema(schema_with = quotas)]
    pub quotas: BTreeMap<String, i64>,
    /// What differs from the defaults.
    #[serde(default)]
    pub overrides: Overrides,
    /// What to do with submissions whose model has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(refuse|zero)$", example = "refuse")]
    pub unpriced: Option<String>,
}

impl From<NewOrg> for config::PutOrg {
    fn from(wanted: NewOrg) -> config::PutOrg {
        config::PutOrg {
            org_name: wanted.org_name,
            timezone: wanted.timezone,
            quota_scope: wanted.quota_scope,
            model_ordering: wanted.model_ordering,
            quotas: wanted.quotas,
            overrides: wanted.overrides.into(),
            unpriced: wanted.unpriced,
        }
    }
}

/// What an app is to be set to; what is left out is its org's.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewApp {
    /// Its name, for people.
    #[schema(value_type = NameText)]
    pub app_name: String,
    /// The chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<WordText>>, min_items = 1, max_items = 20)]
    pub model_ordering: Option<Vec<String>>,
    /// What may be spent a day on each label of the chain, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = quotas)]
    pub quotas: Option<BTreeMap<String, i64>>,
    /// What differs from the org.
    #[serde(default)]
    pub overrides: Overrides,
}

impl From<NewApp> for config::PutApp {
    fn from(wanted: NewApp) -> config::PutApp {
        config::PutApp {
            app_name: wanted.app_name,
            model_ordering: wanted.model_ordering,
            quotas: wanted.quotas,
            overrides: wanted.overrides.into(),
        }
    }
}
