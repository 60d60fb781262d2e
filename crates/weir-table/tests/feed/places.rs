//! Stores with a fed table and a positions table.

use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;
use weir_table::dynamodb::{Dynamo, Options};
use weir_table::embedded::{self, Embedded};
use weir_table::feed::{Consumer, POSITIONS_TABLE, Position, positions_spec};
use weir_table::{Backend, Item, Kind, Store, TableSpec, Write};

pub(crate) const TABLE: &str = "orders";
pub(crate) const OTHER: &str = "totals";

/// A store, and what must live as long as it.
pub(crate) struct Place<B> {
    pub(crate) store: Store<B>,
    _folder: Option<tempfile::TempDir>,
}

pub(crate) async fn prepared<B: Backend>(
    backend: B,
    folder: Option<tempfile::TempDir>,
) -> Place<B> {
    let store = Store::new(backend, CursorKey::new([1; 32]));
    let orders = TableSpec::new(TABLE, "id", Kind::S).feed();
    let totals = TableSpec::new(OTHER, "id", Kind::S);
    store.create_table(&orders).await.unwrap();
    store.create_table(&totals).await.unwrap();
    let positions = positions_spec(POSITIONS_TABLE);
    store.create_table(&positions).await.unwrap();
    Place { store, _folder: folder }
}

pub(crate) async fn on_embedded() -> Place<Embedded> {
    let folder = tempfile::tempdir().unwrap();
    let options = embedded::Options::new(folder.path());
    let backend = Embedded::open(options).unwrap();
    prepared(backend, Some(folder)).await
}

pub(crate) async fn dynamo() -> Dynamo {
    let endpoint = weir_testkit::dynamo_local_endpoint().unwrap();
    let options = Options {
        endpoint: Some(endpoint.to_owned()),
        table_prefix: weir_testkit::unique_prefix("feed"),
        ..Options::default()
    };
    Dynamo::connect(options).await.unwrap()
}

pub(crate) async fn on_dynamodb() -> Place<Dynamo> {
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

/// Polls until nothing comes a few times in a row; commits everything, returns the numbers.
pub(crate) async fn drain<B: Backend>(consumer: &mut Consumer<B>) -> Vec<i64> {
    let mut seen = Vec::new();
    let mut quiet = 0;
    while quiet < 4 {
        match consumer.poll(7).await.unwrap() {
            Some(batch) => {
                quiet = 0;
                seen.extend(numbers(&batch.changes));
                assert!(consumer.commit(batch).await.unwrap());
            }
            None => quiet += 1,
        }
    }
    seen
}

pub(crate) fn numbers(changes: &[weir_table::feed::Change]) -> Vec<i64> {
    let image = |change: &weir_table::feed::Change| change.new.clone().or(change.old.clone());
    let number = |image: weir_table::feed::Image| image.item().unwrap().i64("number");
    changes.iter().filter_map(image).filter_map(number).collect()
}
