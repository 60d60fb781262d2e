//! A copy that is cut off anywhere continues, and ends as if it had not been.

use weir_calendar::Day;
use weir_practice::ids::UserId;
use weir_practice::migrate::BackfillOptions;
use weir_practice::usage::Repair;
use weir_testkit::watched::Strike;

use super::origin::{Origin, SMALL, Size, assert_same, backfill};
use crate::scene::{NOW_MS, Scene};

scenes!(@on embedded a_store_that_fails_anywhere_loses_and_doubles_nothing a_rate_is_kept);

async fn a_store_that_fails_anywhere_loses_and_doubles_nothing(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    let mut faults = 0;
    for round in 0.. {
        // After the call too: the store has written, and nobody knows.
        let strike = if round % 2 == 0 { Strike::Before } else { Strike::After };
        scene.watch.fail(7 + round * 17, 4, strike);
        match migration.backfill(&BackfillOptions::default(), &mut |_| {}).await {
            Err(error) => assert!(error.is_unavailable(), "{error}"),
            Ok(_) if scene.watch.is_planned() => break,
            Ok(_) => {}
        }
        faults += 1;
    }
    scene.watch.cancel();
    assert!(faults > 5, "{faults}");
    backfill(&migration).await;
    assert_same(&migration).await;
    counters_equal_their_logs(scene).await;
}

async fn counters_equal_their_logs(scene: &Scene) {
    for number in 1..=SMALL.users {
        let user = UserId::new(number.to_string()).unwrap();
        for age in [0, 1, 2, 5, 17, 44, 89] {
            let day = Day::utc(NOW_MS).plus_days(-age);
            let recount = scene.practice.recount(&user, day, Repair::No).await.unwrap();
            assert_eq!(recount.differences, [], "{user} {day}");
        }
    }
}

async fn a_rate_is_kept(scene: &Scene) {
    let size = Size { users: 30, problems: 1, test_cases: 1, history: 1, usage: 1 };
    let origin = Origin::new(size);
    let migration = origin.migration(scene).await;
    let rate = std::num::NonZeroU32::new(100);
    let started = std::time::Instant::now();
    let options = BackfillOptions { rate, ..BackfillOptions::default() };
    migration.backfill(&options, &mut |_| {}).await.unwrap();
    // 37 rows at 100 a second; it can only be slower.
    assert!(started.elapsed().as_millis() >= 360);
}
