//! Idempotency tokens of transactions.

use weir_table::expr::{add, attr};
use weir_table::{Error, Transaction, Write};

use crate::fixture::{Fixture, fault, key, row};

contract! {
    a_token_seen_before_does_nothing_again,
    a_token_with_another_request_is_refused,
    another_token_does_it_again,
    a_refused_transaction_leaves_its_token_free,
    a_repeated_token_hides_later_changes,
    an_empty_or_long_token_is_refused,
}

fn count(by: i32, token: &str) -> Transaction {
    Transaction::new([Write::update("items", key("a", "1"), add("v", by))]).token(token)
}

async fn a_token_seen_before_does_nothing_again(t: &Fixture) {
    let items = t.items().await;
    for _ in 0..3 {
        assert!(t.store.transact(count(5, &t.token("1"))).await.unwrap().is_applied());
    }
    assert_eq!(items.get(key("a", "1")).await.unwrap().i64("v"), Some(5));
}

async fn a_token_with_another_request_is_refused(t: &Fixture) {
    let items = t.items().await;
    t.store.transact(count(5, &t.token("1"))).await.unwrap();
    let error = t.store.transact(count(6, &t.token("1"))).await.unwrap_err();
    assert!(matches!(error, Error::TokenReused), "{error:?}");
    assert_eq!(items.get(key("a", "1")).await.unwrap().i64("v"), Some(5));
}

async fn another_token_does_it_again(t: &Fixture) {
    let items = t.items().await;
    for token in ["1", "2"] {
        t.store.transact(count(5, &t.token(token))).await.unwrap();
    }
    assert_eq!(items.get(key("a", "1")).await.unwrap().i64("v"), Some(10));
}

async fn a_refused_transaction_leaves_its_token_free(t: &Fixture) {
    let items = t.items().await;
    let transaction = || {
        let update = Write::update("items", key("a", "1"), add("v", 1));
        Transaction::new([update.when(attr("pk").exists())]).token(t.token("1"))
    };
    assert!(!t.store.transact(transaction()).await.unwrap().is_applied());
    items.put(row("a", "1").with("v", 1)).await;
    assert!(t.store.transact(transaction()).await.unwrap().is_applied());
    assert_eq!(items.get(key("a", "1")).await.unwrap().i64("v"), Some(2));
}

async fn a_repeated_token_hides_later_changes(t: &Fixture) {
    let items = t.items().await;
    let make = || {
        let put = Write::put("items", row("a", "1")).when(attr("pk").absent());
        Transaction::new([put]).token(t.token("1"))
    };
    assert!(t.store.transact(make()).await.unwrap().is_applied());
    // The condition would not hold now, yet the repeat is answered as the first one was.
    assert!(t.store.transact(make()).await.unwrap().is_applied());
    items.delete(key("a", "1")).await;
    assert!(t.store.transact(make()).await.unwrap().is_applied());
    assert_eq!(items.get(key("a", "1")).await, None);
}

async fn an_empty_or_long_token_is_refused(t: &Fixture) {
    let items = t.items().await;
    assert_eq!(fault(t.store.transact(count(1, "")).await), "token");
    assert_eq!(fault(t.store.transact(count(1, &format!("{:x<37}", t.token("")))).await), "token");
    assert_eq!(items.get(key("a", "1")).await, None);
    assert!(
        t.store.transact(count(1, &format!("{:x<36}", t.token("")))).await.unwrap().is_applied()
    );
}
