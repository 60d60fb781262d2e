//! Leases, positions and commits of consumers, on every back-end.

use std::collections::BTreeSet;

use weir_table::clock::Clock;
use weir_table::expr::{add, set};
use weir_table::feed::{Change, Consumer, LEASE_MS, POSITIONS_TABLE, Position};
use weir_table::{Backend, Error, Get, Item, Key, Query, Result, Write};

use crate::setup::{OTHER, TABLE, TestStore, consumer, drain, drain_changes, numbers, order, read};

on_both!(
    changes_come_with_both_images_in_order,
    a_consumer_continues_where_it_stopped,
    latest_loses_nothing_between_two_reads,
    an_uncommitted_window_is_returned_again,
    a_window_is_committed_once,
    two_instances_share_without_counting_twice,
    an_expired_lease_is_taken_over,
    released_shards_are_free_at_once,
    consumers_of_other_names_read_on_their_own,
    totals_are_exact_though_leases_change_hands,
    a_restart_voids_what_was_read_before,
    names_with_separators_are_refused,
);

async fn changes_come_with_both_images_in_order<B: Backend>(place: TestStore<B>) {
    let store = &place.store;
    order(store, 0..1).await;
    let key = Key::partition("order-0");
    let update = Write::update(TABLE, key.clone(), set("state", "paid"));
    store.write(update).await.unwrap();
    store.write(Write::delete(TABLE, key.clone())).await.unwrap();
    let clock = Clock::default();
    let mut consumer = consumer(store, "a", Position::Oldest, &clock);
    let changes = drain_changes(&mut consumer).await;
    let made = Item::new().with("id", "order-0").with("number", 0);
    let paid = made.clone().with("state", "paid");
    let images: Vec<_> = changes.iter().map(|change| change.images().unwrap()).collect();
    assert_eq!(
        images,
        [(None, Some(made.clone())), (Some(made), Some(paid.clone())), (Some(paid), None),]
    );
    let now_ms = clock.now_ms();
    for change in &changes {
        assert_eq!((change.table.as_str(), &change.key), (TABLE, &key));
        assert!(change.at_ms <= now_ms + 2000 && change.at_ms + 60_000 > now_ms);
        assert!(!change.expired);
    }
}

async fn a_consumer_continues_where_it_stopped<B: Backend>(place: TestStore<B>) {
    let clock = Clock::manual(1_000_000);
    let store = &place.store;
    order(store, 0..20).await;
    let mut first = consumer(store, "a", Position::Oldest, &clock);
    assert_eq!(drain(&mut first).await, (0..20).collect::<Vec<_>>());
    order(store, 20..25).await;
    let mut again = consumer(store, "a", Position::Oldest, &clock);
    assert_eq!(drain(&mut again).await, (20..25).collect::<Vec<_>>());
}

async fn latest_loses_nothing_between_two_reads<B: Backend>(place: TestStore<B>) {
    let clock = Clock::manual(1_000_000);
    let store = &place.store;
    order(store, 0..5).await;
    let mut first = consumer(store, "a", Position::Latest, &clock);
    assert!(read(&mut first, 9).await.is_none());
    order(store, 5..8).await;
    // The instance dies without having committed anything; its successor starts at the same place.
    drop(first);
    clock.advance_ms(LEASE_MS + 1);
    let mut second = consumer(store, "b", Position::Latest, &clock);
    assert_eq!(drain(&mut second).await, [5, 6, 7]);
    order(store, 8..9).await;
    assert_eq!(drain(&mut second).await, [8]);
}

async fn an_uncommitted_window_is_returned_again<B: Backend>(place: TestStore<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..3).await;
    let mut consumer = consumer(&place.store, "a", Position::Oldest, &clock);
    for _ in 0..3 {
        assert_eq!(numbers(&read(&mut consumer, 9).await.unwrap().1), [0]);
    }
    let (window, _) = read(&mut consumer, 9).await.unwrap();
    assert!(consumer.commit(window, Vec::new()).await.unwrap());
    for _ in 0..3 {
        assert_eq!(numbers(&read(&mut consumer, 9).await.unwrap().1), [1, 2]);
    }
    assert_eq!(drain(&mut consumer).await, [1, 2]);
}

async fn a_window_is_committed_once<B: Backend>(place: TestStore<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..3).await;
    // Both have the same name, so the lease does not keep them apart.
    let mut one = consumer(&place.store, "a", Position::Oldest, &clock);
    let mut two = consumer(&place.store, "a", Position::Oldest, &clock);
    let (first, _) = read(&mut one, 9).await.unwrap();
    let (same, _) = read(&mut two, 9).await.unwrap();
    assert!(one.commit(first, Vec::new()).await.unwrap());
    assert!(!two.commit(same, Vec::new()).await.unwrap());
    assert_eq!(drain(&mut one).await, [1, 2]);
}

async fn two_instances_share_without_counting_twice<B: Backend>(place: TestStore<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..4).await;
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    let mut b = consumer(&place.store, "b", Position::Oldest, &clock);
    let (of_a, _) = read(&mut a, 9).await.unwrap();
    assert!(read(&mut b, 9).await.is_none(), "a has the shard");
    assert!(a.commit(of_a, Vec::new()).await.unwrap());
    assert_eq!(drain(&mut a).await, [1, 2, 3]);
    assert_eq!(drain(&mut b).await, Vec::<i64>::new());
}

async fn an_expired_lease_is_taken_over<B: Backend>(place: TestStore<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..4).await;
    let mut slow = consumer(&place.store, "slow", Position::Oldest, &clock);
    let (stale, _) = read(&mut slow, 9).await.unwrap();
    clock.advance_ms(LEASE_MS + 1);
    let mut quick = consumer(&place.store, "quick", Position::Oldest, &clock);
    let (fresh, changes) = read(&mut quick, 9).await.unwrap();
    assert_eq!(numbers(&changes), [0]);
    assert!(!slow.commit(stale, Vec::new()).await.unwrap(), "its work does not count");
    assert!(quick.commit(fresh, Vec::new()).await.unwrap());
    assert!(read(&mut slow, 9).await.is_none());
    assert_eq!(drain(&mut quick).await, [1, 2, 3]);
    // A lease that is used is renewed.
    for _ in 0..5 {
        clock.advance_ms(LEASE_MS / 2);
        assert!(read(&mut quick, 9).await.is_none());
        assert!(read(&mut slow, 9).await.is_none());
    }
    order(&place.store, 4..5).await;
    assert!(read(&mut slow, 9).await.is_none());
    assert_eq!(drain(&mut quick).await, [4]);
}

async fn released_shards_are_free_at_once<B: Backend>(place: TestStore<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..4).await;
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    let (window, _) = read(&mut a, 9).await.unwrap();
    assert!(a.commit(window, Vec::new()).await.unwrap());
    a.release().await.unwrap();
    let mut b = consumer(&place.store, "b", Position::Oldest, &clock);
    assert_eq!(drain(&mut b).await, [1, 2, 3]);
}

async fn consumers_of_other_names_read_on_their_own<B: Backend>(place: TestStore<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..3).await;
    let mut totals = consumer(&place.store, "a", Position::Oldest, &clock);
    let mut audit = named(&place, TABLE, "audit").unwrap();
    assert_eq!(drain(&mut totals).await, [0, 1, 2]);
    assert_eq!(drain(&mut audit).await, [0, 1, 2]);
}

/// Several instances add up orders, steal each other's leases, and never count one twice.
async fn totals_are_exact_though_leases_change_hands<B: Backend>(place: TestStore<B>) {
    let clock = Clock::manual(1_000_000);
    let store = &place.store;
    let mut instances: Vec<_> =
        ["a", "b", "c"].map(|owner| consumer(store, owner, Position::Oldest, &clock)).into();
    for round in 0..12i64 {
        order(store, round * 5..round * 5 + 5).await;
        let mut pending = Vec::new();
        for consumer in &mut instances {
            pending.push(read(consumer, 4).await);
            clock.advance_ms(LEASE_MS + 1);
        }
        // All that were read, stale ones too, are committed.
        for (consumer, pending) in instances.iter_mut().zip(pending) {
            if let Some((window, changes)) = pending {
                consumer.commit(window, vec![total(&changes)]).await.unwrap();
            }
            consumer.release().await.unwrap();
        }
    }
    let mut last = consumer(store, "d", Position::Oldest, &clock);
    while let Some((window, changes)) = read(&mut last, 50).await {
        last.commit(window, vec![total(&changes)]).await.unwrap();
    }
    let total = store.get(&Get::new(OTHER, Key::partition("total"))).await.unwrap().unwrap();
    assert_eq!(total.i64("count"), Some(60));
    assert_eq!(total.i64("sum"), Some((0..60).sum()));
}

fn total(changes: &[Change]) -> Write {
    let numbers = numbers(changes);
    let update = add("count", numbers.len() as i64).add("sum", numbers.iter().sum::<i64>());
    Write::update(OTHER, Key::partition("total"), update)
}

async fn a_restart_voids_what_was_read_before<B: Backend>(place: TestStore<B>) {
    let clock = Clock::manual(1_000_000);
    let store = &place.store;
    order(store, 0..4).await;
    let mut a = consumer(store, "a", Position::Oldest, &clock);
    let mut b = consumer(store, "b", Position::Oldest, &clock);
    let (stale, _) = read(&mut a, 9).await.unwrap();
    b.restart_from_latest().await.unwrap();
    assert!(!a.commit(stale, Vec::new()).await.unwrap());
    order(store, 4..6).await;
    assert!(read(&mut a, 9).await.is_none(), "b has the shard");
    assert_eq!(drain(&mut b).await, [4, 5]);
}

async fn names_with_separators_are_refused<B: Backend>(place: TestStore<B>) {
    let error = named(&place, TABLE, "a#b").err().unwrap();
    assert_eq!(error.field(), Some("consumer"));
    let mut unfed = named(&place, OTHER, "a").unwrap();
    let error = unfed.next_window(1, &BTreeSet::new()).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
    let rows = place.store.query(&Query::scan(POSITIONS_TABLE)).await;
    assert!(rows.unwrap().items.is_empty());
}

fn named<B: Backend>(place: &TestStore<B>, table: &str, name: &str) -> Result<Consumer<B>> {
    let (store, clock) = (place.store.clone(), Clock::manual(1_000_000));
    Consumer::new(store, table, name, "a", POSITIONS_TABLE, Position::Oldest, clock)
}
