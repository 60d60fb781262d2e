//! Feedback of people on findings.

use axum::Json;
use weir_api::reviews::{FeedbackRequest, Finding, FindingParam, ModelParam, ReviewParam, Verdict};
use weir_framework::extract::Body;

use super::access::ScopedReviews;
use super::convert;
use super::error::Reply;
use super::path::{FindingPath, ReviewPath};

/// Accepts or dismisses a finding
///
/// The last verdict counts. The same verdict of the same person again changes nothing.
#[utoipa::path(post, path = "/v1/reviews/{id}/findings/{model}/{finding_id}/feedback",
    tag = "reviews", params(ReviewParam, ModelParam, FindingParam),
    request_body = FeedbackRequest, responses((status = 200, body = Finding)))]
pub(crate) async fn judge(
    ScopedReviews(reviews): ScopedReviews,
    ReviewPath(id): ReviewPath,
    FindingPath(model, finding): FindingPath,
    Body(request): Body<FeedbackRequest>,
) -> Reply<Finding> {
    let is_accepted = request.verdict == Verdict::Accepted;
    let by = convert::user("by", &request.by)?;
    let judged = reviews.feedback(&id, &model, &finding, is_accepted, &by).await?;
    Ok(Json(convert::finding(judged)))
}
