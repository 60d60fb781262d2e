//! Counts the DynamoDB requests and units of each operation, and compares `docs/cost.md` with them.
//!
//! Units are those that DynamoDB Local reports; those of transactions come from our calculator, because Local reports
//! equal writes only once. `WEIR_TEST_BLESS=1` rewrites the page.

mod jobs;
mod month;
mod problems;
mod runs;
mod usage;
mod users;

use weir_practice::list::PageRequest;
use weir_table::dynamodb::Dynamo;
use weir_table::{AnyBackend, Item, Query};
use weir_testkit::ledger::Ledger;
use weir_testkit::page::Page;
use weir_testkit::prices;

use self::month::Stored;
use crate::scene::Scene;

/// Entries of a page, as in the source.
const PAGE: usize = 20;
static FIRST_PAGE: PageRequest = PageRequest { limit: PAGE as u32, cursor: None };

#[test]
fn the_page_shows_what_operations_cost() {
    crate::scene::dynamodb_local(async |scene| {
        let beside = AnyBackend::Dynamo(weir_testkit::stage::dynamodb(&scene.prefix).await);
        let spec = weir_practice::table::spec(scene.practice.table());
        scene.watch.weigh(vec![spec], beside);
        let mut page = Page::open();
        let mut ledger = Ledger::new(&scene.watch, dynamo(scene));
        let mut stored = Stored::default();
        users::measure(scene, &mut ledger, &mut stored).await;
        usage::measure(scene, &mut ledger, &mut stored).await;
        problems::measure(scene, &mut ledger, &mut stored).await;
        runs::measure(scene, &mut ledger, &mut stored).await;
        jobs::measure(scene, &mut ledger, &mut stored).await;
        page.shows("practice", &ledger.table());
        page.shows("practice-months", &month::table(&ledger, &stored));
        page.shows("practice-rollups", &month::rollups(&ledger));
        page.close();
    });
}

fn dynamo(scene: &Scene) -> &Dynamo {
    match &scene.store.backend().inner {
        AnyBackend::Dynamo(dynamo) => dynamo,
        _ => panic!("not on DynamoDB"),
    }
}

/// Bytes of everything in the table and its indexes.
async fn table_bytes(scene: &Scene) -> u64 {
    let items = scene.all(Query::scan(scene.practice.table().clone())).await;
    items.iter().map(item_bytes).sum()
}

/// Bytes of an item with its entries in indexes: GSI1 has all attributes, GSI2 only the keys.
fn item_bytes(item: &Item) -> u64 {
    let whole = item.s("GSI1PK").map(|_| item.size() as u64);
    let keys = item.s("GSI2PK").map(|_| {
        let is_key = |name: &str| ["PK", "SK", "GSI2PK", "GSI2SK"].contains(&name);
        let held = item.attrs().iter().filter(|(name, _)| is_key(name.as_str()));
        let entry: Item = held.map(|(name, value)| (name.clone(), value.clone())).collect();
        entry.size() as u64
    });
    prices::stored_bytes(item, whole.into_iter().chain(keys))
}
