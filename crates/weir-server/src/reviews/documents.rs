//! A review as a document: SARIF for code scanners, and reports for people.

use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use weir_api::reviews::{ReportFormat, ReportParams, ReviewParam, SARIF, SarifParams};
use weir_framework::extract::Query;
use weir_reviews::{report, sarif};

use super::access::ScopedReviews;
use super::error::ReviewsError;
use super::path::ReviewPath;

/// Returns a review as SARIF 2.1.0
///
/// The file has the issues that several models found, or every finding as one run per model.
#[utoipa::path(get, path = "/v1/reviews/{id}/sarif", tag = "reviews",
    params(ReviewParam, SarifParams),
    responses((status = 200, body = serde_json::Value, content_type = "application/sarif+json")))]
pub(crate) async fn sarif(
    ScopedReviews(reviews): ScopedReviews,
    ReviewPath(id): ReviewPath,
    Query(params): Query<SarifParams>,
) -> Result<Response, ReviewsError> {
    let review = reviews.get_whole(&id).await?;
    let log = if params.findings { sarif::write_findings(&review) } else { sarif::write(&review) };
    Ok(([(header::CONTENT_TYPE, SARIF)], log.to_string()).into_response())
}

/// Returns a review as a report for people
#[utoipa::path(get, path = "/v1/reviews/{id}/report", tag = "reviews",
    params(ReviewParam, ReportParams),
    responses((status = 200, content((String = "text/markdown"), (String = "text/plain")))))]
pub(crate) async fn report(
    ScopedReviews(reviews): ScopedReviews,
    ReviewPath(id): ReviewPath,
    Query(params): Query<ReportParams>,
) -> Result<Response, ReviewsError> {
    let review = reviews.get_whole(&id).await?;
    let (kind, text) = match params.format {
        ReportFormat::Markdown => ("text/markdown; charset=utf-8", report::markdown(&review)),
        ReportFormat::Text => ("text/plain; charset=utf-8", report::text(&review)),
    };
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
