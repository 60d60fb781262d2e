//! Routes of audit events.

use axum::extract::State;
use weir_api::keeper::{AppParam, OrgAuditEvent, OrgParam};

use super::convert;
use super::error::Reply;
use super::path::{TargetPath, keeper};
use super::twin::twin_routes;
use weir_framework::app::App;
use weir_framework::extract::QueryParts;
use weir_framework::page::{Page, PageParams, TimeRangeParams, event_range, page_response};

type AuditQuery = QueryParts<(PageParams, TimeRangeParams)>;

twin_routes! {
    get(PageParams, TimeRangeParams) => list(query: AuditQuery) -> Reply<Page<OrgAuditEvent>>,
    described by (tag = "audit", responses((status = 200, body = Page<OrgAuditEvent>)));
    /// Lists changes of an org and its apps, newest first
    of_org = "/api/v1/orgs/{org}/audit";
    /// Lists changes of an app, newest first
    ///
    /// A page can be short or empty although more pages follow, because it skips the changes of other apps.
    of_app = "/api/v1/orgs/{org}/apps/{app}/audit";
}

async fn list(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    QueryParts((page, range)): AuditQuery,
) -> Reply<Page<OrgAuditEvent>> {
    let keeper = keeper(&app)?;
    keeper.config_or_deleted(scope.org(), scope.app()).await?;
    let events = keeper.audit_events(&scope, &event_range(page, &range)?).await?;
    Ok(page_response(events, convert::audit_event))
}
