//! One story per test, told on every back-end.

use weir_table::clock::Clock;
use weir_table::expr::{add, set};
use weir_table::feed::{LEASE_MS, POSITIONS_TABLE, Position};
use weir_table::{Backend, Error, Get, Item, Key, Query, Transaction, Write};

use crate::places::{OTHER, Place, TABLE, consumer, drain, numbers, order};

on_both!(
    changes_come_with_both_images_in_order,
    a_consumer_goes_on_where_it_stopped,
    from_now_on_loses_nothing_between_two_polls,
    an_uncommitted_batch_comes_again,
    a_batch_is_committed_once,
    two_instances_share_without_counting_twice,
    a_lease_that_is_over_is_taken_over,
    released_shards_are_free_at_once,
    consumers_of_other_names_read_on_their_own,
    totals_are_exact_when_checkpoints_are_in_the_transaction,
    starting_anew_voids_what_was_read_before,
    names_with_separators_are_refused,
);

async fn changes_come_with_both_images_in_order<B: Backend>(place: Place<B>) {
    let store = &place.store;
    order(store, 0..1).await;
    let key = Key::partition("order-0");
    let update = Write::update(TABLE, key.clone(), set("state", "paid"));
    store.write(update).await.unwrap();
    store.write(Write::delete(TABLE, key.clone())).await.unwrap();
    let clock = Clock::default();
    let mut consumer = consumer(store, "a", Position::Oldest, &clock);
    let batch = consumer.poll(100).await.unwrap().unwrap();
    let made = Item::new().with("id", "order-0").with("number", 0);
    let paid = made.clone().with("state", "paid");
    let images: Vec<_> = batch.changes.iter().map(|change| change.images().unwrap()).collect();
    assert_eq!(
        images,
        [(None, Some(made.clone())), (Some(made), Some(paid.clone())), (Some(paid), None),]
    );
    let now_ms = clock.now_ms();
    for change in &batch.changes {
        assert_eq!((change.table.as_str(), &change.key), (TABLE, &key));
        assert!(change.at_ms <= now_ms + 2000 && change.at_ms + 60_000 > now_ms);
        assert!(!change.expired);
    }
}

async fn a_consumer_goes_on_where_it_stopped<B: Backend>(place: Place<B>) {
    let clock = Clock::manual(1_000_000);
    let store = &place.store;
    order(store, 0..20).await;
    let mut first = consumer(store, "a", Position::Oldest, &clock);
    assert_eq!(drain(&mut first).await, (0..20).collect::<Vec<_>>());
    order(store, 20..25).await;
    let mut again = consumer(store, "a", Position::Oldest, &clock);
    assert_eq!(drain(&mut again).await, (20..25).collect::<Vec<_>>());
}

async fn from_now_on_loses_nothing_between_two_polls<B: Backend>(place: Place<B>) {
    let clock = Clock::manual(1_000_000);
    let store = &place.store;
    order(store, 0..5).await;
    let mut first = consumer(store, "a", Position::Latest, &clock);
    assert!(first.poll(10).await.unwrap().is_none());
    order(store, 5..8).await;
    // The instance dies without having committed anything; its successor starts at the same place.
    drop(first);
    clock.advance_ms(LEASE_MS + 1);
    let mut second = consumer(store, "b", Position::Latest, &clock);
    assert_eq!(drain(&mut second).await, [5, 6, 7]);
    order(store, 8..9).await;
    assert_eq!(drain(&mut second).await, [8]);
}

async fn an_uncommitted_batch_comes_again<B: Backend>(place: Place<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..3).await;
    let mut consumer = consumer(&place.store, "a", Position::Oldest, &clock);
    for _ in 0..3 {
        let batch = consumer.poll(2).await.unwrap().unwrap();
        assert_eq!(numbers(&batch.changes), [0, 1]);
    }
    assert_eq!(drain(&mut consumer).await, [0, 1, 2]);
}

async fn a_batch_is_committed_once<B: Backend>(place: Place<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..3).await;
    let mut consumer = consumer(&place.store, "a", Position::Oldest, &clock);
    let batch = consumer.poll(2).await.unwrap().unwrap();
    assert!(consumer.commit(batch.clone()).await.unwrap());
    assert!(!consumer.commit(batch).await.unwrap());
    assert_eq!(drain(&mut consumer).await, [2]);
}

async fn two_instances_share_without_counting_twice<B: Backend>(place: Place<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..4).await;
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    let mut b = consumer(&place.store, "b", Position::Oldest, &clock);
    let of_a = a.poll(2).await.unwrap().unwrap();
    assert!(b.poll(2).await.unwrap().is_none(), "a has the shard");
    assert!(a.commit(of_a).await.unwrap());
    assert_eq!(drain(&mut a).await, [2, 3]);
    assert_eq!(drain(&mut b).await, Vec::<i64>::new());
}

async fn a_lease_that_is_over_is_taken_over<B: Backend>(place: Place<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..4).await;
    let mut slow = consumer(&place.store, "slow", Position::Oldest, &clock);
    let stale = slow.poll(2).await.unwrap().unwrap();
    clock.advance_ms(LEASE_MS + 1);
    let mut quick = consumer(&place.store, "quick", Position::Oldest, &clock);
    let fresh = quick.poll(2).await.unwrap().unwrap();
    assert_eq!(numbers(&fresh.changes), [0, 1]);
    assert!(!slow.commit(stale).await.unwrap(), "its work does not count");
    assert!(quick.commit(fresh).await.unwrap());
    assert!(slow.poll(2).await.unwrap().is_none());
    assert_eq!(drain(&mut quick).await, [2, 3]);
    // A lease that is used is kept.
    for _ in 0..5 {
        clock.advance_ms(LEASE_MS / 2);
        assert!(quick.poll(2).await.unwrap().is_none());
        assert!(slow.poll(2).await.unwrap().is_none());
    }
    order(&place.store, 4..5).await;
    assert!(slow.poll(2).await.unwrap().is_none());
    assert_eq!(drain(&mut quick).await, [4]);
}

async fn released_shards_are_free_at_once<B: Backend>(place: Place<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..4).await;
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    let batch = a.poll(2).await.unwrap().unwrap();
    assert!(a.commit(batch).await.unwrap());
    a.release().await.unwrap();
    let mut b = consumer(&place.store, "b", Position::Oldest, &clock);
    assert_eq!(drain(&mut b).await, [2, 3]);
}

async fn consumers_of_other_names_read_on_their_own<B: Backend>(place: Place<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..3).await;
    let mut totals = consumer(&place.store, "a", Position::Oldest, &clock);
    let mut audit = weir_table::feed::Consumer::new(
        place.store.clone(),
        TABLE,
        "audit",
        "a",
        POSITIONS_TABLE,
        Position::Oldest,
        clock.clone(),
    )
    .unwrap();
    assert_eq!(drain(&mut totals).await, [0, 1, 2]);
    assert_eq!(drain(&mut audit).await, [0, 1, 2]);
}

/// Several instances add up orders, steal each other's leases, and never count one twice.
async fn totals_are_exact_when_checkpoints_are_in_the_transaction<B: Backend>(place: Place<B>) {
    let clock = Clock::manual(1_000_000);
    let store = &place.store;
    let mut instances: Vec<_> =
        ["a", "b", "c"].map(|owner| consumer(store, owner, Position::Oldest, &clock)).into();
    let mut pending = Vec::new();
    for round in 0..12i64 {
        order(store, round * 5..round * 5 + 5).await;
        for consumer in &mut instances {
            if let Some(batch) = consumer.poll(4).await.unwrap() {
                pending.push(batch);
            }
            clock.advance_ms(LEASE_MS + 1);
        }
        // All that were read, stale ones too, try to count.
        for batch in pending.drain(..) {
            count(store, &batch).await;
        }
        for consumer in &mut instances {
            consumer.release().await.unwrap();
        }
    }
    let mut last = consumer(store, "d", Position::Oldest, &clock);
    while let Some(batch) = last.poll(50).await.unwrap() {
        if count(store, &batch).await {
            last.committed(&batch);
        } else {
            last.lost(&batch);
        }
    }
    let total = store.get(&Get::new(OTHER, Key::partition("total"))).await.unwrap().unwrap();
    assert_eq!(total.i64("count"), Some(60));
    assert_eq!(total.i64("sum"), Some((0..60).sum()));
}

async fn count<B: Backend>(store: &weir_table::Store<B>, batch: &weir_table::feed::Batch) -> bool {
    let numbers = numbers(&batch.changes);
    let sum: i64 = numbers.iter().sum();
    let update = add("count", numbers.len() as i64).add("sum", sum);
    let write = Write::update(OTHER, Key::partition("total"), update);
    let transaction = Transaction::new([write, batch.checkpoint()]);
    store.transact(transaction).await.unwrap().is_applied()
}

async fn starting_anew_voids_what_was_read_before<B: Backend>(place: Place<B>) {
    let clock = Clock::manual(1_000_000);
    let store = &place.store;
    order(store, 0..4).await;
    let mut a = consumer(store, "a", Position::Oldest, &clock);
    let mut b = consumer(store, "b", Position::Oldest, &clock);
    let stale = a.poll(2).await.unwrap().unwrap();
    b.restart_from_latest().await.unwrap();
    assert!(!a.commit(stale).await.unwrap());
    order(store, 4..6).await;
    assert!(a.poll(2).await.unwrap().is_none(), "b has the shard");
    assert_eq!(drain(&mut b).await, [4, 5]);
    b.restart_from_oldest().await.unwrap();
    assert_eq!(drain(&mut b).await, [0, 1, 2, 3, 4, 5]);
}

async fn names_with_separators_are_refused<B: Backend>(place: Place<B>) {
    let made = weir_table::feed::Consumer::new(
        place.store.clone(),
        TABLE,
        "a#b",
        "a",
        POSITIONS_TABLE,
        Position::Oldest,
        Clock::default(),
    );
    let error = made.err().unwrap();
    assert_eq!(error.field(), Some("consumer"));
    let mut unfed = weir_table::feed::Consumer::new(
        place.store.clone(),
        OTHER,
        "a",
        "a",
        POSITIONS_TABLE,
        Position::Oldest,
        Clock::default(),
    )
    .unwrap();
    let error = unfed.poll(1).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
    let rows = place.store.query(&Query::scan(POSITIONS_TABLE)).await;
    assert!(rows.unwrap().items.is_empty());
}
