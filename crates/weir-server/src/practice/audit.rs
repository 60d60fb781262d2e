//! The audit log.

use axum::extract::State;
use utoipa_axum::routes;
use weir_api::practice::{PracticeAuditEvent, PracticeAuditParams};
use weir_framework::ApiError;
use weir_framework::api::Api;
use weir_framework::app::App;
use weir_framework::extract::QueryParts;
use weir_framework::page::{Page, PageParams, TimeRangeParams, event_range, page_response};

use super::convert;
use super::error::Reply;
use super::path::practice;
use super::scopes::ADMINISTRATOR;

/// Declares the routes.
pub(super) fn routes(api: Api) -> Api {
    api.route(ADMINISTRATOR, routes!(list))
}

/// Most characters of a subject: the longest names a problem with its platform.
const SUBJECT_MAX: usize = 200;

/// Lists changes by administrators, newest first
///
/// With `subject`, a page can be short or empty although more pages follow, because it skips other changes.
#[utoipa::path(get, path = "/v1/practice/audit", tag = "practice-audit",
    params(PracticeAuditParams, TimeRangeParams, PageParams),
    responses((status = 200, body = Page<PracticeAuditEvent>)))]
pub(crate) async fn list(
    State(app): State<App>,
    QueryParts((params, range, page)): QueryParts<(
        PracticeAuditParams,
        TimeRangeParams,
        PageParams,
    )>,
) -> Reply<Page<PracticeAuditEvent>> {
    let range = event_range(page, &range)?;
    params.subject.as_deref().map(check_subject).transpose()?;
    let found = practice(&app)?.audit_events(params.subject.as_deref(), &range).await?;
    Ok(page_response(found, convert::audit_event))
}

/// Refuses a subject that no event has.
fn check_subject(subject: &str) -> Result<(), ApiError> {
    let is_line = (1..=SUBJECT_MAX).contains(&subject.chars().count());
    if is_line && !subject.contains(char::is_control) {
        return Ok(());
    }
    let problem =
        format!("must have 1 to {SUBJECT_MAX} characters, none of them a control character");
    Err(ApiError::invalid("subject", problem))
}
