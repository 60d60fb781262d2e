//! Recordings that were killed and never repeated are removed; everything that a reader has seen stays.

use weir_reviews::finding::Severity;
use weir_reviews::read::ListOptions;
use weir_reviews::record::NewReview;
use weir_reviews::review::ReviewStatus;
use weir_testkit::watched::Strike;

use crate::samples::{head, id, response, review, with_raws};
use crate::scene::{Scene, eventually};

scenes!(
    an_abandoned_recording_is_removed_after_an_hour,
    what_readers_have_seen_is_not_abandoned,
    an_idle_store_is_not_written,
    a_raw_output_that_a_second_writer_stores_late_is_found,
);

const HOUR_MS: u64 = 3_600_000;
/// More calls than a recording makes.
const CALLS_MAX: u64 = 12;

fn large() -> NewReview {
    with_raws(review("r-1", &["gpt-5", "llama"], 120))
}

/// Runs the job, also when the index lags. Returns how many recordings it has removed.
async fn remove(scene: &Scene) -> u64 {
    scene.reviews.remove_abandoned(scene.reviews.now_ms(), 10).await.unwrap().finished
}

/// Records until call number `skip`, which fails. Returns whether that was before the end.
async fn abandon(scene: &Scene, new: NewReview, replace: bool, skip: u64) -> bool {
    scene.watch.fail_once(skip, Strike::Before);
    let abandoned = scene.reviews.record(new, replace).await.is_err();
    scene.watch.cancel();
    abandoned
}

async fn an_abandoned_recording_is_removed_after_an_hour(scene: &Scene) {
    let mut removed = 0;
    // The first call reads, and the second begins.
    for skip in 2..CALLS_MAX {
        if !abandon(scene, large(), false, skip).await {
            break;
        }
        scene.clock.advance_ms(HOUR_MS - 1_000);
        assert_eq!(remove(scene).await, 0, "it may go on");
        assert!(!scene.keys().await.is_empty());
        scene.clock.advance_ms(2_000);
        eventually(async || (remove(scene).await == 1).then_some(())).await;
        removed += 1;
        assert!(scene.keys().await.is_empty() && scene.raws().await.is_empty());
        let list = async || {
            let first = ListOptions::default();
            scene.reviews.findings_by_severity(Severity::High, &first).await.unwrap().items
        };
        eventually(async || list().await.is_empty().then_some(())).await;
        // Its client wakes up and repeats it.
        assert!(scene.reviews.record(large(), false).await.unwrap().changed);
        assert_eq!(scene.seen("r-1").await.unwrap().findings.len(), 240);
        scene.reviews.delete(&id("r-1")).await.unwrap();
    }
    assert!(removed > 3);
}

async fn what_readers_have_seen_is_not_abandoned(scene: &Scene) {
    scene.reviews.open_review(head("steps")).await.unwrap();
    scene.reviews.add_response(&id("steps"), &response("gpt-5", 2)).await.unwrap();
    scene.reviews.record(review("done", &["gpt-5"], 3), false).await.unwrap();
    scene.reviews.record(review("r-1", &["gpt-5"], 3), false).await.unwrap();
    assert!(abandon(scene, large(), true, 4).await, "a replacement is killed");
    scene.clock.advance_ms(30 * 24 * HOUR_MS);
    assert_eq!(remove(scene).await, 0);
    for (name, status) in [
        ("steps", ReviewStatus::InProgress),
        ("done", ReviewStatus::Completed),
        ("r-1", ReviewStatus::InProgress),
    ] {
        assert_eq!(scene.seen(name).await.unwrap().review.status, status, "{name}");
    }
    scene.reviews.record(large(), false).await.unwrap();
    assert_eq!(scene.seen("r-1").await.unwrap().findings.len(), 240);
}

async fn an_idle_store_is_not_written(scene: &Scene) {
    scene.reviews.record(review("r-1", &["gpt-5"], 3), false).await.unwrap();
    scene.clock.advance_ms(2 * HOUR_MS);
    eventually(async || {
        scene.watch.reset();
        assert_eq!(remove(scene).await, 0);
        let calls = scene.watch.calls();
        assert_eq!((calls.writes, calls.transactions), (0, 0));
        // An index that lags still names the recording.
        ((calls.queries, calls.gets) == (1, 0)).then_some(())
    })
    .await;
}

/// The first writer sleeps before it stores its raw outputs. Another one completes the review, and a third deletes it.
async fn a_raw_output_that_a_second_writer_stores_late_is_found(scene: &Scene) {
    use object_store::ObjectStoreExt as _;
    assert!(abandon(scene, large(), false, 2).await);
    scene.reviews.record(large(), false).await.unwrap();
    let raws = scene.raws().await;
    assert_eq!(raws.len(), 2);
    scene.reviews.delete(&id("r-1")).await.unwrap();
    assert!(scene.keys().await.is_empty() && scene.raws().await.is_empty());
    let late = object_store::path::Path::parse(&raws[0]).unwrap();
    scene.objects.put(&late, "{}".into()).await.unwrap();
    scene.clock.advance_ms(91 * 24 * HOUR_MS);
    scene.reviews.sweep_raw(scene.reviews.now_ms(), 100).await.unwrap();
    assert_eq!((scene.raws().await.len(), scene.expiries().await), (0, 0));
}
