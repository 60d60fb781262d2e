//! Feedback on findings.

use weir_reviews::Error;
use weir_reviews::ids::{FindingId, ModelId};

use crate::samples::{finding_id, id, model, review, user};
use crate::scene::Scene;

scenes!(feedback_is_recorded_and_changed, feedback_on_nothing_is_not_found);

async fn give(
    scene: &Scene,
    of: &ModelId,
    finding: &FindingId,
    accepted: bool,
    by: &str,
) -> Result<weir_reviews::review::RecordedFinding, Error> {
    scene.reviews.feedback(&id("r-1"), of, finding, accepted, &user(by)).await
}

async fn feedback_is_recorded_and_changed(scene: &Scene) {
    scene.reviews.record(review("r-1", &["gpt-5", "llama"], 2), false).await.unwrap();
    let (of, finding) = (model("gpt-5"), finding_id("f-0001"));
    let first = give(scene, &of, &finding, true, "ann").await.unwrap();
    scene.clock.advance_ms(1_000);
    scene.watch.reset();
    let again = give(scene, &of, &finding, true, "ann").await.unwrap();
    assert_eq!(again, first, "the same again changes nothing");
    assert_eq!(scene.watch.calls().transactions, 0);
    let changed = give(scene, &of, &finding, false, "bob").await.unwrap();
    let feedback = changed.feedback.clone().unwrap();
    assert_eq!((feedback.accepted, feedback.by.as_str()), (false, "bob"));
    assert_eq!(feedback.at_ms, first.feedback.unwrap().at_ms + 1_000);
    let seen = scene.seen("r-1").await.unwrap();
    let stored: Vec<_> = seen.findings.iter().filter(|found| found.feedback.is_some()).collect();
    assert_eq!(stored, [&changed]);
    assert!(changed.in_consensus, "nothing else changes");
}

async fn feedback_on_nothing_is_not_found(scene: &Scene) {
    let (of, finding) = (model("gpt-5"), finding_id("f-0001"));
    let missing = |result, what: &str| match result {
        Err(Error::NotFound { what: found, .. }) => assert_eq!(found, what),
        other => panic!("{other:?}"),
    };
    missing(give(scene, &of, &finding, true, "ann").await, "review");
    scene.reviews.record(review("r-1", &["gpt-5"], 1), false).await.unwrap();
    let items = scene.items().await;
    missing(give(scene, &of, &finding, true, "ann").await, "finding");
    missing(give(scene, &model("x"), &finding_id("f-0000"), true, "ann").await, "finding");
    assert_eq!(scene.items().await, items);
}
