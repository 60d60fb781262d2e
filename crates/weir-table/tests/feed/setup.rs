//! Stores with a fed table and a positions table, and how tests read windows.

use std::collections::BTreeSet;

use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;
use weir_table::dynamodb::Dynamo;
use weir_table::embedded::{self, Embedded};
use weir_table::feed::{
    Change, Consumer, FeedWindow, Image, POSITIONS_TABLE, Position, positions_spec,
};
use weir_table::{Backend, Item, Kind, Store, TableSpec, Write};

pub(crate) const TABLE: &str = "orders";
pub(crate) const OTHER: &str = "totals";

/// A store, and what must live as long as it.
pub(crate) struct TestStore<B> {
    pub(crate) store: Store<B>,
    _folder: Option<tempfile::TempDir>,
}

pub(crate) async fn prepared<B: Backend>(
    backend: B,
    folder: Option<tempfile::TempDir>,
) -> TestStore<B> {
    let store = Store::new(backend, CursorKey::new([1; 32]));
    let orders = TableSpec::new(TABLE, "id", Kind::S).feed();
    let totals = TableSpec::new(OTHER, "id", Kind::S);
    store.create_table(&orders).await.unwrap();
    store.create_table(&totals).await.unwrap();
    let positions = positions_spec(POSITIONS_TABLE);
    store.create_table(&positions).await.unwrap();
    TestStore { store, _folder: folder }
}

pub(crate) async fn on_embedded() -> TestStore<Embedded> {
    let folder = tempfile::tempdir().unwrap();
    let options = embedded::Options::new(folder.path());
    let backend = Embedded::open(options).unwrap();
    prepared(backend, Some(folder)).await
}

pub(crate) async fn dynamo() -> Dynamo {
    weir_testkit::stage::dynamodb(&weir_testkit::unique_prefix("feed")).await
}

pub(crate) async fn on_dynamodb() -> TestStore<Dynamo> {
    prepared(dynamo().await, None).await
}

pub(crate) fn consumer<B: Backend>(
    store: &Store<B>,
    owner: &str,
    start: Position,
    clock: &Clock,
) -> Consumer<B> {
    Consumer::new(store.clone(), TABLE, "totals", owner, POSITIONS_TABLE, start, clock.clone())
        .unwrap()
}

/// Puts orders numbered `from..to`.
pub(crate) async fn order<B: Backend>(store: &Store<B>, numbers: std::ops::Range<i64>) {
    for number in numbers {
        let item = Item::new().with("id", format!("order-{number}")).with("number", number);
        store.write(Write::put(TABLE, item)).await.unwrap();
    }
}

/// Opens the next window and reads at least `max` changes of it, if it has as many; all of a resumed window.
pub(crate) async fn read<B: Backend>(
    consumer: &mut Consumer<B>,
    max: usize,
) -> Option<(FeedWindow, Vec<Change>)> {
    let mut window = consumer.next_window(7, &BTreeSet::new()).await.unwrap()?;
    let mut all = Vec::new();
    while window.is_resumed() || all.len() < max {
        let changes = consumer.read(&mut window, 7).await.unwrap();
        if changes.is_empty() {
            break;
        }
        all.extend(changes);
    }
    Some((window, all))
}

/// Reads and commits until nothing comes a few times in a row.
pub(crate) async fn drain_changes<B: Backend>(consumer: &mut Consumer<B>) -> Vec<Change> {
    let mut seen = Vec::new();
    let mut quiet = 0;
    while quiet < 4 {
        match read(consumer, 7).await {
            Some((window, changes)) => {
                quiet = 0;
                seen.extend(changes);
                assert!(consumer.commit(window, Vec::new()).await.unwrap());
            }
            None => quiet += 1,
        }
    }
    seen
}

/// Reads and commits everything; returns the numbers.
pub(crate) async fn drain<B: Backend>(consumer: &mut Consumer<B>) -> Vec<i64> {
    numbers(&drain_changes(consumer).await)
}

pub(crate) fn numbers(changes: &[Change]) -> Vec<i64> {
    let image = |change: &Change| change.new.clone().or(change.old.clone());
    let number = |image: Image| image.item().unwrap().i64("number");
    changes.iter().filter_map(image).filter_map(number).collect()
}
