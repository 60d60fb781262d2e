//! Recording a review: in one call, or opened here and completed later.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use weir_api::reviews::{CompleteRequest, NewReview, RecordParams, Review, ReviewParam};
use weir_framework::ApiError;
use weir_framework::app::App;
use weir_framework::authorize::Caller;
use weir_framework::extract::{FastBody, OptionalBody, Query};
use weir_framework::prelude::Created;
use weir_reviews::ids::ReviewId;
use weir_reviews::record::Recorded;

use super::access::{ScopedReviews, may_record};
use super::convert::{self, Recording};
use super::error::{Reply, ReviewsError};
use super::metrics::metrics;
use super::path::{ReviewPath, reviews};

/// Records a review
///
/// Recording the same content with the same `review_id` again changes nothing and returns 200. Other content is refused with
/// a 409, unless `replace` is true.
#[utoipa::path(post, path = "/v1/reviews", tag = "reviews", params(RecordParams), request_body = NewReview, responses(
    (status = 200, description = "The review was recorded before", body = Review),
    (status = 201, description = "The review is recorded or opened", body = Review)))]
pub(crate) async fn record(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<RecordParams>,
    FastBody(request): FastBody<NewReview>,
) -> Result<Response, ReviewsError> {
    store(&app, &caller, &params, convert::recording(request, None)?).await
}

/// Records a review with an id of the client
///
/// Recording the same content again changes nothing and returns 200. Other content is refused with a 409, unless `replace`
/// is true.
#[utoipa::path(put, path = "/v1/reviews/{id}", tag = "reviews", params(ReviewParam, RecordParams),
    request_body = NewReview, responses(
        (status = 200, description = "The review was recorded before", body = Review),
        (status = 201, description = "The review is recorded or opened", body = Review)))]
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    ReviewPath(id): ReviewPath,
    Query(params): Query<RecordParams>,
    FastBody(request): FastBody<NewReview>,
) -> Result<Response, ReviewsError> {
    store(&app, &caller, &params, convert::recording(request, Some(id))?).await
}

async fn store(
    app: &App,
    caller: &Caller,
    params: &RecordParams,
    recording: Recording,
) -> Result<Response, ReviewsError> {
    let of = &recording.head().pull_request;
    may_record(caller, &of.owner, &of.repo)?;
    let recorded = match recording {
        Recording::Whole(review) => reviews(app)?.record(review, params.replace).await,
        Recording::Opened(_) if params.replace => {
            let problem = "cannot be true for a review in progress; delete the old one first";
            return Err(ApiError::invalid("replace", problem).into());
        }
        Recording::Opened(head) => reviews(app)?.open_review(head).await,
    };
    metrics(app)?.recorded(&recorded);
    let Recorded { review, changed } = recorded?;
    let review = convert::review(review);
    Ok(if changed { Created(review).into_response() } else { Json(review).into_response() })
}

/// Completes a review in progress, or gives it up
///
/// The consensus is computed unless the request has it. The same request again changes nothing.
#[utoipa::path(post, path = "/v1/reviews/{id}/complete", tag = "reviews", params(ReviewParam),
    request_body = Option<CompleteRequest>, responses((status = 200, body = Review)))]
pub(crate) async fn complete(
    State(app): State<App>,
    ScopedReviews(reviews): ScopedReviews,
    ReviewPath(id): ReviewPath,
    OptionalBody(request): OptionalBody<CompleteRequest>,
) -> Reply<Review> {
    let recorded = reviews.complete(&id, &convert::completion(request)?).await;
    metrics(&app)?.recorded(&recorded);
    Ok(Json(convert::review(recorded?.review)))
}

/// Deletes a review
///
/// Everything that the models said goes with it: responses, findings, consensus, costs and raw outputs.
#[utoipa::path(delete, path = "/v1/reviews/{id}", tag = "reviews", params(ReviewParam),
    responses((status = 204)))]
pub(crate) async fn remove(
    ScopedReviews(reviews): ScopedReviews,
    ReviewPath(id): ReviewPath,
) -> Result<StatusCode, ReviewsError> {
    reviews.delete(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Names of routes below `/v1/reviews`, which no review may have as its id.
const ROUTES: [&str; 8] =
    ["compare", "consensus", "dates", "findings", "models", "repos", "rollups", "users"];

/// Checks that a review can be reached under its id.
pub(super) fn check_id(id: &ReviewId) -> weir_reviews::Result<()> {
    if ROUTES.contains(&id.as_str()) {
        let problem = format!("{id:?} is the name of a route");
        return Err(weir_reviews::Error::invalid("review_id", problem));
    }
    Ok(())
}
