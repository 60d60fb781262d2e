//! A run that is killed between any two calls of the store is repeated, and ends right.

use weir_reviews::bounds::COMPARE_MODELS_MAX;
use weir_reviews::rollup::{self, Level};

use crate::generate::{self, Shape};
use crate::scene::{SMALL, days, play, reviews};
use crate::unreliable::Strike;

/// More calls than a run makes.
const CALLS_MAX: i64 = 200;

#[test]
fn a_killed_run_is_repeated_and_ends_right() {
    play(async |scene| {
        let mut all = reviews(21);
        scene.record(&all).await;
        scene.run().await.unwrap();
        let mut kills = 0;
        for strike in [Strike::Before, Strike::After] {
            for skip in 0..CALLS_MAX {
                // A day with new figures, one that loses a review, and one that gains it.
                let old = all[0].clone();
                all[0].responses[0].cost.0 += 1;
                let day = i64::from(skip % 2 == 0) * 2 - 1;
                all[0].review.created_at_ms += day * 86_400_000;
                scene.replace(&old, &all[0]).await;
                scene.faults.fail_once(skip, strike);
                let first = scene.run().await;
                let is_struck = !scene.faults.take_planned();
                assert_eq!(first.is_err(), is_struck, "{first:?}");
                kills += u64::from(is_struck);
                let second = scene.run().await.unwrap();
                assert!(is_struck || second.put == 0);
                scene.assert_rolled_up(&all).await;
                if !is_struck {
                    break;
                }
            }
        }
        assert!(kills > 40, "{kills}");
    });
}

/// The models of a day need several transactions, and the run is killed between them.
#[test]
fn a_day_with_more_models_than_a_transaction_takes_ends_right() {
    play(async |scene| {
        let shape = Shape { reviews: 3, repos: 1, days: 1, models: 120, issues: 2, ..SMALL };
        let mut all: Vec<_> = generate::reviews(23, shape).collect();
        for skip in 0..CALLS_MAX {
            for one in &mut all {
                one.responses.iter_mut().for_each(|response| response.cost.0 += 1);
            }
            scene.record(&all).await;
            scene.faults.fail_once(skip, Strike::After);
            let first = scene.run().await;
            let is_struck = !scene.faults.take_planned();
            let second = scene.run().await.unwrap();
            if let Ok(first) = first {
                assert!(first.put > 2 * 110 && second.put == 0, "{first:?}");
            }
            let report = rollup::verify(&scene.store, &scene.table, &Level::All, days()).await;
            let report = report.unwrap();
            assert_eq!((report.days, report.differing, report.is_pending), (2, 0, false));
            if !is_struck {
                break;
            }
        }
        // A comparison has the models with the most reviews.
        let comparison = scene.compare(&Level::All).await;
        assert_eq!(comparison.models.len(), COMPARE_MODELS_MAX);
        assert_eq!(comparison.models_left_out, 100);
        assert!(comparison.models.iter().all(|one| one.reviews == 3));
    });
}

#[test]
fn a_damaged_summary_stops_only_its_own_day() {
    play(async |scene| {
        let all = reviews(22);
        scene.record(&all).await;
        let one = &all[0].review;
        let day = weir_calendar::Day::utc(one.created_at_ms);
        let pk = format!("ROLLUP#acme#{}", one.pull_request.repo);
        let damaged = weir_table::Item::new()
            .with("PK", pk)
            .with("SK", format!("REVIEW#{day}#{}", one.id))
            .with("format", 2);
        let table = scene.table.name.clone();
        scene.store.write(weir_table::Write::put(table, damaged)).await.unwrap();
        let report = scene.run().await.unwrap();
        assert_eq!(report.failed, 1);
        let failure = report.first_failure.unwrap();
        assert!(failure.contains("its format is Some(2)"), "{failure}");
        // Its mark stays, so it is rolled up once its summary is whole again.
        scene.record(&all[..1]).await;
        let report = scene.run().await.unwrap();
        assert_eq!((report.failed, report.repository_days), (0, 1));
        scene.assert_rolled_up(&all).await;
    });
}
