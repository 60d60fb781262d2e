//! The change feed: every change once, in order per item, with both images.

use weir_table::expr::{add, attr, set};
use weir_table::feed::{Change, Position};
use weir_table::{Item, Kind, TableSpec, Transaction, Value, Write};

use crate::fixture::{Fixture, byte_set, fault, key, n, row, texts};
use crate::follower::Follower;

contract! {
    a_put_is_fed_with_the_new_image,
    a_put_over_an_item_is_fed_with_both_images,
    an_update_is_fed_with_both_images,
    an_update_that_makes_an_item_is_fed_once,
    a_delete_is_fed_with_the_old_image,
    images_hold_every_kind_of_value,
    images_hold_empty_maps_and_lists,
    a_change_names_its_table_and_key,
    changes_of_an_item_come_in_order,
    an_item_made_removed_and_remade_is_fed_three_times,
    a_refused_write_is_not_fed,
    deleting_nothing_is_not_fed,
    a_write_that_changes_nothing_is_not_fed,
    a_transaction_feeds_every_change,
    a_refused_transaction_feeds_nothing,
    a_batch_feeds_every_item,
    a_feed_is_read_again_from_the_oldest,
    reading_continues_after_a_position,
    the_latest_position_starts_with_later_changes,
    a_read_returns_at_most_its_limit,
    a_limit_out_of_range_is_refused,
    a_table_without_a_feed_is_refused,
    tables_have_feeds_of_their_own,
    a_feed_of_number_keys_names_them,
    concurrent_changes_are_each_fed_once,
}

fn images(changes: &[Change]) -> Vec<(Option<Item>, Option<Item>)> {
    changes.iter().map(|change| change.images().unwrap()).collect()
}

async fn a_put_is_fed_with_the_new_image(t: &Fixture) {
    let events = t.events().await;
    let item = row("a", "1").with("v", 1);
    events.put(item.clone()).await;
    let changes = Follower::new(t, "events").await.until(1).await;
    assert_eq!(images(&changes), [(None, Some(item))]);
    assert!(!changes[0].expired);
}

async fn a_put_over_an_item_is_fed_with_both_images(t: &Fixture) {
    let events = t.events().await;
    let (old, new) = (row("a", "1").with("v", 1), row("a", "1").with("w", 2));
    events.put(old.clone()).await;
    events.put(new.clone()).await;
    let changes = Follower::new(t, "events").await.until(2).await;
    assert_eq!(images(&changes), [(None, Some(old.clone())), (Some(old), Some(new))]);
}

async fn an_update_is_fed_with_both_images(t: &Fixture) {
    let events = t.events().await;
    let made = row("a", "1").with("v", 1);
    events.put(made.clone()).await;
    let changed = events.update(key("a", "1"), add("v", 1)).await;
    let changes = Follower::new(t, "events").await.until(2).await;
    assert_eq!(images(&changes), [(None, Some(made.clone())), (Some(made), Some(changed))]);
}

async fn an_update_that_makes_an_item_is_fed_once(t: &Fixture) {
    let events = t.events().await;
    let made = events.update(key("a", "1"), add("v", 1)).await;
    let changes = Follower::new(t, "events").await.until(1).await;
    assert_eq!(images(&changes), [(None, Some(made))]);
}

async fn a_delete_is_fed_with_the_old_image(t: &Fixture) {
    let events = t.events().await;
    let item = row("a", "1").with("v", 1);
    events.put(item.clone()).await;
    events.delete(key("a", "1")).await;
    let changes = Follower::new(t, "events").await.until(2).await;
    assert_eq!(images(&changes[1..]), [(Some(item), None)]);
    assert!(!changes[1].expired);
}

async fn images_hold_every_kind_of_value(t: &Fixture) {
    let events = t.events().await;
    let item = row("a", "1")
        .with("s", "")
        .with("n", n("-1.5"))
        .with("b", vec![0, 255])
        .with("bool", true)
        .with("null", Value::Null)
        .with("l", Value::list([Value::map([("x", 1)])]))
        .with("ss", Value::strings(["x", "y"]))
        .with("ns", Value::numbers([1, 2]))
        .with("bs", byte_set([b"x"]));
    events.put(item.clone()).await;
    let changes = Follower::new(t, "events").await.until(1).await;
    assert_eq!(images(&changes), [(None, Some(item))]);
}

async fn images_hold_empty_maps_and_lists(t: &Fixture) {
    let events = t.events().await;
    let none = || Value::map(std::iter::empty::<(&str, Value)>());
    let nothing = || Value::list(std::iter::empty::<Value>());
    let deep = Value::map([("m", none()), ("l", Value::list([none(), nothing()]))]);
    let item = row("a", "1").with("m", none()).with("l", nothing()).with("deep", deep);
    events.put(item.clone()).await;
    let changes = Follower::new(t, "events").await.until(1).await;
    assert_eq!(images(&changes), [(None, Some(item))]);
}

async fn a_change_names_its_table_and_key(t: &Fixture) {
    let events = t.events().await;
    events.put(row("a", "1").with("v", 1)).await;
    let changes = Follower::new(t, "events").await.until(1).await;
    assert_eq!((&*changes[0].table, &changes[0].key), ("events", &key("a", "1")));
}

async fn changes_of_an_item_come_in_order(t: &Fixture) {
    let events = t.events().await;
    for i in 1..=20 {
        events.put(row("a", "1").with("v", i)).await;
        events.put(row("b", "1").with("v", -i)).await;
    }
    let changes = Follower::new(t, "events").await.until(40).await;
    for (pk, sign) in [("a", 1), ("b", -1)] {
        let values: Vec<_> = changes
            .iter()
            .filter(|change| change.key == key(pk, "1"))
            .map(|change| change.new.as_ref().unwrap().item().unwrap().i64("v").unwrap())
            .collect();
        assert_eq!(values, (1..=20).map(|i| i * sign).collect::<Vec<_>>());
    }
}

async fn an_item_made_removed_and_remade_is_fed_three_times(t: &Fixture) {
    let events = t.events().await;
    let item = row("a", "1");
    events.put(item.clone()).await;
    events.delete(key("a", "1")).await;
    events.put(item.clone()).await;
    let changes = Follower::new(t, "events").await.until(3).await;
    let there = Some(item);
    let expected = [(None, there.clone()), (there.clone(), None), (None, there)];
    assert_eq!(images(&changes), expected);
}

async fn a_refused_write_is_not_fed(t: &Fixture) {
    let events = t.events().await;
    events.put(row("a", "1").with("v", 1)).await;
    events.put_when(row("a", "1"), attr("pk").absent()).await;
    events.delete_when(key("a", "1"), attr("v").eq(2)).await;
    events.update_fault(key("a", "1"), add("pk", 1)).await;
    events.put(row("a", "last")).await;
    let changes = Follower::new(t, "events").await.until(2).await;
    assert_eq!(changes.last().unwrap().key, key("a", "last"));
}

async fn deleting_nothing_is_not_fed(t: &Fixture) {
    let events = t.events().await;
    events.delete(key("a", "none")).await;
    events.put(row("a", "1")).await;
    let changes = Follower::new(t, "events").await.until(1).await;
    assert_eq!(changes[0].key, key("a", "1"));
}

async fn a_write_that_changes_nothing_is_not_fed(t: &Fixture) {
    let events = t.events().await;
    let item = row("a", "1").with("v", 1);
    events.put(item.clone()).await;
    events.put(item.clone()).await;
    events.update(key("a", "1"), set("v", 1)).await;
    events.put(row("a", "last")).await;
    let changes = Follower::new(t, "events").await.until(2).await;
    assert_eq!(images(&changes), [(None, Some(item)), (None, Some(row("a", "last")))]);
}

async fn a_transaction_feeds_every_change(t: &Fixture) {
    let events = t.events().await;
    events.fill([row("a", "1").with("v", 1), row("a", "2"), row("a", "3")]).await;
    t.transact([
        Write::update("events", key("a", "1"), add("v", 1)),
        Write::delete("events", key("a", "2")),
        Write::put("events", row("a", "4")),
        Write::check("events", key("a", "3"), attr("pk").exists()),
    ])
    .await;
    let mut changes = images(&Follower::new(t, "events").await.until(6).await[3..]);
    changes.sort_by_key(|(old, _)| old.as_ref().map(|old| old.s("sk").unwrap().to_owned()));
    let one = |v: i32| Some(row("a", "1").with("v", v));
    let expected = [(None, Some(row("a", "4"))), (one(1), one(2)), (Some(row("a", "2")), None)];
    assert_eq!(changes, expected);
}

async fn a_refused_transaction_feeds_nothing(t: &Fixture) {
    let events = t.events().await;
    let refused = Transaction::new([
        Write::put("events", row("a", "1")),
        Write::put("events", row("a", "2")).when(attr("pk").exists()),
    ]);
    assert!(!t.store.transact(refused).await.unwrap().is_applied());
    events.put(row("a", "last")).await;
    let changes = Follower::new(t, "events").await.until(1).await;
    assert_eq!(changes[0].key, key("a", "last"));
}

async fn a_batch_feeds_every_item(t: &Fixture) {
    let events = t.events().await;
    let rows: Vec<Item> = (0..25).map(|i| row("a", &format!("{i:02}"))).collect();
    events.fill(rows.clone()).await;
    let mut changes = images(&Follower::new(t, "events").await.until(25).await);
    changes.sort_by_key(|(_, new)| new.as_ref().unwrap().s("sk").unwrap().to_owned());
    assert_eq!(changes, rows.into_iter().map(|row| (None, Some(row))).collect::<Vec<_>>());
}

async fn a_feed_is_read_again_from_the_oldest(t: &Fixture) {
    let events = t.events().await;
    events.put(row("a", "1")).await;
    events.put(row("a", "2")).await;
    let first = Follower::new(t, "events").await.until(2).await;
    let again = Follower::new(t, "events").await.until(2).await;
    assert_eq!(first, again);
}

async fn reading_continues_after_a_position(t: &Fixture) {
    let events = t.events().await;
    for i in 0..6 {
        events.put(row("a", "1").with("v", i)).await;
    }
    let mut follower = Follower::new(t, "events").await;
    let all = follower.until(6).await;
    let shard = follower.shard_of(&all[2]);
    // A position is kept as text between two lives of a consumer.
    let kept = serde_json::to_string(&Position::After(all[2].position.to_string())).unwrap();
    let from: Position = serde_json::from_str(&kept).unwrap();
    let page = t.store.feed_read("events", &shard, &from, 2).await.unwrap();
    assert_eq!(page.changes, all[3..5]);
    let rest = t.store.feed_read("events", &shard, &page.next, 100).await.unwrap();
    assert_eq!(rest.changes, all[5..]);
}

async fn the_latest_position_starts_with_later_changes(t: &Fixture) {
    let events = t.events().await;
    events.put(row("a", "before")).await;
    Follower::new(t, "events").await.until(1).await;
    let mut follower = Follower::latest(t, "events").await;
    events.put(row("a", "after")).await;
    let changes = follower.until(1).await;
    assert_eq!(changes[0].key, key("a", "after"));
}

async fn a_read_returns_at_most_its_limit(t: &Fixture) {
    let events = t.events().await;
    for i in 0..5 {
        events.put(row("a", "1").with("v", i)).await;
    }
    let mut follower = Follower::new(t, "events").await;
    let all = follower.until(5).await;
    let shard = follower.shard_of(&all[0]);
    let page = t.store.feed_read("events", &shard, &Position::Oldest, 2).await.unwrap();
    assert_eq!(page.changes, all[..2]);
    let page = t.store.feed_read("events", &shard, &page.next, 2).await.unwrap();
    assert_eq!(page.changes, all[2..4]);
}

async fn a_limit_out_of_range_is_refused(t: &Fixture) {
    let _events = t.events().await;
    let shard = t.store.feed_shards("events").await.unwrap()[0].id.clone();
    for limit in [0, 1001] {
        let read = t.store.feed_read("events", &shard, &Position::Oldest, limit).await;
        assert_eq!(fault(read), "limit");
    }
}

async fn a_table_without_a_feed_is_refused(t: &Fixture) {
    let _items = t.items().await;
    assert_eq!(fault(t.store.feed_shards("items").await), "table");
    let read = t.store.feed_read("items", "0", &Position::Oldest, 10).await;
    assert_eq!(fault(read), "table");
}

async fn tables_have_feeds_of_their_own(t: &Fixture) {
    let (events, items) = (t.events().await, t.items().await);
    let news = t.table("news", texts("news").feed()).await;
    events.put(row("a", "event")).await;
    items.put(row("a", "item")).await;
    news.put(row("a", "news")).await;
    let changes = Follower::new(t, "events").await.until(1).await;
    assert_eq!(changes[0].key, key("a", "event"));
    let changes = Follower::new(t, "news").await.until(1).await;
    assert_eq!(changes[0].key, key("a", "news"));
}

async fn a_feed_of_number_keys_names_them(t: &Fixture) {
    let spec = TableSpec::new("ticks", "id", Kind::N).feed();
    let ticks = t.table("ticks", spec).await;
    ticks.put(Item::new().with("id", n("1.50"))).await;
    let changes = Follower::new(t, "ticks").await.until(1).await;
    assert_eq!(changes[0].key, weir_table::Key::partition(n("1.5")));
}

async fn concurrent_changes_are_each_fed_once(t: &Fixture) {
    let events = t.events().await;
    events.fill([row("a", "0"), row("a", "1")]).await;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..4 {
        let store = t.store.clone();
        tasks.spawn(async move {
            for _ in 0..10 {
                let write =
                    Write::update("events", key("a", &format!("{}", task % 2)), add("v", 1));
                store.write(write).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    let changes = Follower::new(t, "events").await.until(42).await;
    for sk in ["0", "1"] {
        let of_item: Vec<_> = changes.iter().filter(|c| c.key == key("a", sk)).collect();
        assert_eq!(of_item.len(), 21);
        assert_eq!(of_item[0].old, None);
        // Each change starts where the one before ended: none is lost, doubled or out of order.
        assert!(of_item.windows(2).all(|pair| pair[0].new == pair[1].old));
    }
}
