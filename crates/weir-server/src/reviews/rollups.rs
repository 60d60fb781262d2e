//! Verification of rollups.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use weir_api::reviews::{VerifyRollupsRequest, VerifyRollupsResponse};
use weir_calendar::Day;
use weir_framework::ApiError;
use weir_framework::app::App;
use weir_framework::extract::Body;
use weir_reviews::rollup::{self, DayRange, Level};
use weir_reviews::time::parse_day;

use super::convert;
use super::error::Reply;
use super::path::reviews;

/// Most days of a verification, because it reads every summary of their reviews.
const VERIFY_DAYS_MAX: u32 = 31;

/// Verifies rollups
///
/// Computes the sums of days again and returns where the stored ones differ. With `recompute`, the job `reviews-rollup` writes
/// these days again.
#[utoipa::path(post, path = "/v1/reviews/rollups/verify", tag = "reviews",
    request_body = VerifyRollupsRequest, responses((status = 200, body = VerifyRollupsResponse)))]
pub(crate) async fn verify(
    State(app): State<App>,
    Body(request): Body<VerifyRollupsRequest>,
) -> Reply<VerifyRollupsResponse> {
    let (from, to) = (parse_day("from", &request.from)?, parse_day("to", &request.to)?);
    let range = DayRange::new(from, to)?;
    if range.len() > VERIFY_DAYS_MAX {
        let problem = format!("is more than {VERIFY_DAYS_MAX} days after from");
        return Err(ApiError::invalid("to", problem).into());
    }
    let repository = request.repo.as_deref().map(convert::repository).transpose()?;
    let (reviews, level) = (reviews(&app)?, convert::level(repository));
    let (store, table) = (reviews.store(), reviews.rollup_table());
    let report = rollup::verify(store, &table, &level, range).await?;
    let differing: BTreeSet<(Option<String>, Day)> =
        report.differences.iter().map(|one| (convert::level_text(&one.level), one.day)).collect();
    let mut recomputed = 0;
    for (repository, day) in differing.iter().filter(|_| request.recompute) {
        let repository = repository.as_deref().map(convert::repository).transpose()?;
        let level: Level = convert::level(repository);
        store.write(rollup::mark_write(&level, *day, &table, reviews.now_ms())).await?;
        recomputed += 1;
    }
    Ok(Json(convert::verification(report, recomputed)))
}
