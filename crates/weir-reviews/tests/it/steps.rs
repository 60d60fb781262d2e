//! Recording step by step.

use weir_reviews::Error;
use weir_reviews::record::Completion;
use weir_reviews::review::{ResponseStatus, ReviewStatus};
use weir_testkit::watched::Strike;

use crate::samples::{
    finding_id, head, id, model, response, review, user, with_feedback, with_raws, without_raw_keys,
};
use crate::scene::Scene;

scenes!(
    steps_record_what_one_call_does,
    every_step_can_be_repeated,
    other_content_is_refused_at_every_step,
    a_review_is_given_up,
    a_partial_response_delays_completion,
    a_partial_response_does_not_delay_giving_up,
    a_partial_response_is_not_judged,
    bounds_hold_over_all_responses,
    feedback_survives_completion,
    concurrent_responses_are_all_added,
);

fn is_conflict<T: std::fmt::Debug>(result: Result<T, Error>) -> bool {
    match result {
        Err(Error::Conflict(_)) => true,
        other => panic!("{other:?}"),
    }
}

async fn steps_record_what_one_call_does(scene: &Scene) {
    let new = with_raws(review("r-1", &["gpt-5", "meta/llama:70b"], 3));
    scene.reviews.record(new.clone(), false).await.unwrap();
    let (keys, whole) = (scene.keys().await, scene.seen("r-1").await.unwrap());
    scene.reviews.delete(&id("r-1")).await.unwrap();
    let opened = scene.reviews.open_review(new.head.clone()).await.unwrap();
    assert_eq!((opened.review.status, opened.changed), (ReviewStatus::InProgress, true));
    for response in &new.responses {
        assert!(scene.reviews.add_response(&id("r-1"), response).await.unwrap());
    }
    let open = scene.reviews.get(&id("r-1")).await.unwrap();
    assert_eq!((open.models.len(), open.total_findings), (2, 6));
    let completed = scene.reviews.complete(&id("r-1"), &Completion::Completed(None)).await.unwrap();
    assert_eq!(completed.review, whole.review);
    assert_eq!(scene.keys().await, keys);
    let seen = scene.seen("r-1").await.unwrap();
    assert_eq!(without_raw_keys(seen), without_raw_keys(whole));
    let again = scene.reviews.record(new, false).await.unwrap();
    assert!(!again.changed, "in one call it is the same content");
}

async fn every_step_can_be_repeated(scene: &Scene) {
    let (reviews, of) = (&scene.reviews, id("r-1"));
    let completion = Completion::Completed(None);
    reviews.open_review(head("r-1")).await.unwrap();
    assert!(!reviews.open_review(head("r-1")).await.unwrap().changed);
    assert!(reviews.add_response(&of, &response("gpt-5", 2)).await.unwrap());
    assert!(!reviews.add_response(&of, &response("gpt-5", 2)).await.unwrap());
    assert!(reviews.complete(&of, &completion).await.unwrap().changed);
    let items = scene.items().await;
    assert!(!reviews.complete(&of, &completion).await.unwrap().changed);
    assert!(!reviews.add_response(&of, &response("gpt-5", 2)).await.unwrap());
    assert!(!reviews.open_review(head("r-1")).await.unwrap().changed);
    assert_eq!(scene.items().await, items);
}

async fn other_content_is_refused_at_every_step(scene: &Scene) {
    let (reviews, of) = (&scene.reviews, id("r-1"));
    let missing = reviews.add_response(&of, &response("gpt-5", 1)).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })));
    let missing = reviews.complete(&of, &Completion::Failed).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })));
    reviews.open_review(head("r-1")).await.unwrap();
    let mut other = head("r-1");
    other.pull_request.title.push('!');
    assert!(is_conflict(reviews.open_review(other).await));
    reviews.add_response(&of, &response("gpt-5", 1)).await.unwrap();
    assert!(is_conflict(reviews.add_response(&of, &response("gpt-5", 2)).await));
    assert!(is_conflict(reviews.record(review("r-1", &["gpt-5", "b"], 1), false).await));
    reviews.complete(&of, &Completion::Completed(None)).await.unwrap();
    assert!(is_conflict(reviews.add_response(&of, &response("llama", 1)).await));
    assert!(is_conflict(reviews.complete(&of, &Completion::Failed).await));
    let replaced = reviews.record(review("r-1", &["gpt-5", "b"], 1), true).await.unwrap();
    assert_eq!(replaced.review.models.len(), 2);
    assert!(is_conflict(reviews.complete(&of, &Completion::Completed(None)).await));
}

async fn a_review_is_given_up(scene: &Scene) {
    let (reviews, of) = (&scene.reviews, id("r-1"));
    reviews.open_review(head("r-1")).await.unwrap();
    let mut timeout = response("gpt-5", 0);
    timeout.status = ResponseStatus::Timeout;
    reviews.add_response(&of, &timeout).await.unwrap();
    let failed = reviews.complete(&of, &Completion::Failed).await.unwrap();
    assert_eq!(failed.review.status, ReviewStatus::Failed);
    assert_eq!(reviews.get(&of).await.unwrap().status, ReviewStatus::Failed);
    assert!(!reviews.complete(&of, &Completion::Failed).await.unwrap().changed);
}

/// Leaves the response of a model half written: claimed, but the rest fails.
async fn half_add(scene: &Scene) {
    let mut half = response("llama", 2);
    half.raw = Some(b"{}".to_vec());
    scene.watch.fail_once(2, Strike::Before);
    scene.reviews.add_response(&id("r-1"), &half).await.unwrap_err();
    scene.watch.cancel();
}

async fn a_partial_response_delays_completion(scene: &Scene) {
    let (reviews, of) = (&scene.reviews, id("r-1"));
    reviews.open_review(head("r-1")).await.unwrap();
    reviews.add_response(&of, &response("gpt-5", 2)).await.unwrap();
    half_add(scene).await;
    assert!(is_conflict(reviews.complete(&of, &Completion::Completed(None)).await));
    let mut whole = response("llama", 2);
    whole.raw = Some(b"{}".to_vec());
    assert!(reviews.add_response(&of, &whole).await.unwrap());
    reviews.complete(&of, &Completion::Completed(None)).await.unwrap();
    assert_eq!(scene.seen("r-1").await.unwrap().consensus.len(), 2);
    assert_eq!(reviews.raw(&of, &model("llama")).await.unwrap(), b"{}");
}

async fn a_partial_response_does_not_delay_giving_up(scene: &Scene) {
    let (reviews, of) = (&scene.reviews, id("r-1"));
    reviews.open_review(head("r-1")).await.unwrap();
    reviews.add_response(&of, &response("gpt-5", 2)).await.unwrap();
    half_add(scene).await;
    let failed = reviews.complete(&of, &Completion::Failed).await.unwrap();
    assert_eq!(failed.review.models, [model("gpt-5")]);
    assert!(scene.raws().await.is_empty(), "nothing is left of it");
    let seen = scene.seen("r-1").await.unwrap();
    assert_eq!((seen.responses.len(), seen.findings.len()), (1, 2));
}

/// Who repeats the response writes its findings again.
async fn a_partial_response_is_not_judged(scene: &Scene) {
    let (reviews, of) = (&scene.reviews, id("r-1"));
    reviews.open_review(head("r-1")).await.unwrap();
    let large = response("gpt-5", 150);
    // The lookup is read, the model is claimed, and some findings are stored.
    scene.watch.fail_once(3, Strike::Before);
    assert!(reviews.add_response(&of, &large).await.unwrap_err().is_unavailable());
    let items = scene.items().await;
    assert!(items.iter().any(|item| item.s("SK").is_some_and(|sk| sk.ends_with("#f-0000"))));
    let (of_model, finding, ann) = (model("gpt-5"), finding_id("f-0000"), user("ann"));
    let judge = || reviews.feedback(&of, &of_model, &finding, true, &ann);
    let early = judge().await;
    assert!(matches!(early, Err(Error::NotFound { what: "finding", .. })), "{early:?}");
    assert_eq!(scene.items().await, items);
    assert!(reviews.add_response(&of, &large).await.unwrap());
    let judged = judge().await.unwrap();
    assert!(!reviews.add_response(&of, &large).await.unwrap());
    assert!(scene.seen("r-1").await.unwrap().findings.contains(&judged));
}

async fn bounds_hold_over_all_responses(scene: &Scene) {
    let (reviews, of) = (&scene.reviews, id("r-1"));
    reviews.open_review(head("r-1")).await.unwrap();
    reviews.add_response(&of, &response("a", 1_200)).await.unwrap();
    let refused = reviews.add_response(&of, &response("b", 801)).await;
    assert!(matches!(refused, Err(Error::TooLarge { .. })), "{refused:?}");
    reviews.add_response(&of, &response("b", 800)).await.unwrap();
    for number in 2..20 {
        reviews.add_response(&of, &response(&format!("m{number}"), 0)).await.unwrap();
    }
    let refused = reviews.add_response(&of, &response("another", 0)).await;
    assert!(matches!(refused, Err(Error::TooLarge { .. })), "{refused:?}");
    let completed = reviews.complete(&of, &Completion::Completed(None)).await.unwrap();
    assert_eq!(completed.review.total_findings, 2_000);
    let seen = scene.seen("r-1").await.unwrap();
    assert_eq!((seen.review.consensus_findings, seen.responses.len()), (800, 20));
}

async fn feedback_survives_completion(scene: &Scene) {
    let (reviews, of) = (&scene.reviews, id("r-1"));
    reviews.open_review(head("r-1")).await.unwrap();
    for name in ["gpt-5", "llama"] {
        reviews.add_response(&of, &response(name, 2)).await.unwrap();
    }
    let (gpt, finding) = (model("gpt-5"), finding_id("f-0001"));
    reviews.feedback(&of, &gpt, &finding, false, &user("ann")).await.unwrap();
    reviews.complete(&of, &Completion::Completed(None)).await.unwrap();
    let seen = scene.seen("r-1").await.unwrap();
    let judged = with_feedback(&seen);
    assert_eq!(judged.len(), 1);
    assert!(judged[0].in_consensus && !judged[0].feedback.as_ref().unwrap().accepted);
}

async fn concurrent_responses_are_all_added(scene: &Scene) {
    scene.reviews.open_review(head("r-1")).await.unwrap();
    let adding: Vec<_> = (0..8)
        .map(|number| {
            let reviews = scene.another_with(|_| {});
            let response = response(&format!("m{number}"), 120);
            tokio::spawn(async move { reviews.add_response(&id("r-1"), &response).await })
        })
        .collect();
    for added in adding {
        assert!(added.await.unwrap().unwrap());
    }
    let completed = scene.reviews.complete(&id("r-1"), &Completion::Completed(None)).await.unwrap();
    assert_eq!(completed.review.total_findings, 960);
    assert_eq!(scene.seen("r-1").await.unwrap().consensus.len(), 120);
}
