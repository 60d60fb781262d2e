//! The consensus of a review is computed with the options that were set when its recording began.

use weir_reviews::record::{Completion, NewReview};
use weir_reviews::{Result, Reviews};
use weir_table::Item;
use weir_testkit::watched::Strike;

use crate::samples::{id, review};
use crate::scene::{Scene, Watched};

scenes!(
    a_recording_that_another_process_ends_keeps_its_options,
    a_completion_that_another_process_ends_keeps_its_options,
    a_replaced_review_is_compared_anew,
);

/// More calls than any of these makes.
const CALLS_MAX: u64 = 60;
/// Findings of each model, which agree on all of them. Together they are compared on a blocking thread.
const FINDINGS: usize = 70;

fn large() -> NewReview {
    review("r-1", &["gpt-5", "llama"], FINDINGS)
}

/// A process whose options find no consensus at all.
fn strict(scene: &Scene) -> Reviews<Watched> {
    scene.another_with(|settings| {
        settings.consensus.threshold = 1.0;
        settings.consensus.place_weight = 0.0;
    })
}

async fn steps(reviews: &Reviews<Watched>) -> Result<()> {
    let new = large();
    reviews.open_review(new.head.clone()).await?;
    for response in &new.responses {
        reviews.add_response(&id("r-1"), response).await?;
    }
    reviews.complete(&id("r-1"), &Completion::Completed(None)).await.map(|_| ())
}

/// Whether the review has options, which were written with the claim to compute its consensus.
async fn has_options(scene: &Scene) -> bool {
    scene.items().await.iter().any(|item: &Item| item.s("consensus_options").is_some())
}

/// The first process fails after each of its calls, and a process with other options does the same again.
async fn end_elsewhere(scene: &Scene, act: impl AsyncFn(&Reviews<Watched>) -> Result<()>) {
    let (mut kept, mut anew) = (0, 0);
    for skip in 0..CALLS_MAX {
        scene.watch.fail_once(skip, Strike::After);
        let acted = act(&scene.reviews).await;
        scene.watch.cancel();
        let had_options = has_options(scene).await;
        act(&strict(scene)).await.unwrap();
        let seen = scene.seen("r-1").await.unwrap();
        let expected = if had_options { FINDINGS } else { 0 };
        assert_eq!(seen.consensus.len(), expected, "after {skip} calls");
        *(if had_options { &mut kept } else { &mut anew }) += 1;
        scene.reviews.delete(&id("r-1")).await.unwrap();
        if acted.is_ok() {
            break;
        }
    }
    assert!(kept > 1 && anew > 0, "{kept} {anew}");
}

async fn a_recording_that_another_process_ends_keeps_its_options(scene: &Scene) {
    end_elsewhere(scene, async |reviews| reviews.record(large(), false).await.map(|_| ())).await;
}

async fn a_completion_that_another_process_ends_keeps_its_options(scene: &Scene) {
    end_elsewhere(scene, async |reviews| steps(reviews).await).await;
}

async fn a_replaced_review_is_compared_anew(scene: &Scene) {
    scene.reviews.record(large(), false).await.unwrap();
    let strict = strict(scene);
    assert!(!strict.record(large(), false).await.unwrap().changed);
    assert_eq!(scene.seen("r-1").await.unwrap().consensus.len(), FINDINGS);
    let mut other = large();
    other.head.pull_request.title.push('!');
    assert!(strict.record(other, true).await.unwrap().changed);
    assert_eq!(scene.seen("r-1").await.unwrap().consensus, []);
}
