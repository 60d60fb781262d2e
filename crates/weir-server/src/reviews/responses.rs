//! Responses of models: adding one to a review in progress, as JSON or as SARIF, and listing them.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header;
use axum::response::{IntoResponse as _, Response as HttpResponse};
use weir_api::reviews::{NewResponse, Response, ReviewParam, SARIF, SarifLog, SarifResponseParams};
use weir_framework::ApiError;
use weir_framework::app::App;
use weir_framework::extract::{Body, Query, bytes};
use weir_framework::page::{Page, PageLimit as _, PageParams, page_response};
use weir_framework::prelude::{Created, Json};

use super::access::ScopedReviews;
use super::convert;
use super::error::{Reply, ReviewsError};
use super::path::ReviewPath;

/// Lists the responses of a review, by model
#[utoipa::path(get, path = "/v1/reviews/{id}/responses", tag = "reviews",
    params(ReviewParam, PageParams), responses((status = 200, body = Page<Response>)))]
pub(crate) async fn list(
    ScopedReviews(reviews): ScopedReviews,
    ReviewPath(id): ReviewPath,
    Query(page): Query<PageParams>,
) -> Reply<Page<Response>> {
    let found = reviews.responses(&id, page.checked_limit()?, page.cursor).await?;
    Ok(page_response(found, convert::response))
}

/// A response in JSON, or its findings in SARIF.
pub(crate) enum ResponseBody {
    Json(NewResponse),
    Sarif(Bytes),
}

impl FromRequest<App> for ResponseBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<ResponseBody, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if kind.eq_ignore_ascii_case(SARIF) {
            return bytes(request).await.map(ResponseBody::Sarif);
        }
        Body::from_request(request, app).await.map(|Body(response)| ResponseBody::Json(response))
    }
}

/// Adds the response of a model to a review in progress
///
/// The findings may also be SARIF 2.1.0 with one run; then query parameters have the rest of the response. The same response
/// again changes nothing and returns 200.
#[utoipa::path(post, path = "/v1/reviews/{id}/responses", tag = "reviews",
    params(ReviewParam, SarifResponseParams),
    request_body(content((NewResponse = "application/json"), (SarifLog = "application/sarif+json"))),
    responses(
        (status = 200, description = "The response was added before", body = Response),
        (status = 201, description = "The response is added", body = Response)))]
pub(crate) async fn add(
    ScopedReviews(reviews): ScopedReviews,
    ReviewPath(id): ReviewPath,
    Query(params): Query<SarifResponseParams>,
    body: ResponseBody,
) -> Result<HttpResponse, ReviewsError> {
    let response = match body {
        ResponseBody::Json(_) if params != SarifResponseParams::default() => {
            let problem = "has fields of the response, which belong into a JSON body";
            return Err(ApiError::invalid("query", problem).into());
        }
        ResponseBody::Json(response) => convert::new_response(response)?,
        ResponseBody::Sarif(sarif) => convert::sarif_response(params, &sarif)?,
    };
    let is_new = reviews.add_response(&id, &response).await?;
    let added = convert::added_response(&response);
    Ok(if is_new { Created(added).into_response() } else { Json(added).into_response() })
}
