//! Transactions: all or nothing, and what each write had to say.

use weir_table::expr::{Term, add, attr, set};
use weir_table::{Get, Item, Transacted, Transaction, Verdict, Write};

use crate::fixture::{Fixture, eventually, key, n, row, texts_of};

contract! {
    a_transaction_applies_every_write,
    a_transaction_spans_tables,
    a_refused_transaction_writes_nothing,
    verdicts_stand_in_the_order_of_the_writes,
    every_failed_condition_is_returned_with_its_item,
    a_condition_that_fails_on_a_missing_item_is_returned_without_one,
    a_check_guards_without_changing,
    a_check_of_a_missing_item_makes_none,
    a_transaction_mixes_puts_updates_deletes_and_checks,
    updates_of_a_transaction_compute_from_the_item,
    a_transaction_of_one_write_is_allowed,
    a_transaction_of_100_writes_is_allowed,
    a_transaction_may_be_done_twice_without_a_token,
    a_transaction_moves_items_between_partitions,
    a_transaction_is_seen_by_indexes,
    a_wrong_kind_in_one_update_undoes_the_transaction,
    transact_get_keeps_the_order_of_requests,
    transact_get_spans_tables,
    transact_get_returns_only_projected_attributes,
    transact_get_reads_100_items,
}

async fn a_transaction_applies_every_write(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "gone")).await;
    t.transact([
        Write::put("items", row("a", "put").with("v", 1)),
        Write::update("items", key("a", "updated"), add("v", 2)),
        Write::delete("items", key("a", "gone")),
    ])
    .await;
    let left = items.all(&items.partition("a")).await;
    assert_eq!(left, [row("a", "put").with("v", 1), row("a", "updated").with("v", 2)]);
}

async fn a_transaction_spans_tables(t: &Fixture) {
    let (items, others) = (t.items().await, t.others().await);
    // One key in two tables is two items.
    t.transact([Write::put("items", row("a", "1")), Write::put("others", row("a", "1"))]).await;
    assert_eq!(items.get(key("a", "1")).await, Some(row("a", "1")));
    assert_eq!(others.get(key("a", "1")).await, Some(row("a", "1")));
}

async fn a_refused_transaction_writes_nothing(t: &Fixture) {
    let (items, others) = (t.items().await, t.others().await);
    items.put(row("a", "kept").with("v", 1)).await;
    let transaction = Transaction::new([
        Write::put("others", row("a", "new")),
        Write::delete("items", key("a", "kept")),
        Write::update("items", key("a", "none"), add("v", 1)).when(attr("pk").exists()),
    ]);
    assert!(!t.store.transact(transaction).await.unwrap().is_applied());
    assert_eq!(items.all(&items.scan()).await, [row("a", "kept").with("v", 1)]);
    assert_eq!(others.all(&others.scan()).await, []);
}

async fn verdicts_stand_in_the_order_of_the_writes(t: &Fixture) {
    let items = t.items().await;
    let old = row("a", "2").with("v", 7);
    items.put(old.clone()).await;
    let transaction = Transaction::new([
        Write::put("items", row("a", "1")),
        Write::put("items", row("a", "2")).when(attr("pk").absent()),
        Write::update("items", key("a", "3"), add("v", 1)).when(attr("v").absent()),
    ]);
    let refused = t.store.transact(transaction).await.unwrap();
    let expected = vec![Verdict::Held, Verdict::Failed(Some(old)), Verdict::Held];
    assert_eq!(refused, Transacted::Refused(expected));
}

async fn every_failed_condition_is_returned_with_its_item(t: &Fixture) {
    let items = t.items().await;
    let olds = ["1", "2", "3"].map(|sk| row("a", sk).with("v", 1).with("of", sk));
    items.fill(olds.clone()).await;
    let wanted = || attr("v").gt(1);
    let transaction = Transaction::new([
        Write::put("items", row("a", "1")).when(wanted()),
        Write::update("items", key("a", "2"), add("v", 1)).when(wanted()),
        Write::delete("items", key("a", "3")).when(wanted()),
    ]);
    let refused = t.store.transact(transaction).await.unwrap();
    let failed = olds.map(|old| Verdict::Failed(Some(old)));
    assert_eq!(refused, Transacted::Refused(failed.to_vec()));
}

async fn a_condition_that_fails_on_a_missing_item_is_returned_without_one(t: &Fixture) {
    let _items = t.items().await;
    let transaction = Transaction::new([
        Write::delete("items", key("a", "1")).when(attr("pk").exists()),
        Write::put("items", row("a", "2")),
    ]);
    let refused = t.store.transact(transaction).await.unwrap();
    assert_eq!(refused, Transacted::Refused(vec![Verdict::Failed(None), Verdict::Held]));
}

async fn a_check_guards_without_changing(t: &Fixture) {
    let items = t.items().await;
    let account = row("a", "account").with("open", true);
    items.put(account.clone()).await;
    let order = |sk| {
        [
            Write::check("items", key("a", "account"), attr("open").eq(true)),
            Write::put("items", row("a", sk)),
        ]
    };
    t.transact(order("order-1")).await;
    assert_eq!(items.get(key("a", "account")).await, Some(account));
    items.update(key("a", "account"), set("open", false)).await;
    let refused = t.store.transact(Transaction::new(order("order-2"))).await.unwrap();
    let closed = row("a", "account").with("open", false);
    let expected = vec![Verdict::Failed(Some(closed)), Verdict::Held];
    assert_eq!(refused, Transacted::Refused(expected));
    assert_eq!(items.get(key("a", "order-2")).await, None);
}

async fn a_check_of_a_missing_item_makes_none(t: &Fixture) {
    let items = t.items().await;
    t.transact([
        Write::check("items", key("a", "none"), attr("pk").absent()),
        Write::put("items", row("a", "1")),
    ])
    .await;
    assert_eq!(items.all(&items.scan()).await, [row("a", "1")]);
}

async fn a_transaction_mixes_puts_updates_deletes_and_checks(t: &Fixture) {
    let (items, others) = (t.items().await, t.others().await);
    items.fill([row("a", "1").with("v", 1), row("a", "2"), row("a", "3").with("v", 3)]).await;
    t.transact([
        Write::check("items", key("a", "3"), attr("v").eq(3)),
        Write::put("others", row("b", "1")).when(attr("pk").absent()),
        Write::update("items", key("a", "1"), add("v", 10)).when(attr("v").lt(5)),
        Write::delete("items", key("a", "2")).when(attr("pk").exists()),
    ])
    .await;
    let left = items.all(&items.partition("a")).await;
    assert_eq!(left, [row("a", "1").with("v", 11), row("a", "3").with("v", 3)]);
    assert_eq!(others.get(key("b", "1")).await, Some(row("b", "1")));
}

async fn updates_of_a_transaction_compute_from_the_item(t: &Fixture) {
    let items = t.items().await;
    items.fill([row("a", "1").with("v", n("0.1")), row("a", "2").with("v", 1)]).await;
    t.transact([
        Write::update("items", key("a", "1"), set("v", Term::path("v").plus(n("0.2")))),
        Write::update("items", key("a", "2"), set("w", Term::path("v")).remove("v")),
    ])
    .await;
    let left = items.all(&items.partition("a")).await;
    assert_eq!(left, [row("a", "1").with("v", n("0.3")), row("a", "2").with("w", 1)]);
}

async fn a_transaction_of_one_write_is_allowed(t: &Fixture) {
    let items = t.items().await;
    t.transact([Write::put("items", row("a", "1"))]).await;
    assert_eq!(items.get(key("a", "1")).await, Some(row("a", "1")));
}

async fn a_transaction_of_100_writes_is_allowed(t: &Fixture) {
    let items = t.items().await;
    let rows: Vec<Item> = (0..100).map(|i| row("a", &format!("{i:03}"))).collect();
    t.transact(rows.iter().map(|row| Write::put("items", row.clone()))).await;
    assert_eq!(items.all(&items.partition("a")).await, rows);
}

async fn a_transaction_may_be_done_twice_without_a_token(t: &Fixture) {
    let items = t.items().await;
    for _ in 0..2 {
        t.transact([Write::update("items", key("a", "1"), add("v", 1))]).await;
    }
    assert_eq!(items.get(key("a", "1")).await.unwrap().i64("v"), Some(2));
}

async fn a_transaction_moves_items_between_partitions(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1")).await;
    t.transact([
        Write::delete("items", key("a", "1")).when(attr("pk").exists()),
        Write::put("items", row("b", "1")).when(attr("pk").absent()),
    ])
    .await;
    assert_eq!(items.all(&items.scan()).await, [row("b", "1")]);
}

async fn a_transaction_is_seen_by_indexes(t: &Fixture) {
    let orders = t.orders().await;
    orders.put(row("a", "old").with("owner", "ada").with("at", 1)).await;
    t.transact([
        Write::delete("orders", key("a", "old")),
        Write::put("orders", row("a", "new").with("owner", "ada").with("at", 2)),
        Write::update("orders", key("b", "made"), set("owner", "ada").set("at", 3)),
    ])
    .await;
    let query = orders.partition("ada").index("by-owner");
    eventually(vec!["new".to_owned(), "made".to_owned()], async || {
        texts_of(&orders.all(&query).await, "sk")
    })
    .await;
}

async fn a_wrong_kind_in_one_update_undoes_the_transaction(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "2").with("v", "text")).await;
    let field = t
        .transact_fault([
            Write::put("items", row("a", "1")),
            Write::update("items", key("a", "2"), add("v", 1)),
        ])
        .await;
    assert_eq!(field, "v");
    assert_eq!(items.all(&items.scan()).await, [row("a", "2").with("v", "text")]);
}

async fn transact_get_keeps_the_order_of_requests(t: &Fixture) {
    let items = t.items().await;
    items.fill([row("a", "1"), row("b", "2")]).await;
    let gets =
        [("b", "2"), ("a", "none"), ("a", "1")].map(|(pk, sk)| Get::new("items", key(pk, sk)));
    let got = t.store.transact_get(&gets).await.unwrap();
    assert_eq!(got, [Some(row("b", "2")), None, Some(row("a", "1"))]);
}

async fn transact_get_spans_tables(t: &Fixture) {
    let (items, others) = (t.items().await, t.others().await);
    items.put(row("a", "1").with("v", 1)).await;
    others.put(row("a", "1").with("v", 3)).await;
    let gets = ["others", "items"].map(|table| Get::new(table, key("a", "1")));
    let got = t.store.transact_get(&gets).await.unwrap();
    let values: Vec<_> = got.iter().flatten().map(|item| item.i64("v")).collect();
    assert_eq!(values, [Some(3), Some(1)]);
}

async fn transact_get_returns_only_projected_attributes(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("v", 1).with("w", 2)).await;
    let get = Get::new("items", key("a", "1"));
    let other = Get::new("items", key("a", "2"));
    let gets = [get.project(["w"]), other.project(["w"])];
    let got = t.store.transact_get(&gets).await.unwrap();
    assert_eq!(got, [Some(Item::new().with("w", 2)), None]);
}

async fn transact_get_reads_100_items(t: &Fixture) {
    let items = t.items().await;
    let rows: Vec<Item> = (0..100).map(|i| row("a", &format!("{i:03}"))).collect();
    items.fill(rows.clone()).await;
    let gets: Vec<Get> =
        rows.iter().map(|row| Get::new("items", key("a", row.s("sk").unwrap()))).collect();
    let got = t.store.transact_get(&gets).await.unwrap();
    assert_eq!(got, rows.into_iter().map(Some).collect::<Vec<_>>());
}
