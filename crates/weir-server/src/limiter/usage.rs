//! Usage by hour, day and month.

use axum::Json;
use axum::extract::State;
use weir_api::limiter::{UsageParams, UsageSnapshot, UsageSummary, UsageWindow};
use weir_limiter::usage::Filter;

use super::convert;
use super::path::NamespacePath;
use crate::limiter::error::{LimiterError, Reply};
use weir_framework::app::App;
use weir_framework::extract::QueryParts;
use weir_framework::page::{
    Page, PageLimit as _, PageParams, TimeRange as _, TimeRangeParams, page_response,
};

const HOUR_MS: i64 = 60 * 60 * 1000;
const DAY_MS: i64 = 24 * HOUR_MS;

type Params = QueryParts<(PageParams, TimeRangeParams, UsageParams)>;

/// The time range of a request without `from`: a day, a month, a year.
fn default_range_ms(window: UsageWindow) -> i64 {
    match window {
        UsageWindow::Hourly => DAY_MS,
        UsageWindow::Daily => 30 * DAY_MS,
        UsageWindow::Monthly => 365 * DAY_MS,
    }
}

fn filter(app: &App, QueryParts((page, range, params)): Params) -> Result<Filter, LimiterError> {
    let now_ms = i64::try_from(app.now_ms()).unwrap_or(i64::MAX);
    let (from_ms, to_ms) = range.parsed()?;
    let to_ms = to_ms.unwrap_or(now_ms.saturating_add(1));
    let from_ms = from_ms.unwrap_or(to_ms.saturating_sub(default_range_ms(params.window)));
    Ok(Filter {
        entity: params.entity.map(|text| convert::entity_id("entity", &text)).transpose()?,
        resource: params.resource.as_deref().map(convert::resource).transpose()?,
        window: convert::usage_window(params.window),
        from_ms,
        to_ms,
        limit: page.checked_limit()?,
        cursor: page.cursor,
    })
}

/// Lists usage by window, in order of time
///
/// The request names an entity, a resource or both. By default the time range ends now, and is a day long for hourly
/// windows, 30 days for daily and a year for monthly ones.
#[utoipa::path(get, path = "/v1/namespaces/{ns}/usage", tag = "usage",
    params(NamespacePath, UsageParams, TimeRangeParams, PageParams),
    responses((status = 200, body = Page<UsageSnapshot>)))]
pub(crate) async fn list(
    State(app): State<App>,
    NamespacePath(ns): NamespacePath,
    params: Params,
) -> Reply<Page<UsageSnapshot>> {
    Ok(page_response(ns.usage(&filter(&app, params)?).await?, convert::usage_snapshot))
}

/// Sums usage over a time range
///
/// The request names an entity, a resource or both. By default the time range ends now, and is a day long for hourly
/// windows, 30 days for daily and a year for monthly ones.
#[utoipa::path(get, path = "/v1/namespaces/{ns}/usage/summary", tag = "usage",
    params(NamespacePath, UsageParams, TimeRangeParams, PageParams),
    responses((status = 200, body = UsageSummary)))]
pub(crate) async fn summary(
    State(app): State<App>,
    NamespacePath(ns): NamespacePath,
    params: Params,
) -> Reply<UsageSummary> {
    let filter = filter(&app, params)?;
    let sums = ns.usage_summary(&filter).await?;
    Ok(Json(convert::usage_summary(&filter, sums)))
}
