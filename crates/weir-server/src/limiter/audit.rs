//! The audit log: every change, with its actor and time.

use axum::extract::State;
use weir_api::limiter::{LimiterAuditEvent, LimiterAuditParams};
use weir_limiter::ids::{EntityId, Resource};

use super::convert;
use super::path::{NamespaceNamePath, limiter};
use crate::limiter::error::{LimiterError, Reply};
use weir_framework::app::App;
use weir_framework::extract::QueryParts;
use weir_framework::page::{Page, PageParams, TimeRangeParams, event_range, page_response};

const SYSTEM: &str = "$SYSTEM";
const RESOURCE: &str = "$RESOURCE:";

/// Lists changes, newest first
///
/// Without `entity`, the list has the changes of the whole namespace: of all its entities, limits and buckets, and of the
/// namespace itself. It may lag by a moment. Of a deleted namespace it has the changes of the namespace itself.
#[utoipa::path(get, path = "/v1/namespaces/{ns}/audit", tag = "audit",
    params(NamespaceNamePath, LimiterAuditParams, TimeRangeParams, PageParams),
    responses((status = 200, body = Page<LimiterAuditEvent>)))]
pub(crate) async fn list(
    State(app): State<App>,
    NamespaceNamePath(name): NamespaceNamePath,
    QueryParts((page, range, params)): QueryParts<(
        PageParams,
        TimeRangeParams,
        LimiterAuditParams,
    )>,
) -> Reply<Page<LimiterAuditEvent>> {
    let range = event_range(page, &range)?;
    let limiter = limiter(&app)?;
    let events = match params.entity {
        Some(subject) => {
            check_subject(&subject)?;
            limiter.namespace(&name).await?.audit(&subject, &range).await?
        }
        None => match limiter.namespace(&name).await {
            Ok(namespace) => namespace.audit_of_all(&range).await?,
            Err(weir_limiter::Error::NotFound { .. }) => {
                limiter.registry_audit(name.as_str(), &range).await?
            }
            Err(error) => return Err(error.into()),
        },
    };
    Ok(page_response(events, convert::audit_event))
}

/// Refuses a subject that cannot exist.
fn check_subject(subject: &str) -> Result<(), LimiterError> {
    if subject == SYSTEM {
        return Ok(());
    }
    match subject.strip_prefix(RESOURCE) {
        Some(resource) => Resource::new(resource).map(drop)?,
        None => EntityId::new(subject).map(drop)?,
    }
    Ok(())
}
