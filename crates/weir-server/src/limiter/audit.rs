//! Who changed what, and when.

use crate::limiter::error::LimiterError;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use weir_limiter::audit::{self, Action, Filter};

use super::place::{NsName, limiter};
use super::shapes::{EntityId, NsAt, Resource, SubjectText, When, time};
use crate::limiter::error::Reply;
use weir_framework::app::App;
use weir_framework::extract::Query;
use weir_framework::page::{Page, PageLimit as _, PageParams};

const SYSTEM: &str = "$SYSTEM";
const RESOURCE: &str = "$RESOURCE:";

/// Which events are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Of {
    /// An entity, `$SYSTEM` or `$RESOURCE:name`. When it is left out: the namespace itself.
    #[param(value_type = SubjectText, inline, required = false)]
    entity: Option<String>,
    /// Not before this.
    #[param(value_type = String, format = DateTime, required = false)]
    from: Option<When>,
    /// Before this.
    #[param(value_type = String, format = DateTime, required = false)]
    to: Option<When>,
    /// How many things at most.
    #[param(minimum = 1, maximum = 100, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the part before, as it is; another text is refused.
    #[param(format = "cursor", min_length = 1)]
    cursor: Option<String>,
}

/// An event of the trail.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = AuditEvent)]
pub struct Event {
    /// Its id; ids are in order of time.
    pub id: String,
    /// When.
    #[schema(format = DateTime)]
    pub at: String,
    /// What was done.
    #[schema(value_type = String, example = "limits_set")]
    pub action: Action,
    /// To what: an entity, `$SYSTEM`, `$RESOURCE:name`, or a namespace.
    pub subject: String,
    /// By whom.
    pub principal: String,
    /// On which resource.
    pub resource: Option<String>,
    /// How it was before.
    #[schema(value_type = Option<Object>)]
    pub before: Option<Value>,
    /// How it is now.
    #[schema(value_type = Option<Object>)]
    pub after: Option<Value>,
}

impl From<audit::Event> for Event {
    fn from(event: audit::Event) -> Event {
        Event {
            id: event.id,
            at: time(event.at_ms),
            action: event.action,
            subject: event.subject,
            principal: event.actor,
            resource: event.resource,
            before: event.before,
            after: event.after,
        }
    }
}

/// Lists what was changed, the newest first
#[utoipa::path(get, path = "/v1/namespaces/{ns}/audit", tag = "audit",
    params(NsAt, Of), responses((status = 200, body = Page<Event>)))]
pub(crate) async fn list(
    State(app): State<App>,
    NsName(name): NsName,
    Query(of): Query<Of>,
) -> Reply<Page<Event>> {
    let part = PageParams { limit: of.limit, cursor: of.cursor };
    let filter = |subject| -> Result<Filter, LimiterError> {
        Ok(Filter {
            subject,
            from_ms: of.from.map(|when| when.0),
            to_ms: of.to.map(|when| when.0),
            limit: part.checked_limit()?,
            cursor: part.cursor.clone(),
        })
    };
    let limiter = limiter(&app)?;
    let (events, next_cursor) = match of.entity {
        Some(subject) => {
            check(&subject)?;
            limiter.namespace(&name).await?.audit(&filter(subject)?).await?
        }
        None => limiter.registry_audit(&filter(name.to_string())?).await?,
    };
    Ok(Json(Page { items: events.into_iter().map(Event::from).collect(), next_cursor }))
}

/// Says so when nothing can have this name.
fn check(subject: &str) -> Result<(), LimiterError> {
    if subject == SYSTEM {
        return Ok(());
    }
    match subject.strip_prefix(RESOURCE) {
        Some(resource) => Resource::new(resource).map(drop)?,
        None => EntityId::new(subject).map(drop)?,
    }
    Ok(())
}
