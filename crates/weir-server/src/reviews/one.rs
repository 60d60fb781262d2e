//! One review, and what its models said.

use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use weir_api::reviews::{Consensus, Finding, IncludeParams, ModelParam, Review, ReviewParam};
use weir_framework::extract::Query;
use weir_framework::page::{Page, PageLimit as _, PageParams, page_response};

use super::access::ScopedReviews;
use super::convert;
use super::error::{Reply, ReviewsError};
use super::path::{ModelPath, ReviewPath};

/// Returns a review
#[utoipa::path(get, path = "/v1/reviews/{id}", tag = "reviews", params(ReviewParam, IncludeParams),
    responses((status = 200, body = Review)))]
pub(crate) async fn get(
    ScopedReviews(reviews): ScopedReviews,
    ReviewPath(id): ReviewPath,
    Query(params): Query<IncludeParams>,
) -> Reply<Review> {
    Ok(Json(match convert::included(&params)? {
        Some(included) => convert::whole_review(reviews.get_whole(&id).await?, included),
        None => convert::review(reviews.get(&id).await?),
    }))
}

/// Lists the findings of a review, by model and id
#[utoipa::path(get, path = "/v1/reviews/{id}/findings", tag = "reviews",
    params(ReviewParam, PageParams), responses((status = 200, body = Page<Finding>)))]
pub(crate) async fn findings(
    ScopedReviews(reviews): ScopedReviews,
    ReviewPath(id): ReviewPath,
    Query(page): Query<PageParams>,
) -> Reply<Page<Finding>> {
    let found = reviews.findings(&id, page.checked_limit()?, page.cursor).await?;
    Ok(page_response(found, convert::finding))
}

/// Lists the issues of a review that several models found, by id
#[utoipa::path(get, path = "/v1/reviews/{id}/consensus", tag = "reviews",
    params(ReviewParam, PageParams), responses((status = 200, body = Page<Consensus>)))]
pub(crate) async fn consensus(
    ScopedReviews(reviews): ScopedReviews,
    ReviewPath(id): ReviewPath,
    Query(page): Query<PageParams>,
) -> Reply<Page<Consensus>> {
    let found = reviews.consensus(&id, page.checked_limit()?, page.cursor).await?;
    Ok(page_response(found, convert::consensus))
}

/// Returns the raw output of a model, as it was sent
#[utoipa::path(get, path = "/v1/reviews/{id}/raw/{model}", tag = "reviews",
    params(ReviewParam, ModelParam),
    responses((status = 200, body = serde_json::Value, content_type = "application/json")))]
pub(crate) async fn raw(
    ScopedReviews(reviews): ScopedReviews,
    ReviewPath(id): ReviewPath,
    ModelPath(model): ModelPath,
) -> Result<Response, ReviewsError> {
    let raw = reviews.raw(&id, &model).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], raw).into_response())
}
