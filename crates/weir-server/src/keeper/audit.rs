//! Routes of audit events.

use axum::extract::State;
use weir_api::keeper::{AppParam, OrgAuditEvent, OrgParam};

use super::convert;
use super::error::Reply;
use super::path::{TargetPath, keeper};
use weir_framework::app::App;
use weir_framework::extract::QueryParts;
use weir_framework::page::{Page, PageParams, TimeRangeParams, event_range, page_response};

type AuditQuery = QueryParts<(PageParams, TimeRangeParams)>;

async fn list(
    app: &App,
    TargetPath(scope): TargetPath,
    QueryParts((page, range)): AuditQuery,
) -> Reply<Page<OrgAuditEvent>> {
    let keeper = keeper(app)?;
    keeper.effective_config(scope.org(), scope.app()).await?;
    let events = keeper.audit_events(&scope, &event_range(page, &range)?).await?;
    Ok(page_response(events, convert::audit_event))
}

/// Lists changes of an org and its apps, newest first
#[utoipa::path(get, path = "/api/v1/orgs/{org}/audit", tag = "audit",
    params(OrgParam, PageParams, TimeRangeParams),
    responses((status = 200, body = Page<OrgAuditEvent>)))]
pub(crate) async fn of_org(
    State(app): State<App>,
    path: TargetPath,
    query: AuditQuery,
) -> Reply<Page<OrgAuditEvent>> {
    list(&app, path, query).await
}

/// Lists changes of an app, newest first
///
/// A page can be short or empty although more pages follow, because it skips the changes of other apps.
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps/{app}/audit", tag = "audit",
    params(OrgParam, AppParam, PageParams, TimeRangeParams),
    responses((status = 200, body = Page<OrgAuditEvent>)))]
pub(crate) async fn of_app(
    State(app): State<App>,
    path: TargetPath,
    query: AuditQuery,
) -> Reply<Page<OrgAuditEvent>> {
    list(&app, path, query).await
}
