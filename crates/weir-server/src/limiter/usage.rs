//! What was used, by hour, day and month.

use crate::limiter::error::LimiterError;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use weir_limiter::usage::{self, Filter};

use super::place::Ns;
use super::shapes::{Amounts, EntityId, EntityText, NsAt, Resource, ResourceText, When, time};
use crate::limiter::error::Reply;
use weir_framework::app::App;
use weir_framework::extract::Query;
use weir_framework::page::{Page, PageLimit as _, PageParams};

const HOUR_MS: i64 = 60 * 60 * 1000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// How long a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = UsageWindow)]
pub enum Window {
    /// An hour.
    #[default]
    Hourly,
    /// A day, in UTC.
    Daily,
    /// A month, in UTC.
    Monthly,
}

impl Window {
    fn domain(self) -> usage::Window {
        match self {
            Window::Hourly => usage::Window::Hourly,
            Window::Daily => usage::Window::Daily,
            Window::Monthly => usage::Window::Monthly,
        }
    }

    /// How far back one looks unless told otherwise: a day, a month, a year.
    fn usual_ms(self) -> i64 {
        match self {
            Window::Hourly => DAY_MS,
            Window::Daily => 30 * DAY_MS,
            Window::Monthly => 365 * DAY_MS,
        }
    }
}

impl From<usage::Window> for Window {
    fn from(window: usage::Window) -> Window {
        match window {
            usage::Window::Hourly => Window::Hourly,
            usage::Window::Daily => Window::Daily,
            usage::Window::Monthly => Window::Monthly,
        }
    }
}

/// Whose usage is asked for. An entity, a resource or both must be named.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Of {
    /// The entity; all when it is left out.
    #[param(value_type = EntityText, inline, required = false)]
    entity: Option<EntityId>,
    /// The resource; all when it is left out.
    #[param(value_type = ResourceText, inline, required = false)]
    resource: Option<Resource>,
    /// How long the windows are; hourly when it is left out.
    #[serde(default)]
    #[param(value_type = Window, inline, required = false)]
    window: Window,
    /// From the window on in which this is; a day, 30 days or a year before `to` when it is left out.
    #[param(value_type = String, format = DateTime, required = false)]
    from: Option<When>,
    /// Up to before this; now when it is left out.
    #[param(value_type = String, format = DateTime, required = false)]
    to: Option<When>,
    /// How many things at most.
    #[param(minimum = 1, maximum = 100, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the part before, as it is; another text is refused.
    #[param(format = "cursor", min_length = 1)]
    cursor: Option<String>,
}

/// What an entity used of a resource in a window.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Usage)]
pub struct Snapshot {
    /// Who.
    #[schema(value_type = String)]
    pub entity: EntityId,
    /// What.
    #[schema(value_type = String)]
    pub resource: Resource,
    /// How long the window is.
    pub window: Window,
    /// When it began.
    #[schema(format = DateTime)]
    pub start: String,
    /// Tokens of each limit.
    #[schema(value_type = BTreeMap<String, i64>)]
    pub used: Amounts,
    /// Changes that were counted.
    pub events: i64,
}

/// Sums over windows.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = UsageSummary)]
pub struct Summary {
    /// From when.
    #[schema(format = DateTime)]
    pub from: String,
    /// Up to before when.
    #[schema(format = DateTime)]
    pub to: String,
    /// How long the windows are.
    pub window: Window,
    /// Windows that were summed.
    pub snapshots: u64,
    /// Tokens of each limit.
    #[schema(value_type = BTreeMap<String, i64>)]
    pub total: Amounts,
    /// The most in one window, of each limit.
    #[schema(value_type = BTreeMap<String, i64>)]
    pub peak: Amounts,
    /// Changes that were counted.
    pub events: i64,
}

fn filter(app: &App, of: Of) -> Result<Filter, LimiterError> {
    let now_ms = i64::try_from(app.now_ms()).unwrap_or(i64::MAX);
    let to_ms = of.to.map_or(now_ms.saturating_add(1), |when| when.0);
    let usual = to_ms.saturating_sub(of.window.usual_ms());
    let part = PageParams { limit: of.limit, cursor: of.cursor };
    Ok(Filter {
        entity: of.entity,
        resource: of.resource,
        window: of.window.domain(),
        from_ms: of.from.map_or(usual, |when| when.0),
        to_ms,
        limit: part.checked_limit()?,
        cursor: part.cursor,
    })
}

/// Lists what was used
///
/// By an entity, of a resource, or both, in order of time.
#[utoipa::path(get, path = "/v1/namespaces/{ns}/usage", tag = "usage",
    params(NsAt, Of), responses((status = 200, body = Page<Snapshot>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Ns(ns): Ns,
    Query(of): Query<Of>,
) -> Reply<Page<Snapshot>> {
    let (found, next_cursor) = ns.usage(&filter(&app, of)?).await?;
    let snapshot = |snapshot: usage::Snapshot| Snapshot {
        entity: snapshot.entity,
        resource: snapshot.resource,
        window: snapshot.window.into(),
        start: time(snapshot.start_ms),
        used: snapshot.used,
        events: snapshot.events,
    };
    Ok(Json(Page { items: found.into_iter().map(snapshot).collect(), next_cursor }))
}

/// Sums what was used
#[utoipa::path(get, path = "/v1/namespaces/{ns}/usage/summary", tag = "usage",
    params(NsAt, Of), responses((status = 200, body = Summary)))]
pub(crate) async fn summary(
    State(app): State<App>,
    Ns(ns): Ns,
    Query(of): Query<Of>,
) -> Reply<Summary> {
    let window = of.window;
    let filter = filter(&app, of)?;
    let sums = ns.usage_summary(&filter).await?;
    Ok(Json(Summary {
        from: time(filter.from_ms),
        to: time(filter.to_ms),
        window,
        snapshots: sums.snapshots,
        total: sums.total,
        peak: sums.peak,
        events: sums.events,
    }))
}
