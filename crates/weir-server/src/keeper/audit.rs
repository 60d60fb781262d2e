//! Who changed what of an org or an app, and when.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use weir_keeper::audit::{self, Act, Filter};

use super::place::{Whose, keeper};
use super::shapes::{AppAt, OrgAt};
use crate::keeper::error::Reply;
use weir_framework::app::App;
use weir_framework::extract::Query;
use weir_framework::page::{Page, PageLimit as _, PageParams};
use weir_framework::time::{When, time};

/// Which events are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Of {
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

/// An event of an org's trail.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = BudgetEvent)]
pub struct Event {
    /// Its id; ids are in the order of time.
    pub id: String,
    /// When.
    #[schema(format = DateTime)]
    pub at: String,
    /// What was done.
    #[schema(value_type = String, example = "org_updated")]
    pub action: Act,
    /// To whom: the client id of the org or the app.
    pub subject: String,
    /// By whom.
    pub actor: String,
    /// What else is worth knowing, like which settings were changed; never a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl From<audit::Event> for Event {
    fn from(event: audit::Event) -> Event {
        Event {
            id: event.id,
            at: time(event.at_ms),
            action: event.action,
            subject: event.subject,
            actor: event.actor,
            detail: event.detail,
        }
    }
}

async fn list(app: &App, Whose(of): Whose, asked: Of) -> Reply<Page<Event>> {
    let keeper = keeper(app)?;
    keeper.effective(of.org(), of.app()).await?;
    let part = PageParams { limit: asked.limit, cursor: asked.cursor };
    let filter = Filter {
        of,
        from_ms: asked.from.map(|when| when.0),
        to_ms: asked.to.map(|when| when.0),
        limit: part.checked_limit()?,
        cursor: part.cursor,
    };
    let found = keeper.audit(&filter).await?;
    let items = found.items.into_iter().map(Event::from).collect();
    Ok(Json(Page { items, next_cursor: found.cursor }))
}

/// Lists what was changed of an org and its apps, the newest first
#[utoipa::path(get, path = "/api/v1/orgs/{org}/audit", tag = "audit", params(OrgAt, Of),
    responses((status = 200, body = Page<Event>)))]
pub(crate) async fn of_org(
    State(app): State<App>,
    whose: Whose,
    Query(of): Query<Of>,
) -> Reply<Page<Event>> {
    list(&app, whose, of).await
}

/// Lists what was changed of an app, the newest first
///
/// A part can be short, or even empty, while there is more: what was changed of others was passed over.
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps/{app}/audit", tag = "audit",
    params(OrgAt, AppAt, Of), responses((status = 200, body = Page<Event>)))]
pub(crate) async fn of_app(
    State(app): State<App>,
    whose: Whose,
    Query(of): Query<Of>,
) -> Reply<Page<Event>> {
    list(&app, whose, of).await
}
