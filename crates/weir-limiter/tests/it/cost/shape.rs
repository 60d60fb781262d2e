//! The table as Weir makes it, beside one of zae-limiter's shape: its `GSI2` holds whole items.

use weir_limiter::acquire::Acquire;
use weir_limiter::bounds::LIMITS_MAX;
use weir_limiter::{Compat, table};
use weir_table::capacity::{WRITE_STEP, WriteUnits};
use weir_table::{Get, Item};

use super::{Tenant, default_of, prepare};
use crate::acquire::{granted, request};
use crate::scene::{Scene, entity, per_minute, resource};
use weir_testkit::ledger::{Ledger, Row, units};

/// What a million write units cost: on-demand in us-east-1, in thousandths of a dollar.
const MILLION_WRITES_MILLIUSD: u64 = 625;
const MONTH_SECONDS: u64 = 30 * 24 * 3600;
const TABLES: [&str; 2] = ["Weir's table", "a table of zae-limiter's shape"];

/// An acquire and a cascade on both tables.
pub(super) struct Shapes {
    own: [Row; 2],
    shared: [Row; 2],
}

pub(super) async fn measure(scene: &Scene) -> Shapes {
    let shared = scene.another_with(|settings| {
        settings.compat = Compat::Zae;
        settings.table = "shared".to_owned();
    });
    let shared = default_of(&shared.await).await;
    prepare(&shared).await;
    let own = on(scene, &scene.ns, false).await;
    let shared = on(scene, &shared, true).await;
    scene.store.delete_table("shared").await.unwrap();
    assert_eq!((shared[0].table_write(), shared[0].index_write()), (1_000, 1_000));
    Shapes { own, shared }
}

/// Measures a warm acquire and a warm cascade, and holds the acquire against the calculator.
async fn on(scene: &Scene, ns: &Tenant, shared: bool) -> [Row; 2] {
    let mut ledger = Ledger::new(&scene.watch, super::dynamo(scene));
    let one = |who| request(who, &[("rpm", 1), ("tpm", 100)], &[]);
    for who in ["user-9", "child-1"] {
        granted(ns.acquire(&one(who)).await.unwrap());
    }
    let name = if shared { "shared" } else { scene.limiter.settings().table.as_str() };
    let spec = table::spec(name, shared);
    let before = stored(scene, ns, name).await;
    granted(ledger.note("acquire", ns.acquire(&one("user-9"))).await.unwrap());
    let after = stored(scene, ns, name).await;
    granted(ledger.note("cascade", ns.acquire(&one("child-1"))).await.unwrap());
    let [acquire, cascade] = ["acquire", "cascade"].map(|name| ledger.row(name).clone());
    let computed = WriteUnits::of(&spec, Some(&before), Some(&after));
    let measured = (acquire.table_write(), acquire.index_write());
    assert_eq!(measured, (computed.table * 1_000, computed.indexes() * 1_000));
    [acquire, cascade]
}

async fn stored(scene: &Scene, ns: &Tenant, table: &str) -> Item {
    let key = weir_limiter::keys::bucket(ns.id(), &entity("user-9"), &resource("gpt-4"), 0);
    scene.store.get(&Get::new(table, key)).await.unwrap().unwrap()
}

impl Shapes {
    /// Units of each.
    pub(super) fn table(&self) -> Vec<String> {
        let mut lines = vec![
            "| | write units, table | write units, indexes | together |".to_owned(),
            "|---|--:|--:|--:|".to_owned(),
        ];
        for (what, place) in [("acquire", 0), ("acquire, child and parent", 1)] {
            for (table, rows) in TABLES.into_iter().zip([&self.own, &self.shared]) {
                let row = &rows[place];
                let parts = [row.table_write(), row.index_write(), both(row)].map(units);
                lines.push(format!("| {what}, {table} | {} |", parts.join(" | ")));
            }
        }
        lines
    }

    /// Dollars of each in a month.
    pub(super) fn months(&self) -> Vec<String> {
        let mut lines = vec![
            format!("| acquires a second | {} | {} |", TABLES[0], TABLES[1]),
            "|--:|--:|--:|".to_owned(),
        ];
        for (what, place) in [("", 0), (", child and parent", 1)] {
            for rate in [10, 100, 1_000] {
                let [own, shared] = [&self.own, &self.shared].map(|rows| usd(&rows[place], rate));
                lines.push(format!("| {}{what} | ${own} | ${shared} |", thousands(rate)));
            }
        }
        lines
    }
}

fn both(row: &Row) -> u64 {
    row.table_write() + row.index_write()
}

/// Dollars and cents of so many a second for a month.
fn usd(row: &Row, rate: u64) -> String {
    let milliunits = both(row) * rate * MONTH_SECONDS;
    // Milliunits at thousandths of a dollar for a million units, in cents.
    let cents = milliunits * MILLION_WRITES_MILLIUSD / 1_000 / 1_000_000 / 10;
    format!("{}.{:02}", thousands(cents / 100), cents % 100)
}

fn thousands(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{} {:03}", number / 1_000, number % 1_000),
    }
}

/// How large a bucket's item is, by its number of limits.
pub(super) async fn sizes(scene: &Scene) -> Vec<String> {
    let mut bytes = Vec::new();
    for count in 1..=LIMITS_MAX {
        bytes.push(size(scene, count).await);
    }
    let mut lines = vec![
        "| limits of the bucket | bytes | write units |".to_owned(),
        "|--:|--:|--:|".to_owned(),
    ];
    for count in [1, 2, 4, 8, 16] {
        let bytes = bytes[count - 1];
        lines.push(format!("| {count} | {bytes} | {} |", bytes.div_ceil(WRITE_STEP)));
    }
    let most = bytes.iter().filter(|bytes| **bytes <= WRITE_STEP).count();
    lines.push(String::new());
    lines.push(format!("Up to {most} limits fit one unit here."));
    lines
}

async fn size(scene: &Scene, count: usize) -> usize {
    let names: Vec<String> = (0..count).map(|n| format!("l{n:02}")).collect();
    let limits: Vec<_> = names.iter().map(|name| per_minute(name, 100_000)).collect();
    let requested: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let who = format!("size-{count:02}");
    let ask = Acquire { resource: resource("sized"), ..request(&who, &requested, &limits) };
    granted(scene.ns.acquire(&ask).await.unwrap());
    let key = weir_limiter::keys::bucket(scene.ns.id(), &ask.entity, &ask.resource, 0);
    let table = scene.limiter.settings().table.as_str();
    scene.store.get(&Get::new(table, key)).await.unwrap().unwrap().size()
}
