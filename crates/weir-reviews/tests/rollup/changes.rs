//! Reviews that are recorded, judged, replaced and deleted.

use weir_reviews::review::{RecordedReview, ReviewStatus};
use weir_reviews::rollup::{Level, StoredSummary, Summary, SummaryId, writes};
use weir_table::Transaction;

use crate::brute_force::assert_equals;
use crate::generate::{self, Shape};
use crate::scene::{NOW_MS, SMALL, START_MS, Scene, play, play_with, repository, reviews};

#[test]
fn rollups_of_many_reviews_equal_brute_force() {
    play(async |scene| {
        let shape = Shape { reviews: 2_000, days: 20, models: 5, ..SMALL };
        let all: Vec<_> = generate::reviews(1, shape).collect();
        scene.record(&all).await;
        let report = scene.run().await.unwrap();
        assert_eq!((report.repository_days, report.all_days), (40, 20));
        assert!(!report.has_more && report.failed == 0);
        scene.assert_rolled_up(&all).await;
    });
}

#[test]
fn the_days_of_all_repositories_miss_nothing_while_an_index_lags() {
    let lag = std::time::Duration::from_secs(3_600);
    play_with(Some(lag), async |scene| {
        let all = reviews(10);
        scene.record(&all).await;
        scene.run().await.unwrap();
        assert_equals(&scene.compare(&Level::All).await, &all);
        // The comparison of a repository reads the index.
        assert!(scene.compare(&repository(0)).await.models.is_empty());
    });
}

#[test]
fn a_run_without_marks_writes_nothing() {
    play(async |scene| {
        scene.record(&reviews(2)).await;
        assert!(scene.run().await.unwrap().put > 0);
        let again = scene.run().await.unwrap();
        assert_eq!((again.repository_days, again.all_days, again.put, again.deleted), (0, 0, 0, 0));
    });
}

#[test]
fn recording_the_same_review_again_changes_no_rollup() {
    play(async |scene| {
        let all = reviews(3);
        scene.record(&all).await;
        scene.run().await.unwrap();
        scene.record(&all[..1]).await;
        let again = scene.run().await.unwrap();
        assert_eq!((again.repository_days, again.all_days, again.put), (1, 0, 0));
        scene.assert_rolled_up(&all).await;
    });
}

#[test]
fn a_replaced_review_counts_once_even_on_another_day() {
    play(async |scene| {
        let mut all = reviews(4);
        scene.record(&all).await;
        scene.run().await.unwrap();
        let mut new = all[0].clone();
        new.responses[0].cost.0 += 1_000_000;
        scene.replace(&all[0], &new).await;
        all[0] = new.clone();
        scene.run().await.unwrap();
        scene.assert_rolled_up(&all).await;
        new.review.created_at_ms = START_MS + 15 * 86_400_000;
        scene.replace(&all[0], &new).await;
        all[0] = new;
        let report = scene.run().await.unwrap();
        assert_eq!((report.repository_days, report.all_days), (2, 2));
        scene.assert_rolled_up(&all).await;
    });
}

#[test]
fn a_deleted_review_leaves_nothing_and_the_last_one_no_day() {
    play(async |scene| {
        let mut all = reviews(5);
        scene.record(&all).await;
        scene.run().await.unwrap();
        while let Some(last) = all.pop() {
            scene.remove(&last).await;
            scene.run().await.unwrap();
            scene.assert_rolled_up(&all).await;
        }
        let left = scene.sort_keys("ROLLUPS").await;
        assert!(left.iter().all(|sk| sk.ends_with("#VERSION")), "{left:?}");
    });
}

#[test]
fn a_review_that_is_not_completed_has_no_summary() {
    play(async |scene| {
        let mut all = reviews(6);
        scene.record(&all).await;
        for status in [ReviewStatus::InProgress, ReviewStatus::Failed] {
            let mut open = all[0].clone();
            open.review.status = status;
            assert!(writes(&open, &scene.table, NOW_MS).unwrap().is_empty());
        }
        // A review that is replaced by one that failed no longer counts.
        let mut failed = all[0].clone();
        failed.review.status = ReviewStatus::Failed;
        scene.replace(&all[0], &failed).await;
        all.remove(0);
        scene.run().await.unwrap();
        scene.assert_rolled_up(&all).await;
    });
}

#[test]
fn feedback_changes_the_summary_like_recording_it_would() {
    play(async |scene| {
        let mut all = reviews(7);
        let judged = all.iter().position(|one| one.findings.len() > 1).unwrap();
        scene.record(&all).await;
        for (finding, accepted) in [(0, true), (1, false), (0, false), (0, false), (1, true)] {
            let stored = summary_of(scene, &all[judged]).await;
            let found = &all[judged].findings[finding];
            let writes = stored.feedback_writes(found, accepted, &scene.table, NOW_MS).unwrap();
            scene.transact(writes).await;
            all[judged].findings[finding].feedback = Some(generate::feedback(accepted));
            let stored = summary_of(scene, &all[judged]).await;
            assert_eq!(stored.summary, Summary::of(&all[judged]));
        }
        scene.run().await.unwrap();
        scene.assert_rolled_up(&all).await;
    });
}

async fn summary_of(scene: &Scene, recorded: &RecordedReview) -> StoredSummary {
    let id = SummaryId::of(&recorded.review);
    StoredSummary::read(&scene.store, &scene.table, id).await.unwrap().unwrap()
}

#[test]
fn of_two_judges_at_once_one_is_refused_instead_of_lost() {
    play(async |scene| {
        let all = reviews(7);
        let judged = all.iter().find(|one| one.findings.len() > 1).unwrap();
        scene.record(&all).await;
        let first = summary_of(scene, judged).await;
        let second = first.clone();
        let writes = |stored: StoredSummary, finding: usize| {
            let found = &judged.findings[finding];
            stored.feedback_writes(found, true, &scene.table, NOW_MS).unwrap()
        };
        scene.transact(writes(first, 0)).await;
        let refused = scene.store.transact(Transaction::new(writes(second, 1))).await.unwrap();
        assert!(!refused.is_applied());
    });
}

#[test]
fn a_run_stops_at_its_bound_and_the_next_continues() {
    play(async |scene| {
        let all = reviews(8);
        scene.record(&all).await;
        let mut runs = 0;
        loop {
            let run =
                weir_reviews::rollup::run(&scene.store, &scene.table, NOW_MS, 1).await.unwrap();
            assert!(run.repository_days <= 1 && run.all_days <= 1);
            runs += 1;
            if !run.has_more {
                break;
            }
        }
        assert!(runs > 3);
        scene.assert_rolled_up(&all).await;
    });
}

#[test]
fn everything_of_a_day_expires_together() {
    play(async |scene: &Scene| {
        let all = reviews(9);
        scene.record(&all[..1]).await;
        let day = weir_calendar::Day::utc(all[0].review.created_at_ms);
        let expected = weir_calendar::Zone::utc().first_instant(day) / 1_000 + 401 * 86_400;
        let ttls = async |partition: String| -> Vec<Option<i64>> {
            let query = weir_table::Query::partition(scene.table.name.clone(), partition);
            let page = scene.store.query(&query).await.unwrap();
            page.items.iter().map(|item| item.i64("ttl")).collect()
        };
        let repo = &all[0].review.pull_request.repo;
        let mut found = ttls(format!("ROLLUP#acme#{repo}")).await;
        for shard in 0..4 {
            found.extend(ttls(format!("ROLLUPMARK#{shard}")).await);
        }
        assert_eq!(found.len(), 2);
        scene.run().await.unwrap();
        found.extend(ttls(format!("ROLLUPDAY#{day}")).await);
        found.extend(ttls("ROLLUPS".to_owned()).await);
        assert!(found.len() > 6 && found.iter().all(|ttl| *ttl == Some(expected)), "{found:?}");
    });
}
