//! Acquires in this process, on the embedded store, beside what the store does for one.
//!
//! The base is the one conditional update of a bucket that an acquire comes to, sent straight to the
//! store. What an acquire costs beside it is the limiter's own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use comfy_table::{Cell, CellAlignment, Table};
use tokio::runtime::Runtime;
use weir_limiter::Namespace;
use weir_limiter::acquire::Acquire;
use weir_limiter::bounds::CONFIG_TTL_DEFAULT_MS;
use weir_limiter::bucket::MILLI;
use weir_limiter::config::Level;
use weir_limiter::item::Field;
use weir_limiter::keys;
use weir_limiter::table::TABLE_DEFAULT;
use weir_table::clock::Clock;
use weir_table::embedded::{Embedded, Options};
use weir_table::expr::{add, attr};
use weir_table::{Key, Store, Write};

use super::fixture::{self, DAY_SECS, MINUTE_SECS, PLENTY, limit_name, request, resource};
use crate::load::Answers;
use crate::measure::{processor_time_of, scatter, tasks};
use crate::rounds::{self, Case, Told};

/// Who asks.
const ENTITIES: usize = 1_000;
/// Parents that these share where they have one.
const PARENTS: usize = 10;
const CALLERS: [usize; 3] = [1, 2, 64];
const BASE: &str = "one update of a bucket, without the limiter";

struct Bench {
    runtime: Runtime,
    store: Store<Embedded>,
    namespace: Namespace<Embedded>,
    length: Duration,
}

/// What a case asks for.
struct Asks {
    name: &'static str,
    requests: Arc<Vec<Acquire>>,
}

pub(super) fn run(folder: &Path, length: Duration, rounds: usize) {
    let bench = Bench::open(&folder.join("library"), length);
    let asks = bench.runtime.block_on(bench.prepare());
    let mut rows = Vec::new();
    for callers in CALLERS {
        let update = || bench.updates(callers);
        let base = Case { name: BASE, run: &update };
        let runs: Vec<_> = asks.iter().map(|asks| || bench.acquires(callers, asks)).collect();
        let cases: Vec<Case<'_>> =
            asks.iter().zip(&runs).map(|(asks, run)| Case { name: asks.name, run }).collect();
        println!("in process, callers: {callers}");
        let names = std::iter::once(BASE).chain(asks.iter().map(|asks| asks.name));
        let told = rounds::beside(&base, &cases, rounds);
        rows.extend(names.zip(told).map(|(name, told)| (name, callers, told)));
    }
    print(&rows);
    bench.runtime.block_on(bench.store.backend().close()).expect("the store closes");
}

impl Bench {
    fn open(folder: &Path, length: Duration) -> Bench {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("tokio");
        let embedded = Embedded::open(Options::new(folder)).expect("the store opens");
        let cursors = embedded.cursor_key();
        let store = Store::new(embedded, cursors);
        let opened = fixture::open(store.clone(), Clock::System, CONFIG_TTL_DEFAULT_MS);
        let (_, namespace) = runtime.block_on(opened);
        Bench { runtime, store, namespace, length }
    }

    /// Sets limits and entities up, and asks for everything once.
    async fn prepare(&self) -> Vec<Asks> {
        let plenty = [("rpm", PLENTY), ("tpm", PLENTY)];
        let few = [("rpm", 1), ("tpm", PLENTY)];
        let level = |name| Level::Resource(resource(name));
        fixture::set_limits(&self.namespace, level("gpt-4"), &plenty, MINUTE_SECS).await;
        fixture::set_limits(&self.namespace, level("rare"), &few, DAY_SECS).await;
        for parent in 0..PARENTS {
            fixture::put_entity(&self.namespace, &format!("org-{parent}")).await;
        }
        for child in 0..ENTITIES {
            let (child, parent) = (format!("child-{child}"), format!("org-{}", child % PARENTS));
            fixture::put_child(&self.namespace, &child, &parent).await;
        }
        let asks = [
            Asks::new("acquire of two limits", "user", "gpt-4"),
            Asks::new("the same, parent too (10 parents)", "child", "gpt-4"),
            Asks::new("refused repeat", "user", "rare"),
        ];
        for request in asks.iter().flat_map(|asks| asks.requests.iter()) {
            fixture::acquire(&self.namespace, request).await;
        }
        asks.into()
    }

    /// Acquires from many callers, entities in a scattered order.
    fn acquires(&self, callers: usize, asks: &Asks) -> Answers {
        let refused = Arc::new(AtomicU64::new(0));
        let (namespace, requests) = (self.namespace.clone(), Arc::clone(&asks.requests));
        let count = Arc::clone(&refused);
        let figures = self.measure(callers, move |caller, n| {
            let (namespace, requests) = (namespace.clone(), Arc::clone(&requests));
            let count = Arc::clone(&count);
            async move {
                let number = scatter(caller, n) as usize % requests.len();
                let request = requests.get(number).expect("a request");
                if !fixture::acquire(&namespace, request).await {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Answers { refused: refused.load(Ordering::Relaxed), ..figures }
    }

    /// Takes from buckets without asking the limiter.
    fn updates(&self, callers: usize) -> Answers {
        let (ns, on) = (self.namespace.id(), resource("gpt-4"));
        let bucket = |user| keys::bucket(ns, &fixture::entity(&format!("user-{user}")), &on, 0);
        let places: Arc<Vec<Key>> = Arc::new((0..ENTITIES).map(bucket).collect());
        let store = self.store.clone();
        self.measure(callers, move |caller, n| {
            let (store, places) = (store.clone(), Arc::clone(&places));
            async move {
                let number = scatter(caller, n) as usize % places.len();
                let place = places.get(number).expect("a place").clone();
                let written = store.write(take(place)).await.expect("an update");
                assert!(written.is_applied(), "the bucket holds enough");
            }
        })
    }

    fn measure<F, O>(&self, callers: usize, operation: F) -> Answers
    where
        F: Fn(usize, u64) -> O + Send + Sync + 'static,
        O: Future<Output = ()> + Send,
    {
        let used_before = processor_time_of("self");
        let figures = self.runtime.block_on(tasks(callers, self.length, operation));
        let used = processor_time_of("self") - used_before;
        Answers {
            count: figures.count,
            refused: 0,
            rate: figures.rate(),
            p50_ms: figures.micros(0.5) / 1000.0,
            p99_ms: figures.micros(0.99) / 1000.0,
            server_micros: used.as_secs_f64() * 1e6 / figures.count as f64,
        }
    }
}

impl Asks {
    fn new(name: &'static str, entities: &str, on: &str) -> Asks {
        let requests = (0..ENTITIES).map(|number| request(&format!("{entities}-{number}"), on));
        Asks { name, requests: Arc::new(requests.collect()) }
    }
}

/// What an acquire writes: both balances, and both sums of what was consumed.
fn take(bucket: Key) -> Write {
    let (rpm, tpm) = (limit_name("rpm"), limit_name("tpm"));
    let (one, hundred) = (MILLI, 100 * MILLI);
    let enough = attr(Field::Tokens.of(&rpm)).ge(one).and(attr(Field::Tokens.of(&tpm)).ge(hundred));
    let update = add(Field::Tokens.of(&rpm), -one)
        .add(Field::Tokens.of(&tpm), -hundred)
        .add(Field::Consumed.of(&rpm), one)
        .add(Field::Consumed.of(&tpm), hundred);
    Write::update(TABLE_DEFAULT, bucket, update).when(enough).flushed()
}

fn print(rows: &[(&str, usize, Told)]) {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "in process",
        "callers",
        "ops/s",
        "p50 µs",
        "p99 µs",
        "of the update",
        "range",
        "refused",
        "processor µs",
    ]);
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    for (name, callers, told) in rows {
        let ratio = told.ratio().filter(|_| *name != BASE);
        let answers = told.answers;
        table.add_row([
            Cell::new(name),
            right(callers.to_string()),
            right(format!("{:.0}", answers.rate)),
            right(format!("{:.1}", answers.p50_ms * 1000.0)),
            right(format!("{:.1}", answers.p99_ms * 1000.0)),
            right(ratio.map_or(String::new(), |ratio| format!("{:.0} %", ratio * 100.0))),
            right(told.range()),
            right(format!("{:.1} %", answers.refused as f64 / answers.count as f64 * 100.0)),
            right(format!("{:.1}", answers.server_micros)),
        ]);
    }
    println!("{table}");
    println!(
        "{ENTITIES} entities in a scattered order, all of them asked before; log on disk, flushed;\n\
         processor µs: of this process for an operation, threads of the store included"
    );
}
