//! `/orgs/{org}` and `/orgs/{org}/apps/{app}`: configuration of orgs and apps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{IntoParams, PartialSchema as _, ToSchema};

use super::formats::{DisplayName, Identifier};

/// Numbers of shards that an org can choose from.
const SHARD_COUNTS: [u8; 4] = [8, 16, 32, 64];

/// The quota of every model of a chain.
fn quotas() -> Schema {
    amounts_by_label().min_properties(Some(1)).into()
}

/// Micro-USD a day by model label.
pub(super) fn amounts_by_label() -> ObjectBuilder {
    let amount = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(0))
        .maximum(Some(1_000_000_000_000_000_i64));
    ObjectBuilder::new()
        .property_names(Some(Identifier::schema()))
        .additional_properties(Some(amount))
        .max_properties(Some(20))
}

fn shard_count() -> Schema {
    let counts = SHARD_COUNTS.into_iter().map(Value::from).chain([Value::Null]);
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Integer, Type::Null]))
        .enum_values(Some(counts))
        .into()
}

/// Scope of the spend that a quota limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum QuotaScope {
    /// The spend of all apps of the org together.
    Org,
    /// The spend of each app by itself.
    App,
}

/// Settings of an org that differ from the defaults, or of an app that differ from its org.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigOverrides {
    /// Share of its quota, in percent, from which a model is `TIGHT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 50, maximum = 100)]
    pub tight_mode_threshold_pct: Option<i64>,
    /// Number of shards that the counters of an org are spread over; it cannot be changed later, nor set for an app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = shard_count)]
    pub agg_shard_count: Option<i64>,
    /// Whether a fallback to a later model lasts for the rest of the day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticky_fallback_enabled: Option<bool>,
    /// Seconds between two selections of a client while the model is `NORMAL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86_400)]
    pub refresh_interval_normal_secs: Option<i64>,
    /// Seconds between two selections of a client while the model is `TIGHT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86_400)]
    pub refresh_interval_tight_secs: Option<i64>,
    /// Alias of `refresh_interval_normal_secs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86_400)]
    pub refresh_interval_secs: Option<i64>,
}

/// Configuration of an org.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OrgConfig {
    /// Display name of the org.
    #[schema(value_type = DisplayName)]
    pub org_name: String,
    /// IANA time zone in which the org's days begin and end.
    #[schema(format = "time-zone", example = "America/New_York")]
    pub timezone: String,
    /// Scope of the spend that the quotas limit: all apps together (`ORG`), or each app by itself (`APP`).
    #[schema(pattern = "^(ORG|APP)$", example = "ORG")]
    pub quota_scope: String,
    /// The chain of model labels, preferred model first.
    #[schema(value_type = Vec<Identifier>, min_items = 1, max_items = 20)]
    pub model_ordering: Vec<String>,
    /// Daily quota of each model of the chain, in micro-USD.
    #[schema(schema_with = quotas)]
    pub quotas: BTreeMap<String, i64>,
    /// Settings that differ from the defaults. An org that is changed without them keeps those it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrides: Option<ConfigOverrides>,
    /// Whether a submission whose model has no price is refused (`refuse`, the default) or costs nothing (`zero`). An org
    /// that is changed without it keeps its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(refuse|zero)$", example = "refuse")]
    pub unpriced: Option<String>,
}

/// Configuration of an app. The app inherits omitted settings from its org.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AppConfig {
    /// Display name of the app.
    #[schema(value_type = DisplayName)]
    pub app_name: String,
    /// The chain of model labels, preferred model first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Identifier>>, min_items = 1, max_items = 20)]
    pub model_ordering: Option<Vec<String>>,
    /// Daily quota of each model of the chain, in micro-USD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = quotas)]
    pub quotas: Option<BTreeMap<String, i64>>,
    /// Settings that differ from the org's. An app that is changed without them keeps those it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrides: Option<ConfigOverrides>,
}

/// The configuration in force for an org or an app. It contains no secrets.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct EffectiveConfig {
    /// Id of the app, or of the org.
    pub id: String,
    /// Id of the org.
    pub org_id: String,
    /// Id of the app; absent for an org.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_id: Option<String>,
    /// Display name of the org.
    pub org_name: String,
    /// Display name of the app; absent for an org.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_name: Option<String>,
    /// Client id with which the org or the app requests tokens.
    pub client_id: String,
    /// IANA time zone in which days begin and end.
    pub timezone: String,
    /// Scope of the spend that the quotas limit.
    pub quota_scope: QuotaScope,
    /// The chain of model labels, preferred model first.
    pub model_ordering: Vec<String>,
    /// Daily quota of each model, in micro-USD.
    pub quotas: BTreeMap<String, u64>,
    /// Share of its quota, in percent, from which a model is `TIGHT`.
    pub tight_mode_threshold_pct: u8,
    /// Number of shards that counters are spread over.
    pub agg_shard_count: u8,
    /// Whether a fallback to a later model lasts for the rest of the day.
    pub sticky_fallback_enabled: bool,
    /// Seconds between two selections of a client while the model is `NORMAL`.
    pub refresh_interval_normal_secs: u32,
    /// Seconds between two selections of a client while the model is `TIGHT`.
    pub refresh_interval_tight_secs: u32,
    /// Whether a submission whose model has no price is refused (`refuse`) or costs nothing (`zero`).
    pub unpriced: String,
    /// Version of the configuration; it grows with every change.
    pub config_version: u64,
    /// Settings that the app inherits from its org.
    pub inherited_fields: Vec<String>,
    /// Time at which the org or the app was deleted; only lists with `deleted=true` have such entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub deleted_at: Option<String>,
    /// Time of the creation.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time of the last change.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// Change that takes effect at the next midnight of the time zone in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<PendingConfig>,
}

/// Whether a list has deleted entries.
#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeletedParams {
    /// Whether the list includes deleted entries that can still be restored, with `deleted_at`.
    #[serde(default)]
    #[param(default = false)]
    pub deleted: bool,
}

/// The deletion of an org or an app.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct DeletionResponse {
    /// Id of the app, or of the org.
    pub id: String,
    /// Client id whose secret and tokens no longer work.
    pub client_id: String,
    /// Time of the deletion.
    #[schema(format = DateTime)]
    pub deleted_at: String,
    /// Time until which the org or the app can be restored. Its id is taken until then.
    #[schema(format = DateTime)]
    pub restorable_until: String,
}

/// A time zone and a quota scope that take effect later.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PendingConfig {
    /// IANA time zone in which days will begin and end.
    pub timezone: String,
    /// Scope of the spend that the quotas will limit.
    pub quota_scope: QuotaScope,
    /// Time at which the change takes effect.
    #[schema(format = DateTime)]
    pub effective_at: String,
}

/// Response to a change of an org or an app.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ConfigResponse {
    /// `created` or `updated`.
    #[schema(pattern = "^(created|updated)$")]
    pub status: String,
    /// The configuration in force.
    #[serde(flatten)]
    pub config: EffectiveConfig,
    /// The same configuration, for clients of the original service.
    pub configuration: EffectiveConfig,
    /// Time of the response.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// Credentials of the new client; only in the response to its creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<ClientCredentials>,
}

/// Credentials of a new client.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ClientCredentials {
    /// Client id with which the client requests tokens.
    pub client_id: String,
    /// One-time link to the client's secret.
    pub secret_retrieval: SecretLink,
}

/// A one-time link to a client's secret. Anyone who has it can fetch the secret.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SecretLink {
    /// Path to request with GET, relative to this server.
    pub url: String,
    /// The one-time token in the path.
    pub token: String,
    /// Time at which the link expires.
    #[schema(format = DateTime)]
    pub expires_at: String,
}
