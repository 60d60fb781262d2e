//! The calculator against what DynamoDB Local reports.
//!
//! Local differs from AWS, as AWS documents itself, in these cases, which are computed and not
//! compared:
//! - a refused condition: AWS bills the write units of the item that is there, Local reports none;
//! - a transaction that deletes an item that is not there: Local reports one unit, not two.

use weir_table::capacity::{self, WriteUnits};
use weir_table::dynamodb::{Dynamo, Verb};
use weir_table::expr::{Update, attr, remove, set};
use weir_table::{Consistency, Get, Item, Key, Query, Store, TableSpec, Transaction, Value, Write};

use crate::connected::{self, TABLE, thing, things};

/// Read and write milliunits that `verb` has used.
fn used(store: &Store<Dynamo>, verb: Verb) -> (u64, u64) {
    let usage = store.backend().capacity().verbs[&verb];
    (usage.read_milliunits, usage.write_milliunits)
}

/// Write milliunits of indexes that `verb` has used.
fn of_indexes(store: &Store<Dynamo>, verb: Verb) -> u64 {
    store.backend().capacity().verbs[&verb].index_write_milliunits
}

struct Case {
    name: &'static str,
    old: Option<Item>,
    write: Write,
    new: Option<Item>,
}

fn item(group: &str, x: i64, fill: usize) -> Item {
    let item = thing("a", 1).with("x", x).with("fill", "f".repeat(fill));
    if group.is_empty() { item } else { item.with("g", group).with("h", 1) }
}

fn put(name: &'static str, old: Option<Item>, new: Item) -> Case {
    let write = Write::put(TABLE, new.clone());
    let new = Some(new);
    Case { name, old, write, new }
}

fn update(name: &'static str, old: Option<Item>, update: Update, new: Item) -> Case {
    let write = Write::update(TABLE, Key::new("a", 1), update);
    let new = Some(new);
    Case { name, old, write, new }
}

fn delete(name: &'static str, old: Option<Item>) -> Case {
    let write = Write::delete(TABLE, Key::new("a", 1));
    Case { name, old, write, new: None }
}

fn cases() -> Vec<Case> {
    let small = || Some(item("", 1, 10));
    let large = || Some(item("", 1, 5000));
    let indexed = || Some(item("g", 1, 1500));
    vec![
        put("new, small", None, item("", 1, 10)),
        put("new, large", None, item("", 1, 5000)),
        put("same", small(), item("", 1, 10)),
        put("smaller", large(), item("", 1, 10)),
        put("larger", small(), item("", 1, 5000)),
        put("exactly 1 KB", None, thing("a", 1).with("fill", "f".repeat(1024 - 12))),
        put("1 KB and 1", None, thing("a", 1).with("fill", "f".repeat(1024 - 11))),
        put("enters the indexes", small(), item("g", 1, 1500)),
        put("new, in the indexes", None, item("g", 1, 1500)),
        put("leaves the indexes", indexed(), item("", 1, 1500)),
        put("moves in the indexes", indexed(), item("k", 1, 1500)),
        put("stays as it is", indexed(), item("g", 1, 1500)),
        put("another fill", indexed(), item("g", 1, 1400)),
        put("another x", indexed(), item("g", 2, 1500)),
        put("shrinks in the index", Some(item("g", 1, 3500)), item("g", 1, 10)),
        put("grows in the index", Some(item("g", 1, 10)), item("g", 1, 3500)),
        update("makes the item", None, set("x", 1), thing("a", 1).with("x", 1)),
        update("sets x", indexed(), set("x", 2), item("g", 2, 1500)),
        update("sets the same", indexed(), set("x", 1), item("g", 1, 1500)),
        update("removes the index key", indexed(), remove("g"), {
            let mut item = item("g", 1, 1500);
            item.remove("g");
            item
        }),
        update("moves by sort key", indexed(), set("h", 2), item("g", 1, 1500).with("h", 2)),
        delete("of nothing", None),
        delete("of a large one", large()),
        delete("of an indexed one", indexed()),
    ]
}

async fn prepare(store: &Store<Dynamo>, old: Option<&Item>) {
    let key = Key::new("a", 1);
    store.write(Write::delete(TABLE, key)).await.unwrap();
    if let Some(old) = old {
        store.write(Write::put(TABLE, old.clone())).await.unwrap();
    }
}

fn verb(write: &Write) -> Verb {
    use weir_table::request::Action;
    match write.action {
        Action::Put(_) => Verb::Put,
        Action::Update(..) => Verb::Update,
        Action::Delete(_) | Action::Check(_) => Verb::Delete,
    }
}

fn without_indexes() -> TableSpec {
    let mut spec = things();
    spec.indexes.clear();
    spec.attributes.retain(|name, _| name == "pk" || name == "sk");
    spec
}

#[tokio::test]
async fn writes_cost_what_dynamodb_local_reports() {
    for spec in [things(), without_indexes()] {
        let store = connected::store(connected::local()).await;
        store.create_table(&spec).await.unwrap();
        let mut wrong = Vec::new();
        for case in cases() {
            let units = WriteUnits::of(&spec, case.old.as_ref(), case.new.as_ref());
            prepare(&store, case.old.as_ref()).await;
            let verb = verb(&case.write);
            let (_, before) = used(&store, verb);
            let before_indexes = of_indexes(&store, verb);
            store.write(case.write.clone()).await.unwrap();
            let reported = used(&store, verb).1 - before;
            let indexes = of_indexes(&store, verb) - before_indexes;
            if (reported, indexes) != (units.total() * 1000, units.indexes() * 1000) {
                wrong.push(format!("{}: {units:?} but {reported}, {indexes}", case.name));
            }

            prepare(&store, case.old.as_ref()).await;
            let (_, before) = used(&store, Verb::Transact);
            let transaction = Transaction::new([case.write]);
            store.transact(transaction).await.unwrap();
            let reported = used(&store, Verb::Transact).1 - before;
            let units = units.transactional();
            let known = case.name == "of nothing";
            if reported != units.total() * 1000 && !known {
                wrong.push(format!("{} in a transaction: {units:?} but {reported}", case.name));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[tokio::test]
async fn reads_cost_what_dynamodb_local_reports() {
    let store = connected::with_things().await;
    for (number, fill) in [10, 4000, 4096, 9000, 100_000].into_iter().enumerate() {
        let item = thing("a", number as i64).with("fill", "f".repeat(fill));
        let item = item.with("g", "g").with("h", 1);
        let size = item.size();
        store.write(Write::put(TABLE, item)).await.unwrap();
        let get = Get::new(TABLE, Key::new("a", number as i64));
        for (get, consistency) in
            [(get.clone(), Consistency::Strong), (get.clone().eventual(), Consistency::Eventual)]
        {
            let (before, _) = used(&store, Verb::Get);
            store.get(&get).await.unwrap();
            let reported = used(&store, Verb::Get).0 - before;
            assert_eq!(reported, capacity::read_milliunits(size, consistency));
            let (before, _) = used(&store, Verb::BatchGet);
            store.batch_get(&[get]).await.unwrap();
            let reported = used(&store, Verb::BatchGet).0 - before;
            assert_eq!(reported, capacity::read_milliunits(size, consistency));
        }
        let (before, _) = used(&store, Verb::TransactGet);
        store.transact_get(&[get]).await.unwrap();
        let reported = used(&store, Verb::TransactGet).0 - before;
        assert_eq!(reported, capacity::transact_read_milliunits(size));
    }
    let absent = Get::new(TABLE, Key::new("nobody", 1));
    let (before, _) = used(&store, Verb::Get);
    store.get(&absent).await.unwrap();
    let reported = used(&store, Verb::Get).0 - before;
    assert_eq!(reported, capacity::read_milliunits(0, Consistency::Strong));
}

#[tokio::test]
async fn pages_cost_the_sum_of_what_was_read() {
    let store = connected::with_things().await;
    let mut bytes = 0;
    for number in 0..10i64 {
        let item = thing("a", number).with("fill", "f".repeat(1500));
        bytes += item.size();
        store.write(Write::put(TABLE, item)).await.unwrap();
    }
    let strong = Query::partition(TABLE, "a");
    let filtered = strong.clone().filter(attr("fill").eq("nothing"));
    let counted = strong.clone().count_only();
    let eventual = strong.clone().eventual();
    let scan = Query::scan(TABLE);
    for (query, verb, consistency) in [
        (strong, Verb::Query, Consistency::Strong),
        (filtered, Verb::Query, Consistency::Strong),
        (counted, Verb::Query, Consistency::Strong),
        (eventual, Verb::Query, Consistency::Eventual),
        (scan, Verb::Scan, Consistency::Strong),
    ] {
        let (before, _) = used(&store, verb);
        store.query(&query).await.unwrap();
        let reported = used(&store, verb).0 - before;
        let computed = capacity::read_milliunits(bytes, consistency);
        assert_eq!(reported, computed, "{query:?}");
    }
}

#[tokio::test]
async fn a_refused_write_is_metered_by_the_stored_item() {
    let store = connected::with_things().await;
    store.write(Write::put(TABLE, item("", 1, 2500))).await.unwrap();
    let (_, before) = used(&store, Verb::Update);
    let write = Write::update(TABLE, Key::new("a", 1), set("x", 2));
    let refused = store.write(write.when(attr("x").eq(9))).await.unwrap();
    assert!(!refused.is_applied());
    assert_eq!(used(&store, Verb::Update).1 - before, 3000);
    assert_eq!(store.backend().capacity().verbs[&Verb::Update].refused, 1);
}

#[tokio::test]
async fn dynamodb_local_reports_the_sizes_we_compute() {
    // An item is as large as we think when adding a byte crosses into the next unit.
    let store = connected::with_things().await;
    let numbers = [
        "0",
        "7",
        "-7",
        "10",
        "100",
        "150",
        "1500",
        "12345",
        "-123456",
        "1.5",
        "-1.5",
        "12.5",
        "1.25",
        "0.15",
        "0.5",
        "0.05",
        "0.001",
        "123.456",
        "1e100",
        "1e101",
        "-3e-7",
        "12345678901234567890123456789012345678",
        "-1234567890123456789012345678901234567.8",
    ];
    let numbers = numbers.map(|text| Value::N(text.parse().unwrap()));
    let others = [
        Value::from("text"),
        Value::from("ünïcode"),
        Value::from(vec![1u8, 2, 3]),
        Value::from(true),
        Value::Null,
        Value::list([1, 2, 3]),
        Value::map([("a", Value::from(1)), ("b", Value::list(["x"]))]),
        Value::strings(["a", "bcd"]),
        Value::numbers([1, 22, 333]),
        Value::Bs([vec![1u8], vec![2, 3]].into()),
        Value::L(vec![]),
        Value::M(weir_table::item::Attrs::new()),
    ];
    let mut wrong = Vec::new();
    for value in numbers.into_iter().chain(others) {
        let bare = thing("a", 1).with("v", value.clone()).with("fill", "");
        let fits = 1024 - bare.size();
        for (fill, units) in [(fits, 1000), (fits + 1, 2000)] {
            let item = bare.clone().with("fill", "f".repeat(fill));
            prepare(&store, None).await;
            let (_, before) = used(&store, Verb::Put);
            store.write(Write::put(TABLE, item)).await.unwrap();
            let reported = used(&store, Verb::Put).1 - before;
            if reported != units {
                wrong.push(format!("{value:?} at {fill}: {reported}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
