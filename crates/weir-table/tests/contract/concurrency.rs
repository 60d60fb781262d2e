//! Many callers at once: nothing is counted twice and nothing is lost.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use weir_table::expr::{add, attr, set};
use weir_table::{
    AnyBackend, Error, Get, Item, Query, Store, Transacted, Transaction, Value, Write, Written,
};

use crate::fixture::{Fixture, eventually, key, row};

contract! {
    concurrent_increments_are_never_lost,
    a_concurrent_conditional_put_has_one_winner,
    concurrent_takes_never_overdraw,
    concurrent_version_checks_apply_each_version_once,
    concurrent_members_are_all_in_the_set,
    concurrent_deletes_find_the_item_once,
    concurrent_transfers_keep_the_sum,
    transact_get_never_sees_half_a_transfer,
    concurrent_transactions_apart_are_all_applied,
    a_token_sent_by_many_at_once_counts_once,
    concurrent_transactions_and_updates_both_count,
    a_query_during_writes_sees_each_item_once,
    an_index_is_in_step_after_concurrent_changes,
}

/// How often a caller tries again when it met another one.
const TRIES_MAX: usize = 1_000;

/// Runs `task` once for each number, all at the same time, and returns what they return.
async fn at_once<F>(
    t: &Fixture,
    count: usize,
    task: impl Fn(Store<AnyBackend>, usize) -> F,
) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for number in 0..count {
        tasks.spawn(task(t.store.clone(), number));
    }
    tasks.join_all().await
}

/// Gives way to the caller that was met.
async fn give_way(error: Error) {
    assert!(error.is_conflict(), "{error:?}");
    sleep(Duration::from_millis(2)).await;
}

/// Does a write, again while it meets another caller.
async fn write(store: &Store<AnyBackend>, write: Write) -> Written {
    for _ in 0..TRIES_MAX {
        match store.write(write.clone()).await {
            Ok(done) => return done,
            Err(error) => give_way(error).await,
        }
    }
    panic!("no way past the other callers");
}

/// Does a transaction, again while it meets another caller.
async fn transact(store: &Store<AnyBackend>, transaction: Transaction) -> Transacted {
    for _ in 0..TRIES_MAX {
        match store.transact(transaction.clone()).await {
            Ok(done) => return done,
            Err(error) => give_way(error).await,
        }
    }
    panic!("no way past the other callers");
}

async fn concurrent_increments_are_never_lost(t: &Fixture) {
    let items = t.items().await;
    at_once(t, 16, |store, _| async move {
        for _ in 0..10 {
            write(&store, Write::update("items", key("a", "1"), add("v", 1))).await;
        }
    })
    .await;
    assert_eq!(items.get(key("a", "1")).await.unwrap().i64("v"), Some(160));
}

async fn a_concurrent_conditional_put_has_one_winner(t: &Fixture) {
    let items = t.items().await;
    let written = at_once(t, 16, |store, number| async move {
        let item = row("a", "1").with("by", number as u64);
        write(&store, Write::put("items", item).when(attr("pk").absent())).await
    })
    .await;
    assert_eq!(written.iter().filter(|written| written.is_applied()).count(), 1);
    let winner = items.get(key("a", "1")).await;
    // The losers all saw the winner's item.
    for written in written.into_iter().filter(|written| !written.is_applied()) {
        assert_eq!(written, Written::Refused(winner.clone()));
    }
}

async fn concurrent_takes_never_overdraw(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("tokens", 10)).await;
    let taken = at_once(t, 25, |store, _| async move {
        let take = Write::update("items", key("a", "1"), add("tokens", -1));
        write(&store, take.when(attr("tokens").ge(1))).await.is_applied()
    })
    .await;
    assert_eq!(taken.into_iter().filter(|taken| *taken).count(), 10);
    assert_eq!(items.get(key("a", "1")).await.unwrap().i64("tokens"), Some(0));
}

async fn concurrent_version_checks_apply_each_version_once(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("version", 0)).await;
    at_once(t, 6, |store, number| async move {
        let mut version = 0;
        loop {
            let change = set("version", version + 1).add(format!("by-{number}").as_str(), 1);
            let update = Write::update("items", key("a", "1"), change);
            let written = write(&store, update.when(attr("version").eq(version))).await;
            version = written.item().unwrap().i64("version").unwrap();
            if written.is_applied() {
                return;
            }
        }
    })
    .await;
    let item = items.get(key("a", "1")).await.unwrap();
    assert_eq!(item.i64("version"), Some(6));
    assert!((0..6).all(|number| item.i64(&format!("by-{number}")) == Some(1)), "{item:?}");
}

async fn concurrent_members_are_all_in_the_set(t: &Fixture) {
    let items = t.items().await;
    let name = |number: usize| format!("member-{number}");
    at_once(t, 16, |store, number| async move {
        let join = add("members", Value::strings([name(number)]));
        write(&store, Write::update("items", key("a", "1"), join)).await;
    })
    .await;
    let item = items.get(key("a", "1")).await.unwrap();
    assert_eq!(item.get("members"), Some(&Value::strings((0..16).map(name))));
}

async fn concurrent_deletes_find_the_item_once(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1")).await;
    let found = at_once(t, 8, |store, _| async move {
        write(&store, Write::delete("items", key("a", "1"))).await.item().is_some()
    })
    .await;
    assert_eq!(found.into_iter().filter(|found| *found).count(), 1);
}

const ACCOUNTS: usize = 4;

fn account(number: usize) -> Item {
    row("bank", &(number % ACCOUNTS).to_string()).with("balance", 100)
}

/// Moves an amount from one account to another, if the first has it.
fn transfer(from: usize, to: usize, amount: i64) -> Transaction {
    let at = |number: usize| key("bank", &(number % ACCOUNTS).to_string());
    Transaction::new([
        Write::update("items", at(from), add("balance", -amount)).when(attr("balance").ge(amount)),
        Write::update("items", at(to), add("balance", amount)),
    ])
}

async fn concurrent_transfers_keep_the_sum(t: &Fixture) {
    let items = t.items().await;
    items.fill((0..ACCOUNTS).map(account)).await;
    at_once(t, 6, |store, number| async move {
        for round in 0..6 {
            let amount = 10 * (round as i64 + 1);
            transact(&store, transfer(number + round, number + round + 1 + round % 3, amount))
                .await;
        }
    })
    .await;
    let balances: Vec<i64> = items
        .all(&items.partition("bank"))
        .await
        .iter()
        .map(|item| item.i64("balance").unwrap())
        .collect();
    assert_eq!(balances.iter().sum::<i64>(), 100 * ACCOUNTS as i64);
    assert!(balances.iter().all(|balance| *balance >= 0), "{balances:?}");
}

async fn transact_get_never_sees_half_a_transfer(t: &Fixture) {
    let items = t.items().await;
    items.fill([account(0), account(1)]).await;
    at_once(t, 4, |store, number| async move {
        let gets = ["0", "1"].map(|sk| Get::new("items", key("bank", sk)));
        for round in 0..20 {
            if number % 2 == 0 {
                let (from, to) = if round % 2 == 0 { (0, 1) } else { (1, 0) };
                transact(&store, transfer(from, to, 5)).await;
                continue;
            }
            match store.transact_get(&gets).await {
                Ok(pair) => {
                    let sum: i64 =
                        pair.iter().flatten().map(|item| item.i64("balance").unwrap()).sum();
                    assert_eq!(sum, 200);
                }
                Err(error) => give_way(error).await,
            }
        }
    })
    .await;
    let left = items.all(&items.partition("bank")).await;
    assert_eq!(left.iter().map(|item| item.i64("balance").unwrap()).sum::<i64>(), 200);
}

async fn concurrent_transactions_apart_are_all_applied(t: &Fixture) {
    let items = t.items().await;
    at_once(t, 8, |store, number| async move {
        let put = |sk: &str| Write::put("items", row(&format!("p{number}"), sk));
        assert!(transact(&store, Transaction::new([put("1"), put("2")])).await.is_applied());
    })
    .await;
    assert_eq!(items.all(&items.scan()).await.len(), 16);
}

async fn a_token_sent_by_many_at_once_counts_once(t: &Fixture) {
    let items = t.items().await;
    let count = Write::update("items", key("a", "1"), add("v", 1));
    let transaction = Transaction::new([count]).token(t.token("same"));
    at_once(t, 8, |store, _| {
        let transaction = transaction.clone();
        async move {
            assert!(transact(&store, transaction).await.is_applied());
        }
    })
    .await;
    assert_eq!(items.get(key("a", "1")).await.unwrap().i64("v"), Some(1));
}

async fn concurrent_transactions_and_updates_both_count(t: &Fixture) {
    let items = t.items().await;
    at_once(t, 8, |store, number| async move {
        for _ in 0..5 {
            let count = Write::update("items", key("a", "1"), add("v", 1));
            if number % 2 == 0 {
                write(&store, count).await;
            } else {
                let other = Write::update("items", key("a", "2"), add("v", 1));
                assert!(transact(&store, Transaction::new([count, other])).await.is_applied());
            }
        }
    })
    .await;
    assert_eq!(items.get(key("a", "1")).await.unwrap().i64("v"), Some(40));
    assert_eq!(items.get(key("a", "2")).await.unwrap().i64("v"), Some(20));
}

async fn a_query_during_writes_sees_each_item_once(t: &Fixture) {
    let items = t.items().await;
    items.fill((0..20).map(|i| row("a", &format!("{i:02}")).with("v", 0))).await;
    at_once(t, 4, |store, number| async move {
        for round in 0..15 {
            if number == 0 {
                let page = store.query(&Query::partition("items", "a")).await.unwrap();
                let sorts: Vec<_> = page.items.iter().map(|item| item.s("sk").unwrap()).collect();
                assert!(sorts.is_sorted_by(|a, b| a < b), "{sorts:?}");
                assert_eq!(sorts.len(), 20);
            } else {
                let sk = format!("{:02}", (round * 3 + number) % 20);
                write(&store, Write::update("items", key("a", &sk), add("v", 1))).await;
            }
        }
    })
    .await;
    let total: i64 =
        items.all(&items.partition("a")).await.iter().map(|item| item.i64("v").unwrap()).sum();
    assert_eq!(total, 45);
}

async fn an_index_is_in_step_after_concurrent_changes(t: &Fixture) {
    let orders = t.orders().await;
    at_once(t, 4, |store, number| async move {
        for round in 0..10 {
            let sk = ((round + number) % 3).to_string();
            let at = (round * 4 + number) as u64;
            let write_one = match round % 4 {
                3 => Write::delete("orders", key("p", &sk)),
                _ => Write::update("orders", key("p", &sk), set("owner", "ada").set("at", at)),
            };
            write(&store, write_one).await;
        }
    })
    .await;
    let mut expected = orders.all(&orders.partition("p")).await;
    expected.sort_by_key(|item| item.i64("at"));
    let query = orders.partition("ada").index("by-owner");
    eventually(expected, async || orders.all(&query).await).await;
}
