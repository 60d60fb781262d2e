//! Comparison of models.

use axum::Json;
use axum::extract::State;
use weir_api::reviews::{CompareParams, Comparison};
use weir_calendar::Day;
use weir_framework::app::App;
use weir_framework::authorize::Caller;
use weir_framework::extract::Query;
use weir_reviews::compare;
use weir_reviews::rollup::DayRange;
use weir_reviews::time::parse_day;

use super::access::may_read;
use super::convert;
use super::error::{Reply, ReviewsError};
use super::path::reviews;

/// Days of a comparison whose request names none.
const DAYS_DEFAULT: i64 = 90;

/// Compares models over days
///
/// The figures come from sums by day, which the job `reviews-rollup` keeps up to date. Shares are of the whole range, with the
/// size of their sample and a 95 % interval over days. With a scope of one owner or repository, `repo` is required.
#[utoipa::path(get, path = "/v1/reviews/compare", tag = "reviews", params(CompareParams),
    responses((status = 200, body = Comparison)))]
pub(crate) async fn compare(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<CompareParams>,
) -> Reply<Comparison> {
    let repository = params.repo.as_deref().map(convert::repository).transpose()?;
    may_read(&caller, repository.as_ref())?;
    let (range, models) = (range(&app, &params)?, convert::models(params.models.as_deref())?);
    let (reviews, level) = (reviews(&app)?, convert::level(repository));
    let table = reviews.rollup_table();
    let found = compare::read(reviews.store(), &table, &level, range, models.as_deref()).await?;
    Ok(Json(convert::comparison(found, params.repo, range)))
}

fn range(app: &App, params: &CompareParams) -> Result<DayRange, ReviewsError> {
    let day = |field: &str, text: &Option<String>| {
        text.as_deref().map(|text| parse_day(field, text)).transpose()
    };
    let now_ms = i64::try_from(app.now_ms()).unwrap_or(i64::MAX);
    let to = day("to", &params.to)?.unwrap_or_else(|| Day::utc(now_ms).plus_days(1));
    let from = day("from", &params.from)?.unwrap_or_else(|| to.plus_days(-DAYS_DEFAULT));
    Ok(DayRange::new(from, to)?)
}
