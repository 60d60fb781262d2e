//! Recorders, replacers, deleters and readers at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_reviews::record::Completion;
use weir_reviews::review::ReviewStatus;
use weir_reviews::{Error, Reviews};

use crate::samples::{assert_whole, head, id, response, review, with_raws};
use crate::scene::{Scene, Watched};

scenes!(
    two_recorders_of_the_same_content_agree,
    of_two_recorders_of_other_content_one_wins,
    recorders_replacers_and_deleters_leave_one_whole_review_or_none,
    two_completions_agree,
    a_slow_recorder_leaves_nothing_behind,
);

/// Runs the same function on several instances at once.
async fn at_once<T>(
    scene: &Scene,
    count: usize,
    run: impl AsyncFn(Reviews<Watched>, usize) -> T,
) -> Vec<T> {
    let all = (0..count).map(|number| run(scene.another_with(|_| {}), number));
    futures(all).await
}

/// Waits for all, polling them in turns.
async fn futures<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = all.map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        let mut is_ready = true;
        for (future, output) in &mut all {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(done) => *output = Some(done),
                    std::task::Poll::Pending => is_ready = false,
                }
            }
        }
        if is_ready { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    all.into_iter().map(|(_, output)| output.unwrap()).collect()
}

async fn two_recorders_of_the_same_content_agree(scene: &Scene) {
    for findings in [2, 150] {
        let new = || with_raws(review("r-1", &["gpt-5", "llama"], findings));
        let recorded =
            at_once(scene, 3, async |reviews, _| reviews.record(new(), false).await).await;
        let recorded: Vec<_> = recorded.into_iter().map(Result::unwrap).collect();
        assert!(recorded.iter().all(|one| one.review == recorded[0].review));
        assert!(recorded.iter().any(|one| one.changed));
        assert_eq!(scene.seen("r-1").await.unwrap().findings.len(), 2 * findings);
        assert_eq!((scene.raws().await.len(), scene.expiries().await), (2, 2));
        scene.reviews.delete(&id("r-1")).await.unwrap();
        assert!(scene.keys().await.is_empty() && scene.raws().await.is_empty());
        scene.sweep_everything().await;
    }
}

async fn of_two_recorders_of_other_content_one_wins(scene: &Scene) {
    for round in 0..5 {
        let name = format!("r-{round}");
        let recorded = at_once(scene, 2, async |reviews, number| {
            reviews.record(review(&name, &["gpt-5", "llama"], 60 + number), false).await
        })
        .await;
        let won: Vec<_> = recorded.iter().filter_map(|one| one.as_ref().ok()).collect();
        assert_eq!(won.len(), 1, "{recorded:?}");
        assert!(recorded.iter().any(|one| matches!(one, Err(Error::Conflict(_)))));
        assert_eq!(scene.seen(&name).await.unwrap().review, won[0].review);
    }
}

async fn recorders_replacers_and_deleters_leave_one_whole_review_or_none(scene: &Scene) {
    let is_over = Arc::new(AtomicBool::new(false));
    let reader = {
        let (reviews, is_over) = (scene.another_with(|_| {}), Arc::clone(&is_over));
        tokio::spawn(async move {
            let mut completed = 0;
            while !is_over.load(Ordering::SeqCst) {
                match reviews.get_whole(&id("r-1")).await {
                    Ok(seen) => {
                        assert_whole(&seen);
                        completed += u64::from(seen.review.status == ReviewStatus::Completed);
                    }
                    Err(Error::NotFound { .. } | Error::Contended) => {}
                    Err(error) => panic!("{error}"),
                }
                tokio::task::yield_now().await;
            }
            completed
        })
    };
    let rounds = 12;
    let acted = at_once(scene, 4, async |reviews, number| {
        for round in 0..rounds {
            let findings = 40 + 30 * number + round;
            let new = || with_raws(review("r-1", &["gpt-5", "llama"], findings));
            let done = match number {
                0 => reviews.record(new(), false).await.map(|_| ()),
                1 | 2 => reviews.record(new(), true).await.map(|_| ()),
                _ => reviews.delete(&id("r-1")).await,
            };
            match done {
                Ok(()) => {}
                Err(Error::Conflict(_) | Error::NotFound { .. } | Error::Contended) => {}
                Err(error) => panic!("{error}"),
            }
        }
    })
    .await;
    assert_eq!(acted.len(), 4);
    is_over.store(true, Ordering::SeqCst);
    reader.await.unwrap();
    // Who lost may have left the review to others; the last word is said here.
    let last = with_raws(review("r-1", &["gpt-5"], 3));
    scene.reviews.record(last.clone(), true).await.unwrap();
    let seen = scene.seen("r-1").await.unwrap();
    assert_eq!((seen.findings.len(), scene.raws().await.len()), (3, 1));
    // Review, summary, lookup, files, response with cost, findings.
    assert_eq!(scene.keys().await.len(), 4 + 2 + 3, "{:?}", scene.keys().await);
    scene.reviews.delete(&id("r-1")).await.unwrap();
    assert!(scene.keys().await.is_empty() && scene.raws().await.is_empty());
}

async fn two_completions_agree(scene: &Scene) {
    scene.reviews.open_review(head("r-1")).await.unwrap();
    for name in ["gpt-5", "llama"] {
        scene.reviews.add_response(&id("r-1"), &response(name, 120)).await.unwrap();
    }
    let completed = at_once(scene, 3, async |reviews, number| {
        if number == 2 {
            let late = response("late", 1);
            return reviews.add_response(&id("r-1"), &late).await.map(|_| None);
        }
        let completion = Completion::Completed(None);
        reviews.complete(&id("r-1"), &completion).await.map(|done| Some(done.review))
    })
    .await;
    let seen = scene.seen("r-1").await.unwrap();
    for done in completed {
        match done {
            Ok(Some(review)) => assert_eq!(review, seen.review),
            Ok(None) => assert_eq!(seen.responses.len(), 3),
            // The late response came before one completion and after the other, or too late.
            Err(error) => assert!(matches!(error, Error::Conflict(_)), "{error}"),
        }
    }
    assert_eq!(seen.consensus.len(), 120);
}

/// A recorder that has claimed the id is overtaken by a deletion and another recording.
async fn a_slow_recorder_leaves_nothing_behind(scene: &Scene) {
    let slow = || with_raws(review("r-1", &["gpt-5", "llama"], 150));
    let calls_max = 12;
    for skip in 1..calls_max {
        // It stops in the middle, as if it slept.
        scene.watch.fail_once(skip, weir_testkit::watched::Strike::Before);
        let stopped = scene.reviews.record(slow(), false).await;
        scene.watch.cancel();
        if stopped.is_ok() {
            break;
        }
        let _ = scene.reviews.delete(&id("r-1")).await;
        scene.reviews.record(review("r-1", &["other"], 1), false).await.unwrap();
        let (keys, raws) = (scene.keys().await, scene.raws().await);
        // It wakes up, and finds another content.
        let woken = scene.reviews.record(slow(), false).await;
        assert!(matches!(woken, Err(Error::Conflict(_))), "{woken:?}");
        assert_eq!((scene.keys().await, scene.raws().await), (keys, raws));
        scene.reviews.delete(&id("r-1")).await.unwrap();
    }
    let _ = scene.reviews.delete(&id("r-1")).await;
    assert!(scene.keys().await.is_empty() && scene.raws().await.is_empty());
}
