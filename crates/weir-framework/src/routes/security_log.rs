//! The security log: who issued, revoked or rotated credentials, and who failed to sign in.

use axum::Json;
use axum::extract::State;
use weir_api::server::SecurityEvent;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::QueryParts;
use crate::page::{Page, PageParams, TimeRangeParams, event_range, page_response};
use crate::security::{self, Event};
use crate::time::time;

/// Lists security events of the last 90 days, the newest first
#[utoipa::path(get, path = "/v1/security-log", tag = "access", params(TimeRangeParams, PageParams),
    responses((status = 200, body = Page<SecurityEvent>)))]
pub(crate) async fn security_events(
    State(app): State<App>,
    QueryParts((range, page)): QueryParts<(TimeRangeParams, PageParams)>,
) -> Result<Json<Page<SecurityEvent>>, ApiError> {
    let range = event_range(page, &range)?;
    let events = security::list(app.store(), &range, app.now_ms().cast_signed()).await?;
    Ok(page_response(events, event))
}

fn event(event: Event) -> SecurityEvent {
    SecurityEvent {
        id: event.id,
        at: time(event.at_ms),
        action: event.action.as_str().to_owned(),
        actor: event.actor,
        client_address: event.client_address,
        target: event.target,
        detail: event.detail,
        request_id: event.request_id,
    }
}
