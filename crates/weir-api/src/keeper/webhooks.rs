//! `…/webhooks`: targets of signed notices.

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{IntoParams, ToSchema};

use super::formats::Identifier;

/// Shares of a quota, in percent, that the keeper can send notices for.
const THRESHOLDS_PCT: [u8; 4] = [50, 80, 95, 100];

fn thresholds() -> Schema {
    let percent = ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some(THRESHOLDS_PCT));
    ArrayBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]))
        .items(percent)
        .into()
}

/// The webhook that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct WebhookParam {
    /// Id of the webhook.
    #[param(value_type = Identifier, inline)]
    pub id: String,
}

/// The notice that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct DeliveryParam {
    /// Sequence of the notice in its org.
    #[param(minimum = 1)]
    pub sequence: u64,
}

/// Configuration of a webhook.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// URL that notices are posted to.
    #[schema(
        format = "webhook-url",
        min_length = 8,
        max_length = 2048,
        example = "https://ops.example.com/weir"
    )]
    pub url: String,
    /// Shares of a quota, in percent, to send a notice for; all of 50, 80, 95 and 100 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = thresholds)]
    pub thresholds_pct: Option<Vec<u8>>,
    /// Whether to send a notice for each fallback to a later model; `true` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flips: Option<bool>,
    /// Whether to send a notice when all quotas of an org or app are exceeded; `true` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_exceeded: Option<bool>,
    /// Whether to create a new signing secret. The old one becomes invalid at once.
    #[serde(default)]
    #[schema(default = false)]
    pub rotate_secret: bool,
}

/// A target of signed notices.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    /// Id of the webhook.
    pub id: String,
    /// URL that notices are posted to.
    pub url: String,
    /// Shares of a quota, in percent, that a notice is sent for.
    pub thresholds_pct: Vec<u8>,
    /// Whether a notice is sent for each fallback to a later model.
    pub flips: bool,
    /// Whether a notice is sent when all quotas of an org or app are exceeded.
    pub all_exceeded: bool,
    /// Secret that notices are signed with; only in the response that creates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Time at which the webhook was created.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time of the last change.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// Delivery status of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookDeliveryStatus {
    /// The notice waits to be sent, for the first time or again.
    Queued,
    /// The webhook accepted the notice.
    Delivered,
    /// The keeper gave up on the notice.
    Failed,
    /// The webhook was removed while the notice waited.
    Dropped,
}

impl WebhookDeliveryStatus {
    /// The status as the API writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            WebhookDeliveryStatus::Queued => "queued",
            WebhookDeliveryStatus::Delivered => "delivered",
            WebhookDeliveryStatus::Failed => "failed",
            WebhookDeliveryStatus::Dropped => "dropped",
        }
    }
}

/// A notice to a webhook, with its delivery status.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct WebhookDelivery {
    /// Sequence of the notice in its org. Numbers grow without gaps; a webhook gets those that it subscribes to.
    pub sequence: u64,
    /// Id of the notice.
    pub id: String,
    /// Type of the notice.
    #[serde(rename = "type")]
    #[schema(example = "quota.threshold")]
    pub kind: String,
    /// Delivery status of the notice.
    pub status: WebhookDeliveryStatus,
    /// Number of attempts to send the notice, replays included.
    pub attempts: u32,
    /// HTTP status of the last attempt, if it got a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// Error of the last attempt, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Time at which the notice was queued.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub last_attempt_at: Option<String>,
    /// Time at which the webhook first accepted the notice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub delivered_at: Option<String>,
    /// Time of the next attempt, if the notice is the next one to be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub next_attempt_at: Option<String>,
}
