//! The security log: who issued, revoked or rotated credentials, and who failed to sign in.

use axum::Json;
use axum::extract::State;
use weir_api::server::SecurityEvent;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::Query;
use crate::page::{Page, PageLimit as _, PageParams, page_response};
use crate::security::{self, Event};
use crate::time::rfc3339;

/// Lists security events of the last 90 days, the newest first
#[utoipa::path(get, path = "/v1/security-log", tag = "access", params(PageParams),
    responses((status = 200, body = Page<SecurityEvent>)))]
pub(crate) async fn security_events(
    State(app): State<App>,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<SecurityEvent>>, ApiError> {
    let limit = page.checked_limit()?;
    let events = security::list(app.store(), limit, page.cursor.as_deref()).await?;
    Ok(page_response(events, event))
}

fn event(event: Event) -> SecurityEvent {
    SecurityEvent {
        id: event.id,
        at: rfc3339(event.at_ms),
        action: event.action,
        actor: event.actor,
        client_address: event.client_address,
        target: event.target,
        detail: event.detail,
        request_id: event.request_id,
    }
}
