//! Usage is recorded once, in the right windows, and listed.

use std::collections::BTreeMap;

use weir_limiter::bucket::Bucket;
use weir_limiter::item::BucketId;
use weir_limiter::usage::{Filter, Snapshot, Window};
use weir_table::retry::Listed;
use weir_table::{Transaction, Write};

use crate::fed::{self, Aggregator, bucket_id, key, put, take, used};
use crate::scene::{Scene, entity, eventually, limit_name, per_minute, resource};
use crate::watched::Strike;

scenes!(
    first_takes_later_takes_and_refunds_are_recorded,
    repeated_changes_are_recorded_once,
    two_aggregators_at_once_record_each_change_once,
    a_fault_at_any_call_loses_and_repeats_nothing,
    the_hour_of_midnight_and_its_day_are_separate_items,
    a_clock_that_goes_back_records_nothing_twice,
    fractions_of_tokens_add_up,
    an_entitys_usage_is_listed_in_order_of_time,
    a_resources_usage_is_listed_in_order_of_time,
    an_invalid_filter_is_refused_by_field,
    a_shared_table_gets_whole_numbers_and_no_other,
);

const HOUR_MS: i64 = 3_600_000;

fn bucket(now_ms: i64) -> Bucket {
    Bucket::full(&[per_minute("rpm", 100), per_minute("tpm", 10_000)], 0, 1, now_ms)
}

fn everything(window: Window) -> Filter {
    Filter {
        entity: None,
        resource: None,
        window,
        from_ms: 0,
        to_ms: 4_000_000_000_000,
        limit: 100,
        cursor: None,
    }
}

fn of(who: &str, window: Window) -> Filter {
    Filter { entity: Some(entity(who)), ..everything(window) }
}

/// Tokens of `rpm` that an entity used; windows of all lengths must agree.
async fn rpm_of(scene: &Scene, who: &str) -> i64 {
    let mut totals = Vec::new();
    for window in Window::ALL {
        let summary = scene.ns.usage_summary(&of(who, window)).await.unwrap();
        totals.push(summary.total.get(&limit_name("rpm")).copied().unwrap_or_default());
    }
    assert!(totals.iter().all(|total| *total == totals[0]), "{totals:?}");
    totals[0]
}

/// Records changes as if they had come through the feed.
async fn count(scene: &Scene, changes: &[weir_table::feed::Change]) {
    let writes = fed::usage_writes(&scene.limiter, changes);
    assert!(scene.store.transact(Transaction::new(writes)).await.unwrap().is_applied());
}

/// A change that uses whole `rpm` tokens at a time.
fn use_at(id: &BucketId, at_ms: i64, tokens: i64) -> weir_table::feed::Change {
    let before = bucket(at_ms);
    let mut after = before.clone();
    after.take(&limit_name("rpm"), tokens * 1000);
    used(id, 0, at_ms, &before, &after)
}

/// All snapshots of a filter, page by page.
async fn all(scene: &Scene, filter: &Filter) -> Vec<Snapshot> {
    let mut filter = filter.clone();
    let mut found = Vec::new();
    for _ in 0..100 {
        let Listed { items: page, cursor } = scene.ns.usage(&filter).await.unwrap();
        assert!(page.len() <= filter.limit as usize);
        found.extend(page);
        match cursor {
            Some(cursor) => filter.cursor = Some(cursor),
            None => return found,
        }
    }
    panic!("the list does not end");
}

async fn first_takes_later_takes_and_refunds_are_recorded(scene: &Scene) {
    let id = bucket_id(scene, "user-1", "gpt-4");
    let mut first = bucket(scene.now_ms());
    first.take(&limit_name("rpm"), 3_000);
    put(scene, &id, &first).await;
    take(scene, &id, "rpm", 5_000).await;
    take(scene, &id, "rpm", -2_000).await;
    take(scene, &id, "tpm", 700_000).await;
    let mut aggregator = Aggregator::new(scene, "a").await;
    eventually(async || {
        aggregator.run().await.unwrap();
        let summary = scene.ns.usage_summary(&of("user-1", Window::Hourly)).await.unwrap();
        (summary.events == 4).then_some(())
    })
    .await;
    assert_eq!(rpm_of(scene, "user-1").await, 6);
    let days = scene.ns.usage(&of("user-1", Window::Daily)).await.unwrap().items;
    assert_eq!(days[0].used[&limit_name("tpm")], 700);
    assert_eq!((days[0].window, &days[0].resource), (Window::Daily, &resource("gpt-4")));
    // A removed item counts nothing, and one that is made again counts from zero.
    let table = scene.limiter.settings().table.clone();
    scene.store.write(Write::delete(table, key(&id, 0))).await.unwrap();
    put(scene, &id, &first).await;
    eventually(async || {
        aggregator.run().await.unwrap();
        (rpm_of(scene, "user-1").await == 9).then_some(())
    })
    .await;
}

async fn repeated_changes_are_recorded_once(scene: &Scene) {
    let id = bucket_id(scene, "user-1", "gpt-4");
    put(scene, &id, &bucket(scene.now_ms())).await;
    take(scene, &id, "rpm", 4_000).await;
    // Both have the same name, so the lease does not keep them apart.
    let mut first = Aggregator::new(scene, "a").await;
    let mut second = Aggregator::new(scene, "a").await;
    eventually(async || {
        first.run().await.unwrap();
        (rpm_of(scene, "user-1").await == 4).then_some(())
    })
    .await;
    take(scene, &id, "rpm", 4_000).await;
    let window = eventually(async || first.read_window(100, 100).await.unwrap()).await;
    let same = eventually(async || second.read_window(100, 100).await.unwrap()).await;
    assert!(first.commit(window).await.unwrap());
    assert!(!second.commit(same).await.unwrap(), "the position has moved");
    let mut again = Aggregator::new(scene, "a").await;
    again.run().await.unwrap();
    assert_eq!(rpm_of(scene, "user-1").await, 8);
}

async fn two_aggregators_at_once_record_each_change_once(scene: &Scene) {
    let ids: Vec<_> = (0..4).map(|n| bucket_id(scene, &format!("user-{n}"), "gpt-4")).collect();
    for id in &ids {
        put(scene, id, &bucket(scene.now_ms())).await;
    }
    // Both think that the shard is theirs: they have the same name.
    let mut one = Aggregator::new(scene, "a").await;
    let mut two = Aggregator::new(scene, "a").await;
    for round in 0..10 {
        for id in &ids {
            take(scene, id, "rpm", 1_000 * (1 + round % 3)).await;
        }
        let (left, right) = tokio::join!(one.run(), two.run());
        // They may meet at the same items.
        drop((left, right));
    }
    eventually(async || {
        one.run().await.ok()?;
        two.run().await.ok()?;
        let mut seen = Vec::new();
        for n in 0..4 {
            seen.push(rpm_of(scene, &format!("user-{n}")).await);
        }
        seen.iter().all(|total| *total >= 19).then_some(seen)
    })
    .await
    .iter()
    .for_each(|total| assert_eq!(*total, 19));
    assert_eq!(one.run().await.unwrap() + two.run().await.unwrap(), 0);
}

async fn a_fault_at_any_call_loses_and_repeats_nothing(scene: &Scene) {
    let id = bucket_id(scene, "user-1", "gpt-4");
    put(scene, &id, &bucket(scene.now_ms())).await;
    let mut taken = 0;
    for strike in [Strike::Before, Strike::After] {
        for skip in 0..6 {
            take(scene, &id, "rpm", 1_000).await;
            taken += 1;
            scene.watch.fail_once(skip, strike);
            // Each dies at its fault, and another one goes on.
            eventually(async || {
                Aggregator::new(scene, "a").await.run().await.ok();
                (!scene.watch.is_planned()).then_some(())
            })
            .await;
        }
    }
    let mut other = Aggregator::new(scene, "a").await;
    eventually(async || {
        other.run().await.unwrap();
        (rpm_of(scene, "user-1").await >= taken).then_some(())
    })
    .await;
    assert_eq!(rpm_of(scene, "user-1").await, taken);
}

async fn the_hour_of_midnight_and_its_day_are_separate_items(scene: &Scene) {
    let id = bucket_id(scene, "user-1", "gpt-4");
    let midnight = scene.now_ms() + 12 * HOUR_MS;
    let changes =
        [-1, 0, HOUR_MS - 1, HOUR_MS, 23 * HOUR_MS].map(|after| use_at(&id, midnight + after, 1));
    count(scene, &changes).await;
    let starts = |found: Vec<Snapshot>| -> BTreeMap<i64, i64> {
        let rpm = |found: &Snapshot| found.used[&limit_name("rpm")];
        found.iter().map(|found| ((found.start_ms - midnight) / HOUR_MS, rpm(found))).collect()
    };
    let hours = starts(all(scene, &of("user-1", Window::Hourly)).await);
    assert_eq!(hours, BTreeMap::from([(-1, 1), (0, 2), (1, 1), (23, 1)]));
    let days = starts(all(scene, &of("user-1", Window::Daily)).await);
    assert_eq!(days, BTreeMap::from([(-24, 1), (0, 4)]));
    assert_eq!(rpm_of(scene, "user-1").await, 5);
}

async fn a_clock_that_goes_back_records_nothing_twice(scene: &Scene) {
    let id = bucket_id(scene, "user-1", "gpt-4");
    let now = scene.now_ms();
    count(scene, &[use_at(&id, now, 2), use_at(&id, now - HOUR_MS, 3)]).await;
    count(scene, &[use_at(&id, now, 4)]).await;
    let hours = all(scene, &of("user-1", Window::Hourly)).await;
    let used: Vec<i64> = hours.iter().map(|hour| hour.used[&limit_name("rpm")]).collect();
    assert_eq!(used, [3, 6]);
    assert_eq!(rpm_of(scene, "user-1").await, 9);
}

async fn fractions_of_tokens_add_up(scene: &Scene) {
    let id = bucket_id(scene, "user-1", "gpt-4");
    let now = scene.now_ms();
    for part in [333, 333, 334, 999, 1] {
        let before = bucket(now);
        let mut after = before.clone();
        after.take(&limit_name("rpm"), part);
        count(scene, &[used(&id, 0, now, &before, &after)]).await;
    }
    let hours = all(scene, &of("user-1", Window::Hourly)).await;
    assert_eq!(hours[0].used_milli[&limit_name("rpm")], 2_000);
    assert_eq!(rpm_of(scene, "user-1").await, 2);
}

async fn an_entitys_usage_is_listed_in_order_of_time(scene: &Scene) {
    let now = scene.now_ms();
    let models = ["gpt", "gpt-4", "claude"];
    for (hour, model) in (0..9).flat_map(|hour| models.map(|model| (hour, model))) {
        // Not every model is used every hour.
        if hour % 3 != 1 || model != "claude" {
            let id = bucket_id(scene, "user-1", model);
            count(scene, &[use_at(&id, now + hour * HOUR_MS, hour + 1)]).await;
        }
    }
    for limit in [1, 4, 100] {
        let filter = Filter {
            limit,
            from_ms: now + HOUR_MS + 5,
            to_ms: now + 8 * HOUR_MS,
            ..of("user-1", Window::Hourly)
        };
        let found = all(scene, &filter).await;
        let places: Vec<_> = found.iter().map(|one| (one.start_ms, one.resource.clone())).collect();
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
        // Seven hours of three models, without `claude` in the hours 1, 4 and 7.
        assert_eq!(places.len(), 7 * 3 - 3);
        let one = Filter { resource: Some(resource("gpt")), ..filter };
        assert_eq!(all(scene, &one).await.len(), 7);
    }
    let summary = scene.ns.usage_summary(&of("user-1", Window::Hourly)).await.unwrap();
    assert_eq!(summary.snapshots, 24);
    assert_eq!(summary.peak[&limit_name("rpm")], 27, "all models of the last hour together");
    assert_eq!(summary.total[&limit_name("rpm")], 45 * 3 - (2 + 5 + 8));
}

async fn a_resources_usage_is_listed_in_order_of_time(scene: &Scene) {
    let day = 24 * HOUR_MS;
    let now = scene.now_ms();
    let days = [0, 1, 17, 40];
    for (n, at) in days.iter().enumerate() {
        for who in ["ann", "bob", "cy"] {
            let id = bucket_id(scene, who, "gpt-4");
            let at_ms = now + at * day + HOUR_MS * i64::try_from(n).unwrap();
            count(scene, &[use_at(&id, at_ms, 2), use_at(&id, at_ms + HOUR_MS, 1)]).await;
        }
    }
    let filter = |window, limit| Filter {
        resource: Some(resource("gpt-4")),
        limit,
        from_ms: now - day,
        to_ms: now + 50 * day,
        ..everything(window)
    };
    for (window, expected) in [(Window::Hourly, 24), (Window::Daily, 12), (Window::Monthly, 6)] {
        for limit in [1, 5, 1000] {
            let found = eventually(async || {
                let found = all(scene, &filter(window, limit)).await;
                (found.len() == expected).then_some(found)
            })
            .await;
            let places: Vec<_> =
                found.iter().map(|one| (one.start_ms, one.entity.clone())).collect();
            assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
            assert!(found.iter().all(|one| one.window == window));
        }
    }
    let narrow = Filter { from_ms: now + day, to_ms: now + 2 * day, ..filter(Window::Daily, 10) };
    let found = all(scene, &narrow).await;
    assert_eq!(found.len(), 3 + 3 * usize::from(scene.now_ms() % day == 0), "{found:?}");
    let summary = scene.ns.usage_summary(&filter(Window::Daily, 1)).await.unwrap();
    assert_eq!((summary.total[&limit_name("rpm")], summary.peak[&limit_name("rpm")]), (36, 9));
}

async fn an_invalid_filter_is_refused_by_field(scene: &Scene) {
    let error = scene.ns.usage(&everything(Window::Daily)).await.unwrap_err().to_string();
    assert!(error.contains("needs an entity or a resource"), "{error}");
    let id = bucket_id(scene, "user-1", "gpt-4");
    count(scene, &[use_at(&id, scene.now_ms(), 1), use_at(&id, scene.now_ms() + HOUR_MS, 1)]).await;
    let filter = Filter { limit: 1, ..of("user-1", Window::Hourly) };
    let cursor = scene.ns.usage(&filter).await.unwrap().cursor;
    for wrong in [
        Filter { cursor: cursor.clone(), ..of("user-2", Window::Hourly) },
        Filter { cursor, ..of("user-1", Window::Daily) },
        Filter { cursor: Some("x".to_owned()), ..filter },
    ] {
        let error = scene.ns.usage(&wrong).await.unwrap_err().to_string();
        assert!(error.contains("cursor"), "{error}");
    }
    let empty = Filter { from_ms: 5, to_ms: 5, ..of("user-1", Window::Hourly) };
    let none = Listed { items: Vec::new(), cursor: None };
    assert_eq!(scene.ns.usage(&empty).await.unwrap(), none);
}

async fn a_shared_table_gets_whole_numbers_and_no_other(scene: &Scene) {
    let id = bucket_id(scene, "user-1", "gpt-4");
    let mut settings = scene.limiter.settings().clone();
    settings.compat = weir_limiter::Compat::Zae;
    let shared = weir_limiter::Limiter::new(scene.store.clone(), scene.clock.clone(), settings);
    let now = scene.now_ms();
    let mut before = bucket(now);
    for part in [333, 333, 334, 1_500] {
        let mut after = before.clone();
        after.take(&limit_name("rpm"), part);
        let writes = fed::usage_writes(&shared, &[used(&id, 0, now, &before, &after)]);
        if !writes.is_empty() {
            assert!(scene.store.transact(Transaction::new(writes)).await.unwrap().is_applied());
        }
        before = after;
    }
    let month = weir_limiter::keys::usage(&id.ns, &id.entity, &id.resource, "2037-01");
    let table = scene.limiter.settings().table.clone();
    let item = scene.store.get(&weir_table::Get::new(table, month)).await.unwrap().unwrap();
    assert_eq!(item.i64("rpm"), Some(2));
    assert_eq!(item.s("window_start"), Some("2037-01-01T00:00:00Z"));
    let numbers: Vec<&str> = item
        .attrs()
        .iter()
        .filter(|(_, value)| value.as_n().is_some())
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(numbers, ["rpm", "total_events", "ttl"]);
}
