//! Several runs at once, while reviews change.

use weir_reviews::review::RecordedReview;

use crate::scene::{Scene, play, reviews};

/// A run reads the reviews, then waits while others change them and roll up. What it read is old, so it must not write it.
#[test]
fn a_run_that_read_too_early_is_refused() {
    play(async |scene| {
        let mut all = reviews(31);
        scene.record(&all).await;
        scene.faults.close_gate();
        let late = async { scene.run().await.unwrap() };
        let others = async {
            // The late run is in front of its first transaction by now.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            for one in &mut all {
                let old = one.clone();
                one.responses[0].cost.0 += 7;
                scene.replace(&old, one).await;
            }
            scene.run().await.unwrap();
            scene.faults.open_gate();
        };
        let (report, ()) = tokio::join!(late, others);
        assert!(report.contended >= 1, "{report:?}");
        scene.run().await.unwrap();
        scene.assert_rolled_up(&all).await;
    });
}

/// The stored day equals the reviews again, but an old run has read them in between.
#[test]
fn a_run_that_changes_nothing_still_refuses_older_ones() {
    play(async |scene| {
        let all = reviews(32);
        scene.record(&all).await;
        scene.run().await.unwrap();
        scene.remove(&all[0]).await;
        scene.faults.close_gate();
        let late = async { scene.run().await.unwrap() };
        let others = async {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            scene.record(&all[..1]).await;
            let report = scene.run().await.unwrap();
            assert_eq!((report.repository_days, report.put, report.deleted), (1, 0, 0));
            scene.faults.open_gate();
        };
        let (report, ()) = tokio::join!(late, others);
        assert_eq!((report.contended, report.put), (1, 0), "{report:?}");
        scene.run().await.unwrap();
        scene.assert_rolled_up(&all).await;
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
