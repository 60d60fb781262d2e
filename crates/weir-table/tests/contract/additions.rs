//! Additions: numbers added under guards, prepared once. Each is done several times, because a store may remember what
//! the first has found.

use std::sync::Arc;

use tokio::task::JoinSet;
use weir_table::expr::{add, remove, set};
use weir_table::{
    Add, Added, Addition, Durability, Guard, IndexSpec, Item, Key, Kind, Name, Prepared, Query,
    ReturnAttributes, TableSpec, Value,
};

use crate::fixture::{Fixture, eventually, fault, key, n, row, texts};
use crate::follower::Follower;

contract! {
    repeated_additions_add_up,
    an_addition_returns_at_least_the_selected_attributes,
    an_addition_returns_attributes_that_other_updates_did_not_select,
    an_addition_creates_missing_attributes,
    guards_are_checked_each_time,
    a_guard_on_a_missing_or_greater_attribute_is_true,
    an_addition_sees_writes_in_between,
    an_addition_of_zero_is_applied,
    a_sum_out_of_range_is_refused_and_nothing_added,
    additions_are_fed_with_both_images,
    an_addition_updates_an_index_that_projects_its_sum,
    additions_that_grow_longer_stay_exact,
    an_addition_with_too_few_numbers_is_refused,
    an_addition_that_names_a_key_cannot_be_prepared,
    additions_at_once_are_each_counted_once,
    two_additions_of_one_item_do_not_disturb_each_other,
}

fn addition(table: &str, adds: &[&str], guards: Vec<Guard>) -> Addition {
    Addition {
        table: table.into(),
        adds: adds.iter().copied().map(Name::from).collect(),
        guards,
        durability: Durability::Flushed,
        returned: ReturnAttributes(|name| name.starts_with("told")),
    }
}

async fn prepared(t: &Fixture, table: &str, adds: &[&str], guards: Vec<Guard>) -> Arc<Prepared> {
    t.store.prepare(addition(table, adds, guards)).await.unwrap()
}

/// Adds to item `1` of partition `a`; the item as far as it is told, or the one that was found.
async fn ask(
    t: &Fixture,
    prepared: &Arc<Prepared>,
    add: &[i64],
    than: &[i64],
) -> Result<Item, Option<Item>> {
    let key = key("a", "1");
    match t.store.add(Add { prepared, key: &key, add, than }, Item::clone).await.unwrap() {
        Added::Done(item) => Ok(item),
        Added::Refused(found) => Err(found),
    }
}

async fn repeated_additions_add_up(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1").with("kept", "x").with("left", 100).with("used", 5).with("z", true);
    items.put(item.clone()).await;
    let taking = prepared(t, "items", &["left", "used"], Vec::new()).await;
    for round in 1..=6 {
        ask(t, &taking, &[-7, 7], &[]).await.unwrap();
        let expected = item.clone().with("left", 100 - 7 * round).with("used", 5 + 7 * round);
        assert_eq!(items.get(key("a", "1")).await, Some(expected));
    }
}

async fn an_addition_returns_at_least_the_selected_attributes(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("told_a", 1).with("told_b", "x").with("other", 1)).await;
    let adding = prepared(t, "items", &["other", "told_a"], Vec::new()).await;
    for round in 1..=3 {
        let response = ask(t, &adding, &[1, 10], &[]).await.unwrap();
        assert_eq!(response.i64("told_a"), Some(1 + 10 * round));
        assert_eq!(response.s("told_b"), Some("x"));
    }
}

async fn an_addition_returns_attributes_that_other_updates_did_not_select(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("told_a", 1).with("told_b", "x").with("other", 1)).await;
    let adding = prepared(t, "items", &["other", "told_a"], Vec::new()).await;
    for round in 1..=3 {
        // It reads of the item what the addition adds to, and no more.
        items.update(key("a", "1"), add("other", 1).add("told_a", 1)).await;
        let response = ask(t, &adding, &[1, 10], &[]).await.unwrap();
        assert_eq!(response.i64("told_a"), Some(1 + 11 * round));
        assert_eq!(response.s("told_b"), Some("x"));
    }
}

async fn an_addition_creates_missing_attributes(t: &Fixture) {
    let items = t.items().await;
    let adding = prepared(t, "items", &["count", "other"], Vec::new()).await;
    for round in 1..=3 {
        ask(t, &adding, &[2, -2], &[]).await.unwrap();
        let expected = row("a", "1").with("count", 2 * round).with("other", -2 * round);
        assert_eq!(items.get(key("a", "1")).await, Some(expected));
    }
}

async fn guards_are_checked_each_time(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("left", 10).with("open", true)).await;
    let guards = vec![Guard::AtLeast("left".into()), Guard::Is("open".into(), true.into())];
    let taking = prepared(t, "items", &["left"], guards).await;
    for left in [7, 4, 1] {
        ask(t, &taking, &[-3], &[3]).await.unwrap();
        assert_eq!(items.get(key("a", "1")).await.unwrap().i64("left"), Some(left));
    }
    let found = row("a", "1").with("left", 1).with("open", true);
    for _ in 0..2 {
        assert_eq!(ask(t, &taking, &[-3], &[3]).await, Err(Some(found.clone())));
    }
    ask(t, &taking, &[-1], &[1]).await.unwrap();
    ask(t, &taking, &[100], &[-5]).await.unwrap();
    items.update(key("a", "1"), set("open", false)).await;
    let closed = row("a", "1").with("left", 100).with("open", false);
    assert_eq!(ask(t, &taking, &[-3], &[3]).await, Err(Some(closed.clone())));
    assert_eq!(items.get(key("a", "1")).await, Some(closed));
    items.delete(key("a", "1")).await;
    assert_eq!(ask(t, &taking, &[-3], &[3]).await, Err(None));
    assert_eq!(items.get(key("a", "1")).await, None);
}

async fn a_guard_on_a_missing_or_greater_attribute_is_true(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("count", 0)).await;
    let guards = vec![Guard::AbsentOrOver("until".into())];
    let adding = prepared(t, "items", &["count"], guards).await;
    ask(t, &adding, &[1], &[50]).await.unwrap();
    ask(t, &adding, &[1], &[50]).await.unwrap();
    items.update(key("a", "1"), set("until", 50)).await;
    assert!(ask(t, &adding, &[1], &[50]).await.is_err());
    ask(t, &adding, &[1], &[49]).await.unwrap();
    ask(t, &adding, &[1], &[49]).await.unwrap();
    assert!(ask(t, &adding, &[1], &[50]).await.is_err());
    items.update(key("a", "1"), set("until", "never")).await;
    assert!(ask(t, &adding, &[1], &[49]).await.is_err());
    items.update(key("a", "1"), remove("until")).await;
    ask(t, &adding, &[1], &[50]).await.unwrap();
    assert_eq!(items.get(key("a", "1")).await.unwrap().i64("count"), Some(5));
}

async fn an_addition_sees_writes_in_between(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("count", 1).with("text", "short")).await;
    let adding = prepared(t, "items", &["count"], Vec::new()).await;
    ask(t, &adding, &[1], &[]).await.unwrap();
    ask(t, &adding, &[1], &[]).await.unwrap();
    items.update(key("a", "1"), set("a_long_name_before", "a long text").set("count", 1000)).await;
    ask(t, &adding, &[1], &[]).await.unwrap();
    ask(t, &adding, &[1], &[]).await.unwrap();
    items.put(row("a", "1").with("count", -1)).await;
    ask(t, &adding, &[1], &[]).await.unwrap();
    ask(t, &adding, &[-9], &[]).await.unwrap();
    assert_eq!(items.get(key("a", "1")).await, Some(row("a", "1").with("count", -9)));
}

async fn an_addition_of_zero_is_applied(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("a", 5).with("b", 5)).await;
    let adding = prepared(t, "items", &["a", "b"], Vec::new()).await;
    for add in [[1, 1], [0, 0], [0, 2], [1, 1]] {
        ask(t, &adding, &add, &[]).await.unwrap();
    }
    assert_eq!(items.get(key("a", "1")).await, Some(row("a", "1").with("a", 7).with("b", 9)));
}

async fn a_sum_out_of_range_is_refused_and_nothing_added(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("a", 5).with("b", 5)).await;
    let adding = prepared(t, "items", &["a", "b"], Vec::new()).await;
    ask(t, &adding, &[1, 1], &[]).await.unwrap();
    ask(t, &adding, &[1, 1], &[]).await.unwrap();
    let item = row("a", "1").with("a", 7).with("b", "text");
    items.put(item.clone()).await;
    for _ in 0..2 {
        let add = Add { prepared: &adding, key: &key("a", "1"), add: &[1, 1], than: &[] };
        let refused = t.store.add(add, Item::clone).await;
        assert!(refused.is_err(), "{refused:?}");
    }
    assert_eq!(items.get(key("a", "1")).await, Some(item));
}

async fn additions_are_fed_with_both_images(t: &Fixture) {
    let events = t.events().await;
    let item = row("a", "1").with("left", 10).with("used", 0).with("kept", "x");
    events.put(item.clone()).await;
    let taking = prepared(t, "events", &["used", "left"], Vec::new()).await;
    for _ in 0..3 {
        ask(t, &taking, &[4, -4], &[]).await.unwrap();
    }
    let changes = Follower::new(t, "events").await.until(4).await;
    let images: Vec<_> = changes.iter().map(|change| change.images().unwrap()).collect();
    let after =
        |round: i64| Some(item.clone().with("left", 10 - 4 * round).with("used", 4 * round));
    let expected =
        [(None, after(0)), (after(0), after(1)), (after(1), after(2)), (after(2), after(3))];
    assert_eq!(images, expected);
}

async fn an_addition_updates_an_index_that_projects_its_sum(t: &Fixture) {
    let spec = texts("tallies")
        .attribute("owner", Kind::S)
        .attribute("team", Kind::S)
        .index(IndexSpec::new("by-owner", "owner"))
        .index(IndexSpec::new("by-team", "team").include(["count"]));
    let tallies = t.table("tallies", spec).await;
    let item = row("a", "1").with("count", 0).with("other", 0);
    tallies.put(item.clone()).await;
    let adding = prepared(t, "tallies", &["count"], Vec::new()).await;
    ask(t, &adding, &[1], &[]).await.unwrap();
    ask(t, &adding, &[1], &[]).await.unwrap();
    tallies.update(key("a", "1"), set("owner", "me").set("team", "us")).await;
    ask(t, &adding, &[1], &[]).await.unwrap();
    ask(t, &adding, &[1], &[]).await.unwrap();
    let counts = async |index: &str, of: &str| {
        let query = Query::partition("tallies", of).index(index);
        tallies.all(&query).await.iter().map(|item| item.i64("count")).collect::<Vec<_>>()
    };
    eventually(vec![Some(4)], async || counts("by-owner", "me").await).await;
    eventually(vec![Some(4)], async || counts("by-team", "us").await).await;
}

async fn additions_that_grow_longer_stay_exact(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("a", n("0.5")).with("b", 1).with("c", "x").with("d", -1)).await;
    let adding = prepared(t, "items", &["d", "a", "b"], Vec::new()).await;
    let (mut a, mut b) = (n("0.5"), 1_i64);
    for round in 0..15 {
        let step = 10_i64.pow(round);
        let item = ask(t, &adding, &[step, -step, step], &[]).await.unwrap();
        drop(item);
        a = a.checked_sub(step.into()).unwrap();
        b += step;
        let found = items.get(key("a", "1")).await.unwrap();
        let expected = row("a", "1").with("a", a).with("b", b).with("c", "x").with("d", b - 2);
        assert_eq!(found, expected);
    }
    ask(t, &adding, &[2 - b, 1, 1 - b], &[]).await.unwrap();
    assert_eq!(items.get(key("a", "1")).await.unwrap().i64("d"), Some(0));
}

async fn an_addition_with_too_few_numbers_is_refused(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1").with("a", 1).with("b", 1);
    items.put(item.clone()).await;
    let guards = vec![Guard::AtLeast("a".into())];
    let adding = prepared(t, "items", &["a", "b"], guards).await;
    for (add, than) in [(vec![1], vec![1]), (vec![1, 1], vec![]), (vec![1, 1, 1], vec![1])] {
        let add = Add { prepared: &adding, key: &key("a", "1"), add: &add, than: &than };
        let refused = t.store.add(add, Item::clone).await;
        assert_eq!(fault(refused), "numbers");
    }
    let wrong = Key { partition: "a".into(), sort: None };
    let add = Add { prepared: &adding, key: &wrong, add: &[1, 1], than: &[1] };
    assert!(t.store.add(add, Item::clone).await.unwrap_err().is_invalid());
    assert_eq!(items.get(key("a", "1")).await, Some(item));
}

async fn an_addition_that_names_a_key_cannot_be_prepared(t: &Fixture) {
    t.table("numbered", TableSpec::new("numbered", "pk", Kind::S).sort("sk", Kind::N)).await;
    for adds in [vec!["sk"], vec!["a", "a"], vec![""]] {
        let refused = t.store.prepare(addition("numbered", &adds, Vec::new())).await;
        assert!(refused.unwrap_err().is_invalid(), "{adds:?}");
    }
    let guard = Guard::Is("".into(), Value::Null);
    let refused = t.store.prepare(addition("numbered", &["a"], vec![guard])).await;
    assert!(refused.unwrap_err().is_invalid());
    assert!(t.store.prepare(addition("nowhere", &["a"], Vec::new())).await.is_err());
}

async fn additions_at_once_are_each_counted_once(t: &Fixture) {
    const TASKS: i64 = 8;
    const EACH: i64 = 25;
    let items = t.items().await;
    items.put(row("a", "1").with("left", TASKS * EACH / 2).with("used", 0)).await;
    let guards = vec![Guard::AtLeast("left".into())];
    let taking = prepared(t, "items", &["left", "used"], guards).await;
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let (store, taking) = (t.store.clone(), Arc::clone(&taking));
        tasks.spawn(async move {
            let mut taken = 0;
            for _ in 0..EACH {
                let key = key("a", "1");
                let add = Add { prepared: &taking, key: &key, add: &[-1, 1], than: &[1] };
                let added = store.add(add, |_| ()).await;
                taken += i64::from(matches!(added.unwrap(), Added::Done(())));
            }
            taken
        });
    }
    let taken: i64 = tasks.join_all().await.into_iter().sum();
    assert_eq!(taken, TASKS * EACH / 2);
    let expected = row("a", "1").with("left", 0).with("used", taken);
    assert_eq!(items.get(key("a", "1")).await, Some(expected));
}

async fn two_additions_of_one_item_do_not_disturb_each_other(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("a", 0).with("b", 0).with("c", 0)).await;
    let first = prepared(t, "items", &["a", "b"], Vec::new()).await;
    let second = prepared(t, "items", &["c", "b"], Vec::new()).await;
    for _ in 0..4 {
        ask(t, &first, &[1, 100_000], &[]).await.unwrap();
        ask(t, &first, &[1, 1], &[]).await.unwrap();
        ask(t, &second, &[1, -1], &[]).await.unwrap();
        ask(t, &second, &[1, -1], &[]).await.unwrap();
    }
    let expected = row("a", "1").with("a", 8).with("b", 4 * 99_999).with("c", 8);
    assert_eq!(items.get(key("a", "1")).await, Some(expected));
}
