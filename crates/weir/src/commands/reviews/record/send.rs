//! Sends a review: in one request if it fits, otherwise response by response.

use weir_api::reviews::{CompleteRequest, NewReview, RecordParams, RecordedStatus, Review};

use super::bound::{self, REQUEST_MAX};
use crate::commands::api_context::{ApiContext, with_params};
use crate::failure::Failure;
use crate::progress;

/// Records the review. It has an id.
pub(super) async fn review(
    context: &ApiContext<'_>,
    review: &NewReview,
    replace: bool,
) -> Result<(), Failure> {
    if bound::size(review)? > REQUEST_MAX {
        return by_response(context, review, replace).await;
    }
    let path = with_params(&context.path(&[]), &RecordParams { replace })?;
    context.api.post::<Review>(&path, review).await?;
    Ok(())
}

async fn by_response(
    context: &ApiContext<'_>,
    review: &NewReview,
    replace: bool,
) -> Result<(), Failure> {
    let id = review.review_id.clone().unwrap_or_default();
    if replace {
        return Err(Failure::usage(format!(
            "the review has more than {REQUEST_MAX} bytes, and only a smaller one can replace another"
        ))
        .help(format!("delete the old review first: weir reviews delete {id}")));
    }
    let complete = CompleteRequest { consensus: review.consensus.clone(), ..Default::default() };
    bound::check_request("the consensus", &complete)?;
    for response in &review.responses {
        let what = format!("the response of model {:?}", response.model_id);
        bound::check_request(&what, response)?;
    }
    let head = NewReview {
        status: RecordedStatus::InProgress,
        responses: Vec::new(),
        consensus: None,
        ..review.clone()
    };
    context.api.post::<Review>(&context.path(&[]), &head).await?;
    let bar = progress::items("recording", Some(review.responses.len() as u64));
    for response in &review.responses {
        let path = context.path(&[&id, "responses"]);
        context.api.post::<serde_json::Value>(&path, response).await?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    if review.status == RecordedStatus::Completed {
        context.api.post::<Review>(&context.path(&[&id, "complete"]), &complete).await?;
    }
    Ok(())
}
