//! Routes of audit events.

use axum::Json;
use axum::extract::State;
use weir_api::keeper::{AppParam, OrgAuditEvent, OrgParam};
use weir_keeper::audit::AuditFilter;

use super::convert;
use super::error::Reply;
use super::path::{TargetPath, keeper};
use weir_framework::app::App;
use weir_framework::extract::QueryParts;
use weir_framework::page::{Page, PageLimit as _, PageParams, TimeRange as _, TimeRangeParams};

type AuditQuery = QueryParts<(PageParams, TimeRangeParams)>;

async fn list(
    app: &App,
    TargetPath(scope): TargetPath,
    QueryParts((page, range)): AuditQuery,
) -> Reply<Page<OrgAuditEvent>> {
    let keeper = keeper(app)?;
    keeper.effective_config(scope.org(), scope.app()).await?;
    let (from_ms, to_ms) = range.parsed()?;
    let limit = page.checked_limit()?;
    let filter = AuditFilter { scope, from_ms, to_ms, limit, cursor: page.cursor };
    let found = keeper.audit_events(&filter).await?;
    let items = found.items.into_iter().map(convert::audit_event).collect();
    Ok(Json(Page { items, next_cursor: found.cursor }))
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
