//! Every call of the store and of the object storage may fail: a repeat leads to the same end, and readers never see a
//! completed review that is not whole.

use std::sync::Arc;

use object_store::local::LocalFileSystem;
use weir_reviews::raw::RawOutputs;
use weir_reviews::record::{Completion, NewReview};
use weir_reviews::review::{RecordedReview, ReviewStatus};
use weir_reviews::{Error, Result, Reviews, Settings};
use weir_testkit::watched::Strike;

use crate::samples::{
    finding_id, id, model, review, user, with_feedback, with_raws, without_raw_keys,
};
use crate::scene::Scene;

scenes!(
    a_small_recording_can_be_repeated,
    a_large_recording_can_be_repeated,
    a_replacement_can_be_repeated,
    steps_can_be_repeated,
    feedback_can_be_repeated,
    a_deletion_can_be_repeated,
    an_abandoned_recording_can_be_replaced,
    a_failing_object_storage_leaves_no_trace,
);

/// More calls than any of these makes.
const CALLS_MAX: u64 = 60;

/// What a scenario leaves behind.
#[derive(Debug, PartialEq)]
struct EndState {
    keys: Vec<String>,
    raws: usize,
    expiries: usize,
    review: Option<RecordedReview>,
}

async fn end_state(scene: &Scene) -> EndState {
    EndState {
        keys: scene.keys().await,
        raws: scene.raws().await.len(),
        expiries: scene.expiries().await,
        review: scene.seen("r-1").await.map(without_raw_keys),
    }
}

/// Deletes the review, and everything with it.
async fn clear(scene: &Scene) {
    match scene.reviews.delete(&id("r-1")).await {
        Ok(()) | Err(Error::NotFound { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    assert!(scene.keys().await.is_empty() && scene.raws().await.is_empty());
    scene.sweep_everything().await;
}

/// Fails one call of `act` after the other. After each the act is repeated, and must end as without a failure.
async fn fail_everywhere(
    scene: &Scene,
    prepare: impl AsyncFn(&Scene),
    act: impl AsyncFn(&Scene) -> Result<()>,
) {
    prepare(scene).await;
    act(scene).await.unwrap();
    let expected = end_state(scene).await;
    clear(scene).await;
    for strike in [Strike::Before, Strike::After, Strike::Conflict] {
        let mut skip = 0;
        loop {
            prepare(scene).await;
            scene.watch.fail_once(skip, strike);
            let acted = act(scene).await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            scene.seen("r-1").await;
            if acted.is_err() {
                act(scene).await.unwrap();
            }
            assert_eq!(end_state(scene).await, expected, "{strike:?} after {skip} calls");
            clear(scene).await;
            if !struck {
                break;
            }
            skip += 1;
            assert!(skip < CALLS_MAX);
        }
        assert!(skip > 1, "{strike:?} never struck");
    }
}

fn small() -> NewReview {
    review("r-1", &["gpt-5", "llama"], 3)
}

fn large() -> NewReview {
    with_raws(review("r-1", &["gpt-5", "llama"], 70))
}

async fn nothing(_: &Scene) {}

async fn record(scene: &Scene, new: NewReview, replace: bool) -> Result<()> {
    scene.reviews.record(new, replace).await.map(|_| ())
}

async fn a_small_recording_can_be_repeated(scene: &Scene) {
    fail_everywhere(scene, nothing, async |scene| record(scene, small(), false).await).await;
}

async fn a_large_recording_can_be_repeated(scene: &Scene) {
    fail_everywhere(scene, nothing, async |scene| record(scene, large(), false).await).await;
}

async fn a_replacement_can_be_repeated(scene: &Scene) {
    let prepare = async |scene: &Scene| {
        record(scene, with_raws(review("r-1", &["gpt-5", "mistral"], 60)), false).await.unwrap();
        let (of, finding) = (model("gpt-5"), finding_id("f-0001"));
        scene.reviews.feedback(&id("r-1"), &of, &finding, true, &user("ann")).await.unwrap();
        let seen = scene.seen("r-1").await.unwrap();
        assert_eq!(with_feedback(&seen).len(), 1);
    };
    fail_everywhere(scene, prepare, async |scene| record(scene, large(), true).await).await;
}

async fn steps_can_be_repeated(scene: &Scene) {
    let act = async |scene: &Scene| {
        let new = large();
        scene.reviews.open_review(new.head.clone()).await?;
        for response in &new.responses {
            scene.reviews.add_response(&id("r-1"), response).await?;
        }
        scene.reviews.complete(&id("r-1"), &Completion::Completed(None)).await.map(|_| ())
    };
    fail_everywhere(scene, nothing, act).await;
}

async fn feedback_can_be_repeated(scene: &Scene) {
    let prepare = async |scene: &Scene| record(scene, small(), false).await.unwrap();
    let act = async |scene: &Scene| {
        let (of, finding) = (model("gpt-5"), finding_id("f-0001"));
        scene.reviews.feedback(&id("r-1"), &of, &finding, true, &user("ann")).await.map(|_| ())
    };
    fail_everywhere(scene, prepare, act).await;
}

async fn a_deletion_can_be_repeated(scene: &Scene) {
    let prepare = async |scene: &Scene| record(scene, large(), false).await.unwrap();
    let act = async |scene: &Scene| match scene.reviews.delete(&id("r-1")).await {
        // The first attempt was done, although its response was lost.
        Err(Error::NotFound { .. }) => Ok(()),
        done => done,
    };
    fail_everywhere(scene, prepare, act).await;
}

/// A recording fails anywhere and is never repeated. Another content replaces it, and leaves nothing of it.
async fn an_abandoned_recording_can_be_replaced(scene: &Scene) {
    let wanted = || with_raws(review("r-1", &["llama", "mistral"], 2));
    record(scene, wanted(), false).await.unwrap();
    let expected = end_state(scene).await;
    clear(scene).await;
    for skip in 0..CALLS_MAX {
        scene.watch.fail_once(skip, Strike::Before);
        let abandoned = record(scene, large(), false).await;
        scene.watch.cancel();
        if abandoned.is_ok() {
            return;
        }
        assert!(scene.seen("r-1").await.is_none());
        record(scene, wanted(), true).await.unwrap();
        let ended = end_state(scene).await;
        // Entries of raw outputs that a slow writer may still store are left for the sweep.
        assert_eq!(EndState { expiries: expected.expiries, ..ended }, expected, "after {skip}");
        clear(scene).await;
    }
    panic!("a recording makes more calls than expected");
}

async fn a_failing_object_storage_leaves_no_trace(scene: &Scene) {
    let folder = tempfile::tempdir().unwrap();
    let blocker = folder.path().join("raw");
    std::fs::write(&blocker, "not a folder").unwrap();
    let objects = Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap());
    let raw_outputs = RawOutputs::new(objects, "raw");
    let (store, clock) = (scene.store.clone(), scene.clock.clone());
    let reviews = Reviews::new(store, raw_outputs, clock, Settings::default()).unwrap();
    let failed = reviews.record(large(), false).await;
    assert!(matches!(failed, Err(Error::Objects(_))), "{failed:?}");
    assert!(scene.seen("r-1").await.is_none());
    std::fs::remove_file(&blocker).unwrap();
    let recorded = reviews.record(large(), false).await.unwrap();
    assert_eq!(recorded.review.status, ReviewStatus::Completed);
    let raw = reviews.raw(&id("r-1"), &model("llama")).await.unwrap();
    assert_eq!(raw, b"{\"model\":\"llama\"}");
    reviews.delete(&id("r-1")).await.unwrap();
    assert!(scene.keys().await.is_empty());
}
