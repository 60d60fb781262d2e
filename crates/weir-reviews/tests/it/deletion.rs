//! Deletion removes everything, also when it is killed half way.

use weir_reviews::Error;
use weir_testkit::watched::Strike;

use crate::samples::{head, id, response, review, review_at, with_raws};
use crate::scene::{NOW_MS, Scene};

scenes!(
    nothing_is_left_of_a_deleted_review,
    other_reviews_stay,
    a_killed_deletion_is_resumed,
    an_id_can_be_used_again,
    a_review_in_progress_is_deleted,
    an_expired_review_is_gone_for_readers,
);

const MODELS: [&str; 2] = ["gpt-5", "meta/llama:70b"];

fn is_missing<T: std::fmt::Debug>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::NotFound { .. }))
}

async fn nothing_is_left_of_a_deleted_review(scene: &Scene) {
    scene.reviews.record(with_raws(review("r-1", &MODELS, 70)), false).await.unwrap();
    assert_eq!(scene.raws().await.len(), 2);
    scene.reviews.delete(&id("r-1")).await.unwrap();
    assert!(scene.items().await.is_empty(), "{:?}", scene.items().await);
    assert!(scene.raws().await.is_empty());
    assert!(is_missing(scene.reviews.delete(&id("r-1")).await));
    assert!(is_missing(scene.reviews.get(&id("r-1")).await));
    assert!(is_missing(scene.reviews.findings(&id("r-1"), 10, None).await));
}

async fn other_reviews_stay(scene: &Scene) {
    scene.reviews.record(with_raws(review("r-1", &MODELS, 3)), false).await.unwrap();
    let (keys, raws) = (scene.keys().await, scene.raws().await);
    // At the same millisecond, of the same pull request, with the same models.
    scene.reviews.record(with_raws(review("r-2", &MODELS, 3)), false).await.unwrap();
    assert_eq!((scene.raws().await.len(), scene.keys().await.len()), (4, 2 * keys.len()));
    scene.reviews.delete(&id("r-2")).await.unwrap();
    assert_eq!((scene.keys().await, scene.raws().await), (keys, raws));
}

async fn a_killed_deletion_is_resumed(scene: &Scene) {
    for skip in 1..40 {
        scene.reviews.record(with_raws(review("r-1", &MODELS, 70)), false).await.unwrap();
        scene.watch.fail_once(skip, Strike::Before);
        let deleted = scene.reviews.delete(&id("r-1")).await;
        let struck = !scene.watch.is_planned();
        scene.watch.cancel();
        assert!(deleted.is_err() || !struck);
        if scene.seen("r-1").await.is_some() {
            scene.reviews.delete(&id("r-1")).await.unwrap();
        }
        scene.reviews.resume_deletions(10).await.unwrap();
        assert!(scene.items().await.is_empty(), "{skip}: {:?}", scene.keys().await);
        assert!(scene.raws().await.is_empty());
        if !struck {
            assert!(skip > 5);
            return;
        }
    }
    panic!("a deletion makes more calls than expected");
}

async fn an_id_can_be_used_again(scene: &Scene) {
    scene.reviews.record(with_raws(review("r-1", &MODELS, 3)), false).await.unwrap();
    // Killed after its first transaction.
    scene.watch.fail_once(3, Strike::Before);
    scene.reviews.delete(&id("r-1")).await.unwrap_err();
    scene.watch.cancel();
    assert!(scene.seen("r-1").await.is_none());
    let other = review("r-1", &["another"], 1);
    assert!(scene.reviews.record(other, false).await.unwrap().changed);
    let seen = scene.seen("r-1").await.unwrap();
    assert_eq!((seen.responses.len(), seen.findings.len()), (1, 1));
    assert!(scene.raws().await.is_empty());
    assert_eq!(scene.reviews.resume_deletions(10).await.unwrap().finished, 0);
    assert!(scene.seen("r-1").await.is_some());
}

async fn a_review_in_progress_is_deleted(scene: &Scene) {
    scene.reviews.open_review(head("r-1")).await.unwrap();
    let mut with_raw = response("gpt-5", 2);
    with_raw.raw = Some(b"{}".to_vec());
    scene.reviews.add_response(&id("r-1"), &with_raw).await.unwrap();
    scene.reviews.delete(&id("r-1")).await.unwrap();
    assert!(scene.items().await.is_empty() && scene.raws().await.is_empty());
    assert!(is_missing(scene.reviews.add_response(&id("r-1"), &with_raw).await));
    assert!(scene.items().await.is_empty() && scene.raws().await.is_empty());
}

async fn an_expired_review_is_gone_for_readers(scene: &Scene) {
    scene.reviews.record(review_at("r-1", NOW_MS), false).await.unwrap();
    scene.clock.advance_ms(90 * 86_400_000);
    assert!(is_missing(scene.reviews.get(&id("r-1")).await));
    assert!(is_missing(scene.reviews.delete(&id("r-1")).await));
    let all = scene.reviews.all(&weir_reviews::read::ListOptions::default()).await.unwrap();
    assert!(all.items.is_empty());
    let mut again = review("r-1", &["another"], 1);
    again.head.created_at_ms = None;
    assert!(scene.reviews.record(again, false).await.unwrap().changed);
    let seen = scene.seen("r-1").await.unwrap();
    assert_eq!((seen.responses.len(), seen.findings.len()), (1, 1));
}
