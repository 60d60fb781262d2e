//! Targets of the signed notices. They make the server send requests, so they are the operator's to set.

use crate::keeper::error::KeeperError;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use weir_keeper::Error;
use weir_keeper::notices;

use super::configured::time;
use super::place::{Asker, Org, OrgWebhook, keeper};
use super::shapes::{OrgAt, WordText, thresholds};
use crate::keeper::error::Reply;
use weir_framework::app::App;
use weir_framework::extract::Body;
use weir_framework::page::Page;

/// The webhook in a path.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "described here, read by `place`")]
pub(crate) struct WebhookAt {
    /// The webhook.
    #[param(value_type = WordText, inline)]
    id: String,
}

/// A target to set.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// Where to post.
    #[schema(
        format = "webhook-url",
        min_length = 8,
        max_length = 2048,
        example = "https://ops.example.com/weir"
    )]
    pub url: String,
    /// Which of 50, 80, 95 and 100 percent of a quota to tell of; all unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = thresholds)]
    pub thresholds_pct: Option<Vec<u8>>,
    /// Whether to tell of fallbacks; yes unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flips: Option<bool>,
    /// Whether to make a new secret; the old one signs nothing any more.
    #[serde(default)]
    #[schema(default = false)]
    pub rotate_secret: bool,
}

/// A target of notices.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    /// Its id.
    pub id: String,
    /// Where notices are posted.
    pub url: String,
    /// Which parts of a quota it is told of.
    pub thresholds_pct: Vec<u8>,
    /// Whether it is told of fallbacks.
    pub flips: bool,
    /// What notices are signed with; told when it is made, and never again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// When it was set first.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was set last.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

impl From<notices::Webhook> for Webhook {
    fn from(webhook: notices::Webhook) -> Webhook {
        Webhook {
            id: webhook.id.to_string(),
            url: webhook.url,
            thresholds_pct: webhook.thresholds_pct,
            flips: webhook.flips,
            secret: None,
            created_at: time(webhook.created_at_epoch.saturating_mul(1000)),
            updated_at: time(webhook.updated_at_epoch.saturating_mul(1000)),
        }
    }
}

/// Sets a target of notices
///
/// Notices come as POST with `Weir-Signature: t={seconds},v1={hex}`: HMAC-SHA256 under the secret of the seconds, a dot and
/// the body.
#[utoipa::path(put, path = "/api/v1/orgs/{org}/webhooks/{id}", tag = "webhooks",
    params(OrgAt, WebhookAt), request_body = NewWebhook, responses(
        (status = 200, description = "It was changed", body = Webhook),
        (status = 201, description = "It was made", body = Webhook)))]
pub(crate) async fn put(
    State(app): State<App>,
    OrgWebhook(org, id): OrgWebhook,
    asker: Asker,
    Body(new): Body<NewWebhook>,
) -> Result<Response, KeeperError> {
    let wanted = notices::PutWebhook {
        url: new.url,
        thresholds_pct: new.thresholds_pct,
        flips: new.flips,
        rotate_secret: new.rotate_secret,
    };
    let keeper = keeper(&app)?;
    let is_new = matches!(keeper.webhook(&org, &id).await, Err(Error::NotFound { .. }));
    let (webhook, secret) = keeper.put_webhook(&org, &id, &wanted, asker.name()).await?;
    let secret = secret.map(|secret| secret.reveal().to_owned());
    let answer = Webhook { secret, ..webhook.into() };
    let code = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((code, [(header::CACHE_CONTROL, "no-store")], Json(answer)).into_response())
}

/// Tells about a target of notices
#[utoipa::path(get, path = "/api/v1/orgs/{org}/webhooks/{id}", tag = "webhooks",
    params(OrgAt, WebhookAt), responses((status = 200, body = Webhook)))]
pub(crate) async fn get(State(app): State<App>, OrgWebhook(org, id): OrgWebhook) -> Reply<Webhook> {
    Ok(Json(keeper(&app)?.webhook(&org, &id).await?.into()))
}

/// Lists the targets of an org's notices
#[utoipa::path(get, path = "/api/v1/orgs/{org}/webhooks", tag = "webhooks", params(OrgAt),
    responses((status = 200, body = Page<Webhook>)))]
pub(crate) async fn list(State(app): State<App>, Org(org): Org) -> Reply<Page<Webhook>> {
    let keeper = keeper(&app)?;
    keeper.effective(&org, None).await?;
    let all = keeper.list_webhooks(&org).await?;
    Ok(Json(Page { items: all.into_iter().map(Webhook::from).collect(), next_cursor: None }))
}

/// Removes a target of notices
#[utoipa::path(delete, path = "/api/v1/orgs/{org}/webhooks/{id}", tag = "webhooks",
    params(OrgAt, WebhookAt), responses((status = 204)))]
pub(crate) async fn remove(
    State(app): State<App>,
    OrgWebhook(org, id): OrgWebhook,
    asker: Asker,
) -> Result<StatusCode, KeeperError> {
    keeper(&app)?.remove_webhook(&org, &id, asker.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}
