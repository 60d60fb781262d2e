//! Routes of the last notices to a webhook. Like webhooks, they are for the operator.

use axum::Json;
use axum::extract::State;
use weir_api::keeper::{DeliveryParam, OrgParam, WebhookDelivery, WebhookParam};

use super::convert;
use super::deliver::WebhookSender;
use super::error::Reply;
use super::metrics::metrics;
use super::path::{DeliveryPath, WebhookPath, keeper};
use super::rates::allowances;
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::extract::Query;
use weir_framework::page::{Page, PageLimit as _, PageParams, page_response};
use weir_keeper::webhooks::DeliveryOutcome;

/// Lists the last notices to a webhook, newest first
///
/// Notices are retained for 14 days. A page can be short or empty although more pages follow.
#[utoipa::path(get, path = "/api/v1/orgs/{org}/webhooks/{id}/deliveries", tag = "webhooks",
    params(OrgParam, WebhookParam, PageParams),
    responses((status = 200, body = Page<WebhookDelivery>)))]
pub(crate) async fn deliveries(
    State(app): State<App>,
    WebhookPath(org, id): WebhookPath,
    Query(page): Query<PageParams>,
) -> Reply<Page<WebhookDelivery>> {
    let limit = page.checked_limit()?;
    let found = keeper(&app)?.list_deliveries(&org, &id, limit, page.cursor).await?;
    Ok(page_response(found, convert::webhook_delivery))
}

/// Sends a notice again
///
/// The notice has the same body and sequence, a new signature, and the header `Weir-Notice-Replay: true`. The response says in
/// `last_error` why the webhook did not accept it, if so.
#[utoipa::path(post, path = "/api/v1/orgs/{org}/webhooks/{id}/deliveries/{sequence}/replay",
    tag = "webhooks", params(OrgParam, WebhookParam, DeliveryParam),
    responses((status = 200, body = WebhookDelivery)))]
pub(crate) async fn replay(
    State(app): State<App>,
    DeliveryPath(org, id, sequence): DeliveryPath,
    actor: Actor,
) -> Reply<WebhookDelivery> {
    allowances(&app)?.write(&app, &actor).await?;
    let keeper = keeper(&app)?;
    let delivery = keeper.replay_delivery(&org, &id, sequence, actor.name()).await?;
    let attempt = app.kept_by::<WebhookSender>("keeper")?.send(&delivery).await;
    let record = keeper.record_replay(&delivery, &attempt).await?;
    let outcome = match attempt.is_delivered() {
        true => DeliveryOutcome::Delivered,
        false => DeliveryOutcome::GivenUp,
    };
    metrics(&app)?.delivery(&org, outcome);
    Ok(Json(convert::webhook_delivery(record)))
}
