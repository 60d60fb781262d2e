//! A review that the caller may not see costs what a missing one costs, so that its time says nothing about it.

use weir_reviews::ids::ReviewId;
use weir_reviews::record::Completion;
use weir_reviews::{Error, Reviews};
use weir_testkit::watched::Calls;

use crate::samples::{finding_id, id, model, review, user};
use crate::scene::{Scene, Watched};

scenes!(a_foreign_review_takes_the_calls_of_a_missing_one);

async fn a_foreign_review_takes_the_calls_of_a_missing_one(scene: &Scene) {
    scene.reviews.record(review("r-1", &["gpt-5", "llama"], 2), false).await.unwrap();
    let open = review("r-2", &[], 0).head;
    scene.reviews.open_review(open).await.unwrap();
    let stranger = scene.reviews.visible_if(|review| review.owner.as_str() == "other");
    let missing = calls(scene, &stranger, &id("r-3")).await;
    let one = Calls { gets: 1, ..Calls::default() };
    assert!(missing.iter().all(|(_, calls)| *calls == one), "{missing:?}");
    for foreign in ["r-1", "r-2"] {
        assert_eq!(calls(scene, &stranger, &id(foreign)).await, missing, "{foreign}");
    }
    assert!(scene.seen("r-1").await.is_some(), "nothing changed");
}

/// The calls of the store that each operation on a review takes; none finds it.
async fn calls(
    scene: &Scene,
    reviews: &Reviews<Watched>,
    of: &ReviewId,
) -> Vec<(&'static str, Calls)> {
    let (gpt, response) = (model("gpt-5"), review("r-1", &["gpt-5"], 1).responses.remove(0));
    let mut all = Vec::new();
    macro_rules! count {
        ($($name:literal: $call:expr),* $(,)?) => {$(
            scene.watch.reset();
            let found = $call.await.map(drop);
            assert!(matches!(found, Err(Error::NotFound { .. })), "{} of {of}: {found:?}", $name);
            all.push(($name, scene.watch.calls()));
        )*};
    }
    count! {
        "find": reviews.find(of),
        "get": reviews.get(of),
        "whole": reviews.get_whole(of),
        "responses": reviews.responses(of, 10, None),
        "findings": reviews.findings(of, 10, None),
        "consensus": reviews.consensus(of, 10, None),
        "raw": reviews.raw(of, &gpt),
        "feedback": reviews.feedback(of, &gpt, &finding_id("f-0000"), true, &user("ann")),
        "response": reviews.add_response(of, &response),
        "complete": reviews.complete(of, &Completion::Failed),
        "delete": reviews.delete(of),
    }
    all
}
