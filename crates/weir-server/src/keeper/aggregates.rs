//! What was used and spent on a day, or on each of a series of days.

use crate::keeper::error::KeeperError;
use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use weir_keeper::ids::Scope;
use weir_keeper::totals;

use super::place::{Asker, Whose, keeper};
use super::rates::allowances;
use super::shapes::{AppAt, DateText, OrgAt, PlainDateText};
use weir_framework::app::App;
use weir_framework::extract::{Path, Query};

/// The header that tells how old totals are at most.
const LAG: HeaderName = HeaderName::from_static("x-data-lag-secs");
const TODAY: &str = "today";

/// The day in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct OnDay {
    /// `today`, or a day of the org as YYYY-MM-DD.
    #[param(value_type = DateText, inline)]
    date: String,
}

/// From when to when.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Days {
    /// The first day.
    #[param(value_type = PlainDateText, inline)]
    from: String,
    /// The last day; at most 92 days in all.
    #[param(value_type = PlainDateText, inline)]
    to: String,
}

async fn day(app: &App, scope: &Scope, asker: &Asker, date: &str) -> Result<Response, KeeperError> {
    allowances(app)?.aggregates(app, asker).await?;
    let keeper = keeper(app)?;
    let day = match date {
        TODAY => keeper.today(scope).await?,
        date => date.parse()?,
    };
    let totals = keeper.day_totals(scope, day).await?;
    Ok((lag(app, totals.updated_at_epoch), Json(totals)).into_response())
}

async fn days(
    app: &App,
    scope: &Scope,
    asker: &Asker,
    days: &Days,
) -> Result<Response, KeeperError> {
    allowances(app)?.aggregates(app, asker).await?;
    let (from, to) = (days.from.parse()?, days.to.parse()?);
    let items = keeper(app)?.series(scope, from, to).await?;
    let updated = items.iter().filter_map(|day| day.updated_at_epoch).max();
    Ok((lag(app, updated), Json(Told { items, next_cursor: None })).into_response())
}

/// A series, as all lists are.
#[derive(Serialize)]
struct Told {
    items: Vec<totals::DayTotals>,
    next_cursor: Option<String>,
}

/// How old totals are that were summed up last at this second; nothing newer than that is in them for sure.
fn lag(app: &App, updated: Option<i64>) -> [(HeaderName, HeaderValue); 1] {
    let now = i64::try_from(app.now_ms() / 1000).unwrap_or(i64::MAX);
    let secs = updated.map_or(0, |at| now.saturating_sub(at).max(0));
    [(LAG, HeaderValue::from(secs))]
}

/// Tells what an org used and spent on a day
#[utoipa::path(get, path = "/api/v1/orgs/{org}/aggregates/{date}", tag = "aggregates",
    params(OrgAt, OnDay), responses((status = 200, body = DayTotals,
        headers(("X-Data-Lag-Secs", description = "How old the totals are at most")))))]
pub(crate) async fn org_day(
    State(app): State<App>,
    Whose(scope): Whose,
    asker: Asker,
    Path(on): Path<OnDay>,
) -> Result<Response, KeeperError> {
    day(&app, &scope, &asker, &on.date).await
}

/// Tells what an app used and spent on a day
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps/{app}/aggregates/{date}", tag = "aggregates",
    params(OrgAt, AppAt, OnDay), responses((status = 200, body = DayTotals,
        headers(("X-Data-Lag-Secs", description = "How old the totals are at most")))))]
pub(crate) async fn app_day(
    State(app): State<App>,
    Whose(scope): Whose,
    asker: Asker,
    Path(on): Path<OnDay>,
) -> Result<Response, KeeperError> {
    day(&app, &scope, &asker, &on.date).await
}

/// Tells what an org used and spent on each of a series of days
#[utoipa::path(get, path = "/api/v1/orgs/{org}/aggregates", tag = "aggregates",
    params(OrgAt, Days), responses((status = 200, body = Series,
        headers(("X-Data-Lag-Secs", description = "How old the totals are at most")))))]
pub(crate) async fn org_days(
    State(app): State<App>,
    Whose(scope): Whose,
    asker: Asker,
    Query(asked): Query<Days>,
) -> Result<Response, KeeperError> {
    days(&app, &scope, &asker, &asked).await
}

/// Tells what an app used and spent on each of a series of days
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps/{app}/aggregates", tag = "aggregates",
    params(OrgAt, AppAt, Days), responses((status = 200, body = Series,
        headers(("X-Data-Lag-Secs", description = "How old the totals are at most")))))]
pub(crate) async fn app_days(
    State(app): State<App>,
    Whose(scope): Whose,
    asker: Asker,
    Query(asked): Query<Days>,
) -> Result<Response, KeeperError> {
    days(&app, &scope, &asker, &asked).await
}

/// What was used and spent on each of a series of days.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Series {
    /// The days, in order.
    pub items: Vec<DayTotals>,
    /// Always `null`.
    pub next_cursor: Option<String>,
}

/// What was used and spent on a day.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DayTotals {
    /// The day.
    #[schema(format = Date)]
    pub date: String,
    /// By which it begins and ends.
    pub timezone: String,
    /// Whose spend the quotas are for: `ORG` or `APP`.
    pub quota_scope: String,
    /// Each model.
    pub models: BTreeMap<String, ModelTotals>,
    /// All models together.
    pub totals: Sum,
    /// The fallback of the day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticky: Option<StickyState>,
    /// When the totals were summed up last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub updated_at: Option<String>,
}

/// What was used and spent.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Sum {
    /// What was spent, in millionths of a US dollar.
    pub cost_usd_micros: u64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from a cache.
    pub cached_read_tokens: u64,
    /// Tokens put into a cache.
    pub cached_write_tokens: u64,
    /// Submissions.
    pub requests: u64,
}

/// What was used and spent on a model.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ModelTotals {
    /// What was used and spent.
    #[serde(flatten)]
    pub sum: Sum,
    /// What may be spent on a day.
    pub quota_usd_micros: u64,
    /// The spend as a part of that.
    pub quota_pct: f64,
    /// `NORMAL`, `TIGHT` or `EXCEEDED`.
    pub quota_status: String,
    /// What a submission cost, rounded up.
    pub average_cost_per_request: u64,
    /// What Bedrock calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bedrock_model_id: Option<String>,
}

/// The model that a scope is at for the rest of its day.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct StickyState {
    /// The model.
    pub active_model_label: String,
    /// The one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_model_label: Option<String>,
    /// `QUOTA_EXCEEDED` or `MANUAL_OVERRIDE`.
    pub reason: String,
    /// Since when.
    #[schema(format = DateTime)]
    pub activated_at: String,
}
