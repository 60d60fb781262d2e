//! Rollups that differ from the reviews are found.

use weir_calendar::Day;
use weir_reviews::rollup::{self, Level, mark_write};
use weir_table::{Item, Key, Write};

use crate::scene::{NOW_MS, days, play, repository, reviews};

#[test]
fn differences_are_reported_and_a_mark_repairs_them() {
    play(async |scene| {
        let all = reviews(51);
        scene.record(&all).await;
        let verify = async |level: &Level| {
            rollup::verify(&scene.store, &scene.table, level, days()).await.unwrap()
        };
        let before = verify(&Level::All).await;
        assert!(before.is_pending && before.differing > 0);
        scene.run().await.unwrap();
        assert_eq!(verify(&Level::All).await.differing, 0);
        assert!(verify(&repository(0)).await.days > 0);

        let day = Day::utc(all[0].review.created_at_ms);
        let repo = &all[0].review.pull_request.repo;
        let model = &all[0].responses[0].model;
        let (pk, sk) = (format!("ROLLUPDAY#{day}"), format!("acme#{repo}#MODEL#{model}"));
        let name = || scene.table.name.clone();
        scene.store.write(Write::delete(name(), Key::new(pk.clone(), sk))).await.unwrap();
        let stray = Item::new().with("PK", pk).with("SK", format!("acme#{repo}#MODEL#nobody"));
        scene.store.write(Write::put(name(), stray.with("data", "{}"))).await.unwrap();
        let level = Level::Repository(crate::generate::owner(), repo.clone());
        let report = verify(&level).await;
        let parts: Vec<_> =
            report.differences.iter().map(|one| (one.part.clone(), one.day)).collect();
        assert_eq!(parts, [("MODEL#nobody".to_owned(), day), (format!("MODEL#{model}"), day)]);
        assert!(report.differences[0].computed.is_none() && report.differences[1].stored.is_none());

        let mark = mark_write(&level, day, &scene.table, NOW_MS);
        scene.store.write(mark).await.unwrap();
        let run = scene.run().await.unwrap();
        assert_eq!((run.put, run.deleted, run.repository_days), (1, 1, 1));
        scene.assert_rolled_up(&all).await;
    });
}

#[test]
fn a_review_whose_mark_was_lost_is_found() {
    play(async |scene| {
        let all = reviews(52);
        for one in &all {
            let writes = rollup::writes(one, &scene.table, NOW_MS).unwrap();
            scene.transact(writes.into_iter().take(1).collect()).await;
        }
        assert_eq!(scene.run().await.unwrap().repository_days, 0);
        let report = rollup::verify(&scene.store, &scene.table, &Level::All, days()).await.unwrap();
        assert!(!report.is_pending && report.differing > 0);
        for found in report.differences.iter().filter(|one| one.level != Level::All) {
            let mark = mark_write(&found.level, found.day, &scene.table, NOW_MS);
            scene.store.write(mark).await.unwrap();
        }
        scene.run().await.unwrap();
        scene.assert_rolled_up(&all).await;
    });
}
