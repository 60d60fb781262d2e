//! Verbs where DynamoDB's own shape shows: batches, projections, empty updates.

use weir_table::expr::{Path, Update, add, attr, set};
use weir_table::{
    Consistency, Get, IndexSpec, Item, Key, Kind, Query, TableSpec, Transacted, Transaction,
    Verdict, Write, Written,
};

use crate::connected::{self, TABLE, thing};

#[tokio::test]
async fn a_batch_get_keeps_its_order_over_tables_projections_and_consistencies() {
    let store = connected::with_things().await;
    let other = TableSpec::new("others", "id", Kind::N);
    store.create_table(&other).await.unwrap();
    for number in 0..5i64 {
        let item = thing("p", number).with("x", number).with("y", 2 * number);
        store.write(Write::put(TABLE, item)).await.unwrap();
        let item = Item::new().with("id", number).with("x", number);
        store.write(Write::put("others", item)).await.unwrap();
    }
    let gets = vec![
        Get::new(TABLE, Key::new("p", 3)),
        Get::new("others", Key::partition(1)),
        Get::new(TABLE, Key::new("p", 1)).project(["x"]),
        Get::new(TABLE, Key::new("absent", 1)),
        Get::new(TABLE, Key::new("p", 0)).eventual(),
        Get::new(TABLE, Key::new("p", 2)).project(["sk", "y"]),
        Get::new(TABLE, Key::new("p", 4)).project(["nothing"]),
        Get::new("others", Key::partition(4)).eventual(),
    ];
    let found = store.batch_get(&gets).await.unwrap();
    assert_eq!(
        found,
        [
            Some(thing("p", 3).with("x", 3).with("y", 6)),
            Some(Item::new().with("id", 1).with("x", 1)),
            Some(Item::new().with("x", 1)),
            None,
            Some(thing("p", 0).with("x", 0).with("y", 0)),
            Some(Item::new().with("sk", 2).with("y", 4)),
            Some(Item::new()),
            Some(Item::new().with("id", 4).with("x", 4)),
        ]
    );
    let alone = store.get(&gets[6]).await.unwrap();
    assert_eq!(alone, Some(Item::new()));
    let together = store.transact_get(&gets[..4]).await.unwrap();
    assert_eq!(together, found[..4]);
}

#[tokio::test]
async fn a_batch_get_larger_than_one_response_is_read_completely() {
    let store = connected::with_things().await;
    let fill = "f".repeat(380 * 1024);
    for number in 0..50i64 {
        let item = thing("p", number).with("fill", fill.as_str());
        store.write(Write::put(TABLE, item)).await.unwrap();
    }
    let gets: Vec<_> = (0..50).map(|number| Get::new(TABLE, Key::new("p", number))).collect();
    let found = store.batch_get(&gets).await.unwrap();
    for (number, item) in found.iter().enumerate() {
        assert_eq!(item.as_ref().unwrap().i64("sk"), Some(number as i64));
    }
}

#[tokio::test]
async fn an_update_that_changes_nothing_makes_the_item() {
    let store = connected::with_things().await;
    let made =
        store.write(Write::update(TABLE, Key::new("a", 1), Update::default())).await.unwrap();
    assert_eq!(made, Written::Applied(Some(thing("a", 1))));
    let write = Write::update(TABLE, Key::new("b", 1), Update::default());
    let transacted = store.transact(Transaction::new([write])).await.unwrap();
    assert_eq!(transacted, Transacted::Applied);
    let found = store.get(&Get::new(TABLE, Key::new("b", 1))).await.unwrap();
    assert_eq!(found, Some(thing("b", 1)));
}

#[tokio::test]
async fn writes_return_the_old_item_updates_the_new_one_refusals_the_current_one() {
    let store = connected::with_things().await;
    let (one, two) = (thing("a", 1).with("x", 1), thing("a", 1).with("x", 2));
    let put = |item: &Item| Write::put(TABLE, item.clone());
    assert_eq!(store.write(put(&one)).await.unwrap(), Written::Applied(None));
    assert_eq!(store.write(put(&two)).await.unwrap(), Written::Applied(Some(one.clone())));
    let refused = store.write(put(&one).when(attr("pk").absent())).await;
    assert_eq!(refused.unwrap(), Written::Refused(Some(two.clone())));
    let key = Key::new("a", 1);
    let update = Write::update(TABLE, key.clone(), add("x", 5));
    let updated = store.write(update.clone().when(attr("x").eq(2))).await;
    let seven = thing("a", 1).with("x", 7);
    assert_eq!(updated.unwrap(), Written::Applied(Some(seven.clone())));
    let refused = store.write(update.when(attr("x").eq(2))).await.unwrap();
    assert_eq!(refused, Written::Refused(Some(seven.clone())));
    let delete = Write::delete(TABLE, key);
    let refused = store.write(delete.clone().when(attr("x").lt(0))).await;
    assert_eq!(refused.unwrap(), Written::Refused(Some(seven.clone())));
    assert_eq!(store.write(delete.clone()).await.unwrap(), Written::Applied(Some(seven)));
    let refused = store.write(delete.when(attr("pk").exists())).await.unwrap();
    assert_eq!(refused, Written::Refused(None));
}

#[tokio::test]
async fn a_refused_transaction_says_which_conditions_failed() {
    let store = connected::with_things().await;
    let one = thing("a", 1).with("x", 1);
    store.write(Write::put(TABLE, one.clone())).await.unwrap();
    let transaction = Transaction::new([
        Write::put(TABLE, thing("b", 1)),
        Write::update(TABLE, Key::new("a", 1), set("x", 9)).when(attr("x").eq(5)),
        Write::check(TABLE, Key::new("c", 1), attr("pk").exists()),
        Write::delete(TABLE, Key::new("d", 1)).when(attr("pk").absent()),
    ]);
    let answer = store.transact(transaction).await.unwrap();
    let verdicts =
        vec![Verdict::Held, Verdict::Failed(Some(one)), Verdict::Failed(None), Verdict::Held];
    assert_eq!(answer, Transacted::Refused(verdicts));
    let untouched = store.get(&Get::new(TABLE, Key::new("b", 1))).await;
    assert_eq!(untouched.unwrap(), None);
}

#[tokio::test]
async fn a_token_does_a_transaction_once() {
    let store = connected::with_things().await;
    let count = |by: i64| {
        let write = Write::update(TABLE, Key::new("a", 1), add("n", by));
        Transaction::new([write]).token("one-token")
    };
    for _ in 0..3 {
        assert!(store.transact(count(1)).await.unwrap().is_applied());
    }
    let found = store.get(&Get::new(TABLE, Key::new("a", 1))).await.unwrap();
    assert_eq!(found.unwrap().i64("n"), Some(1));
    let other = store.transact(count(2)).await.unwrap_err();
    assert!(matches!(other, weir_table::Error::TokenReused));
}

#[tokio::test]
async fn pages_follow_each_other_in_both_directions_and_in_an_index() {
    let store = connected::with_things().await;
    for number in 0..10i64 {
        let item = thing("p", number).with("g", "g").with("h", 100 - number);
        store.write(Write::put(TABLE, item)).await.unwrap();
    }
    let forward = Query::partition(TABLE, "p").limit(3);
    let backward = forward.clone().reverse();
    let indexed = Query::partition(TABLE, "g").index("by-g-keys").limit(4);
    for (query, expected) in [
        (forward, (0..10).collect::<Vec<i64>>()),
        (backward, (0..10).rev().collect()),
        (indexed, (0..10).rev().collect()),
    ] {
        let mut seen = Vec::new();
        let mut cursor = None;
        for _ in 0..10 {
            let mut page = query.clone();
            page.cursor = cursor;
            let page = store.query(&page).await.unwrap();
            seen.extend(page.items.iter().filter_map(|item| item.i64("sk")));
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, expected);
    }
    let count = Query::partition(TABLE, "p").between(2, 5).filter(attr("h").gt(96)).count_only();
    let page = store.query(&count).await.unwrap();
    assert_eq!((page.count, page.scanned, page.items.len()), (2, 4, 0));
}

#[tokio::test]
async fn segments_of_a_scan_make_up_the_table() {
    let store = connected::with_things().await;
    for number in 0..20i64 {
        let item = thing(&format!("p{number}"), number);
        store.write(Write::put(TABLE, item)).await.unwrap();
    }
    let mut seen = Vec::new();
    for segment in 0..4 {
        let scan = Query::scan(TABLE).segment(segment, 4);
        let page = store.query(&scan).await.unwrap();
        seen.extend(page.items.iter().filter_map(|item| item.i64("sk")));
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..20).collect::<Vec<_>>());
}

#[tokio::test]
async fn reserved_words_dots_and_quotes_are_names_like_others() {
    let store = connected::with_things().await;
    let key = Key::new("a", 1);
    let names = ["size", "a.b", "\"q\"", "#x", ":y", "ünïcode", "and or"];
    let mut update = Update::default();
    for name in names {
        update = update.set(Path::new(name), name);
    }
    let write = Write::update(TABLE, key.clone(), update);
    let written = store.write(write).await.unwrap();
    for name in names {
        assert_eq!(written.item().unwrap().s(name), Some(name));
    }
    let condition = attr("size").eq("size").and(attr("a.b").begins_with("a."));
    let write = Write::delete(TABLE, key).when(condition);
    assert!(store.write(write).await.unwrap().is_applied());
}

#[tokio::test]
async fn a_batch_write_may_span_tables() {
    let store = connected::with_things().await;
    let other = TableSpec::new("others", "id", Kind::N)
        .attribute("g", Kind::S)
        .index(IndexSpec::new("by-g", "g"));
    store.create_table(&other).await.unwrap();
    let gone = thing("a", 0);
    store.write(Write::put(TABLE, gone)).await.unwrap();
    let mut writes: Vec<_> = (1..20).map(|number| Write::put(TABLE, thing("a", number))).collect();
    writes.push(Write::delete(TABLE, Key::new("a", 0)));
    writes.push(Write::put("others", Item::new().with("id", 1)));
    store.batch_write(writes).await.unwrap();
    let mut count = Query::partition(TABLE, "a").count_only();
    count.consistency = Consistency::Strong;
    assert_eq!(store.query(&count).await.unwrap().count, 19);
    let others = store.query(&Query::scan("others")).await.unwrap();
    assert_eq!(others.count, 1);
}
