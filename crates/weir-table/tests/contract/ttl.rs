//! Expiry: an attribute like any other until the store removes the item, whenever it does.

use weir_table::clock::Clock;
use weir_table::expr::set;
use weir_table::{Backend, IndexSpec, Item, Kind};

use crate::fixture::{Fixture, Table, eventually, key, row, texts};
use crate::follower::Follower;

contract! {
    the_expiry_attribute_is_part_of_the_shape,
    an_item_that_expires_later_is_read,
    an_expired_item_is_whole_or_gone,
    an_expiry_that_is_not_a_number_is_ignored,
    an_item_without_expiry_stays,
    an_expired_item_is_removed_in_the_end,
    an_expired_item_leaves_the_index,
    the_feed_marks_expired_items,
    an_item_whose_expiry_moves_on_stays,
}

fn seconds_from_now(seconds: i64) -> i64 {
    i64::try_from(Clock::System.now_ms() / 1000).unwrap() + seconds
}

fn expiring(sk: &str, seconds: i64) -> Item {
    row("a", sk).with("expires", seconds_from_now(seconds)).with("kind", "session")
}

async fn sessions(t: &Fixture) -> Table<'_> {
    let spec = texts("sessions")
        .attribute("kind", Kind::S)
        .index(IndexSpec::new("by-kind", "kind").sort("sk"))
        .ttl("expires")
        .feed();
    t.table("sessions", spec).await
}

async fn the_expiry_attribute_is_part_of_the_shape(t: &Fixture) {
    let _sessions = sessions(t).await;
    let found = t.store.backend().describe("sessions").await.unwrap().unwrap();
    assert_eq!(found.ttl.as_deref(), Some("expires"));
}

async fn an_item_that_expires_later_is_read(t: &Fixture) {
    let sessions = sessions(t).await;
    let item = expiring("1", 3600);
    sessions.put(item.clone()).await;
    assert_eq!(sessions.get(key("a", "1")).await, Some(item.clone()));
    assert_eq!(sessions.all(&sessions.partition("a")).await, [item]);
}

async fn an_expired_item_is_whole_or_gone(t: &Fixture) {
    let sessions = sessions(t).await;
    let item = expiring("1", -3600);
    sessions.put(item.clone()).await;
    let found = sessions.get(key("a", "1")).await;
    assert!(found.is_none() || found == Some(item), "{found:?}");
}

async fn an_expiry_that_is_not_a_number_is_ignored(t: &Fixture) {
    let sessions = sessions(t).await;
    let item = row("a", "1").with("expires", "1");
    sessions.put(item.clone()).await;
    sessions.put(expiring("2", -60)).await;
    eventually(None, async || sessions.get(key("a", "2")).await).await;
    assert_eq!(sessions.get(key("a", "1")).await, Some(item));
}

async fn an_item_without_expiry_stays(t: &Fixture) {
    let sessions = sessions(t).await;
    sessions.put(row("a", "1")).await;
    sessions.put(expiring("2", -60)).await;
    eventually(None, async || sessions.get(key("a", "2")).await).await;
    assert_eq!(sessions.get(key("a", "1")).await, Some(row("a", "1")));
}

async fn an_expired_item_is_removed_in_the_end(t: &Fixture) {
    let sessions = sessions(t).await;
    sessions.fill([expiring("1", -60), expiring("2", 3600), row("a", "3")]).await;
    eventually(None, async || sessions.get(key("a", "1")).await).await;
    assert_eq!(sessions.sorts(&sessions.partition("a")).await, ["2", "3"]);
}

async fn an_expired_item_leaves_the_index(t: &Fixture) {
    let sessions = sessions(t).await;
    sessions.fill([expiring("1", -60), expiring("2", 3600)]).await;
    let query = sessions.partition("session").index("by-kind");
    eventually(vec!["2".to_owned()], async || sessions.sorts(&query).await).await;
}

async fn the_feed_marks_expired_items(t: &Fixture) {
    let sessions = sessions(t).await;
    let item = expiring("1", -60);
    sessions.put(item.clone()).await;
    eventually(None, async || sessions.get(key("a", "1")).await).await;
    let changes = Follower::new(t, "sessions").await.until(2).await;
    assert_eq!(changes[1].images().unwrap(), (Some(item), None));
    assert_eq!((changes[0].expired, changes[1].expired), (false, true));
}

async fn an_item_whose_expiry_moves_on_stays(t: &Fixture) {
    let sessions = sessions(t).await;
    sessions.put(expiring("1", 2)).await;
    let later = seconds_from_now(3600);
    sessions.update(key("a", "1"), set("expires", later)).await;
    sessions.put(expiring("2", 3)).await;
    eventually(None, async || sessions.get(key("a", "2")).await).await;
    assert_eq!(sessions.get(key("a", "1")).await.unwrap().i64("expires"), Some(later));
}
