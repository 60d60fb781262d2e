//! Several runs at once, while reviews change.

use weir_reviews::review::RecordedReview;
use weir_reviews::rollup::RunReport;

use crate::scene::{Scene, play, reviews};

/// More calls than a run makes.
const CALLS_MAX: i64 = 200;

/// A run waits in front of any of its calls, while `others` happen. Returns its report, or `None` if it made fewer calls.
async fn held_back(scene: &Scene, skip: i64, others: impl AsyncFnOnce()) -> Option<RunReport> {
    scene.faults.hold(skip);
    let mut late = Box::pin(scene.run());
    tokio::select! {
        report = &mut late => {
            report.unwrap();
            scene.faults.hold(-1);
            return None;
        }
        () = scene.faults.is_held() => {}
    }
    others().await;
    scene.faults.release();
    Some(late.await.unwrap())
}

/// A run reads reviews and waits, while others change them and roll up. What it read is old, so it must not write it.
#[test]
fn a_run_that_read_too_early_is_refused() {
    play(async |scene| {
        let mut all = reviews(31);
        let mut contended = 0;
        scene.record(&all).await;
        for skip in 0..CALLS_MAX {
            raise_costs(scene, &mut all).await;
            let report = held_back(scene, skip, async || {
                raise_costs(scene, &mut all).await;
                scene.run().await.unwrap();
            });
            let Some(report) = report.await else { break };
            contended += report.contended;
            scene.run().await.unwrap();
            scene.assert_rolled_up(&all).await;
        }
        assert!(contended > 5, "{contended}");
    });
}

async fn raise_costs(scene: &Scene, reviews: &mut [RecordedReview]) {
    for one in &mut *reviews {
        one.responses[0].cost.0 += 7;
    }
    scene.record(reviews).await;
}

/// A day loses a review, a run reads it and waits, and the day gains the review again: what is stored is right all along.
#[test]
fn a_run_that_changes_nothing_still_refuses_older_ones() {
    play(async |scene| {
        let all = reviews(32);
        scene.record(&all).await;
        scene.run().await.unwrap();
        let mut contended = 0;
        for skip in 0..CALLS_MAX {
            scene.remove(&all[0]).await;
            let report = held_back(scene, skip, async || {
                scene.record(&all[..1]).await;
                scene.run().await.unwrap();
            });
            let report = report.await;
            scene.record(&all[..usize::from(report.is_none())]).await;
            scene.run().await.unwrap();
            scene.assert_rolled_up(&all).await;
            let Some(report) = report else { break };
            contended += report.contended;
        }
        assert!(contended > 1, "{contended}");
    });
}

#[test]
fn runs_and_recorders_at_once_end_right() {
    play(async |scene| {
        scene.faults.shuffle();
        for seed in 0..8 {
            fastrand::seed(seed);
            let all = reviews(40 + seed);
            let recorder = async |part: usize| -> Vec<RecordedReview> {
                let own = all.iter().skip(part).step_by(2).cloned();
                change(scene, own.collect()).await
            };
            let roller = async || {
                for _ in 0..12 {
                    scene.run().await.unwrap();
                }
            };
            let (mut even, odd, (), ()) =
                tokio::join!(recorder(0), recorder(1), roller(), roller());
            even.extend(odd);
            while scene.run().await.unwrap().contended > 0 {}
            scene.assert_rolled_up(&even).await;
            for one in &even {
                scene.remove(one).await;
            }
        }
    });
}

/// Records reviews, changes some and deletes some; returns what is left.
async fn change(scene: &Scene, reviews: Vec<RecordedReview>) -> Vec<RecordedReview> {
    let mut left = Vec::new();
    for mut one in reviews {
        scene.record(std::slice::from_ref(&one)).await;
        let old = one.clone();
        match fastrand::u8(..3) {
            0 => scene.remove(&one).await,
            1 => {
                one.responses[0].input_tokens += 3;
                one.review.created_at_ms += fastrand::i64(0..2) * 86_400_000;
                scene.replace(&old, &one).await;
                left.push(one);
            }
            _ => left.push(one),
        }
    }
    left
}
