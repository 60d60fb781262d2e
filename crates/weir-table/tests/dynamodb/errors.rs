//! Errors that need the stored item to be known name the attribute, as the embedded store does.

use weir_table::expr::{Path, Term, Update, add, delete_from, remove, set};
use weir_table::{Error, Get, Key, Transaction, Value, Write};

use crate::connected::{self, TABLE, thing};

fn wrong_updates() -> Vec<(Update, &'static str)> {
    vec![
        (add("s", 1), "s"),
        (add("n", Value::strings(["a"])), "n"),
        (delete_from("n", Value::strings(["a"])), "n"),
        (set("m", Term::path("absent").plus(1)), "absent"),
        (set(Path::new("absent").field("x"), 1), "absent.x"),
        (remove(Path::new("s").field("x")), "s.x"),
        (set("m", Term::path("s").plus(1)), "m"),
        (set("g", 5), "g"),
        (set("fill", "f".repeat(400 * 1024)), "item"),
    ]
}

#[tokio::test]
async fn an_update_that_cannot_be_done_names_the_attribute() {
    let store = connected::with_things().await;
    let item = thing("a", 1).with("s", "text").with("n", 1);
    store.write(Write::put(TABLE, item.clone())).await.unwrap();
    let key = Key::new("a", 1);
    for (update, field) in wrong_updates() {
        let write = Write::update(TABLE, key.clone(), update);
        let alone = store.write(write.clone()).await.unwrap_err();
        assert_eq!(alone.field(), Some(field), "{alone}");
        let others = Write::put(TABLE, thing("b", 1));
        let transaction = Transaction::new([others, write]);
        let together = store.transact(transaction).await.unwrap_err();
        assert_eq!(together.field(), Some(field), "{together}");
    }
    let found = store.get(&Get::new(TABLE, key)).await.unwrap();
    assert_eq!(found, Some(item));
    let other = store.get(&Get::new(TABLE, Key::new("b", 1))).await.unwrap();
    assert_eq!(other, None);
}

#[tokio::test]
async fn an_unreachable_endpoint_is_unavailable() {
    let mut options = connected::options("http://127.0.0.1:9", String::new());
    options.retry.attempts_max = 2;
    let store = connected::store(options).await;
    let error = store.table_names().await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    assert!(error.is_transient());
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(error.to_string().len() < 200, "{error}");
}
