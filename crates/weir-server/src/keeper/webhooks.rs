//! Routes of webhooks. Webhooks make the server send requests, so only the operator may change them.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use weir_api::keeper::{OrgParam, Webhook, WebhookConfig, WebhookParam};

use super::convert;
use super::error::{KeeperError, Reply};
use super::path::{OrgPath, WebhookPath, keeper};
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::extract::Body;
use weir_framework::page::Page;

/// Creates or changes a webhook
///
/// Notices are sent with POST and the header `Weir-Signature: t={seconds},v1={hex}`: the HMAC-SHA256, under the webhook's
/// secret, of the seconds, a dot and the body. They arrive in the order of their `sequence`, which counts the notices of an org.
#[utoipa::path(put, path = "/api/v1/orgs/{org}/webhooks/{id}", tag = "webhooks",
    params(OrgParam, WebhookParam), request_body = WebhookConfig, responses(
        (status = 200, description = "The webhook was changed.", body = Webhook),
        (status = 201, description = "The webhook was created.", body = Webhook)))]
pub(crate) async fn put(
    State(app): State<App>,
    WebhookPath(org, id): WebhookPath,
    actor: Actor,
    Body(config): Body<WebhookConfig>,
) -> Result<Response, KeeperError> {
    let config = convert::put_webhook(config);
    let put = keeper(&app)?.put_webhook(&org, &id, &config, actor.name()).await?;
    let secret = put.secret.map(|secret| secret.reveal().to_owned());
    let webhook = Webhook { secret, ..convert::webhook(put.webhook) };
    let status = if put.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, [(header::CACHE_CONTROL, "no-store")], Json(webhook)).into_response())
}

/// Returns a webhook
#[utoipa::path(get, path = "/api/v1/orgs/{org}/webhooks/{id}", tag = "webhooks",
    params(OrgParam, WebhookParam), responses((status = 200, body = Webhook)))]
pub(crate) async fn get(
    State(app): State<App>,
    WebhookPath(org, id): WebhookPath,
) -> Reply<Webhook> {
    Ok(Json(convert::webhook(keeper(&app)?.webhook(&org, &id).await?)))
}

/// Lists the webhooks of an org
#[utoipa::path(get, path = "/api/v1/orgs/{org}/webhooks", tag = "webhooks", params(OrgParam),
    responses((status = 200, body = Page<Webhook>)))]
pub(crate) async fn list(State(app): State<App>, OrgPath(org): OrgPath) -> Reply<Page<Webhook>> {
    let keeper = keeper(&app)?;
    keeper.effective_config(&org, None).await?;
    let all = keeper.list_webhooks(&org).await?;
    Ok(Json(Page { items: all.into_iter().map(convert::webhook).collect(), next_cursor: None }))
}

/// Removes a webhook
#[utoipa::path(delete, path = "/api/v1/orgs/{org}/webhooks/{id}", tag = "webhooks",
    params(OrgParam, WebhookParam), responses((status = 204)))]
pub(crate) async fn remove(
    State(app): State<App>,
    WebhookPath(org, id): WebhookPath,
    actor: Actor,
) -> Result<StatusCode, KeeperError> {
    keeper(&app)?.remove_webhook(&org, &id, actor.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}
