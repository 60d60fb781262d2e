//! Acquires in this process, on the embedded store.
//!
//! The baseline is the one conditional update of a bucket that an acquire makes, sent directly to
//! the store. The difference is the cost of the limiter.

use std::path::Path;
use std::sync::Arc;
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
use crate::measure::{cpu_time_of, scatter, tasks};
use crate::sample::{Sample, Series};

/// Entities that acquire.
const ENTITIES: usize = 1_000;
/// Parents that the child entities share.
const PARENTS: usize = 10;
const CALLERS: [usize; 3] = [1, 2, 64];
const BASELINE: &str = "one update of a bucket, without the limiter";

struct Bench {
    runtime: Runtime,
    store: Store<Embedded>,
    namespace: Namespace<Embedded>,
    length: Duration,
}

/// The acquires of a case, one per entity.
struct Scenario {
    name: &'static str,
    requests: Arc<Vec<Acquire>>,
    /// Whether each is granted.
    granted: bool,
}

pub(super) fn run(folder: &Path, length: Duration, rounds: usize) {
    let bench = Bench::open(&folder.join("library"), length);
    let scenarios = bench.runtime.block_on(bench.prepare());
    let mut rows = Vec::new();
    for callers in CALLERS {
        let names = std::iter::once(BASELINE).chain(scenarios.iter().map(|case| case.name));
        let mut series: Vec<(&str, Series)> = names.map(|name| (name, Series::default())).collect();
        for round in 1..=rounds {
            println!("  round {round}, in process, {callers} callers");
            let samples = std::iter::once(bench.updates(callers))
                .chain(scenarios.iter().map(|case| bench.acquires(callers, case)));
            for ((_, series), sample) in series.iter_mut().zip(samples) {
                series.0.push(sample);
            }
        }
        rows.push((callers, series));
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

    /// Creates limits and entities, and sends each request once.
    async fn prepare(&self) -> Vec<Scenario> {
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
        let scenarios = [
            Scenario::new("acquire, two limits", "user", "gpt-4", true),
            Scenario::new("acquire with cascade to 10 parents", "child", "gpt-4", true),
            Scenario::new("refused, from memory", "user", "rare", false),
        ];
        for request in scenarios.iter().flat_map(|scenario| scenario.requests.iter()) {
            fixture::acquire(&self.namespace, request).await;
        }
        scenarios.into()
    }

    /// Acquires from many callers, entities in a scattered order.
    fn acquires(&self, callers: usize, scenario: &Scenario) -> Sample {
        let (namespace, requests) = (self.namespace.clone(), Arc::clone(&scenario.requests));
        let expected = scenario.granted;
        self.measure(callers, move |caller, n| {
            let (namespace, requests) = (namespace.clone(), Arc::clone(&requests));
            async move {
                let number = scatter(caller, n) as usize % requests.len();
                let request = requests.get(number).expect("a request");
                let granted = fixture::acquire(&namespace, request).await;
                assert_eq!(granted, expected, "{request:?}");
            }
        })
    }

    /// Updates buckets without the limiter.
    fn updates(&self, callers: usize) -> Sample {
        let (ns, on) = (self.namespace.id(), resource("gpt-4"));
        let bucket = |user| keys::bucket(ns, &fixture::entity(&format!("user-{user}")), &on, 0);
        let buckets: Arc<Vec<Key>> = Arc::new((0..ENTITIES).map(bucket).collect());
        let store = self.store.clone();
        self.measure(callers, move |caller, n| {
            let (store, buckets) = (store.clone(), Arc::clone(&buckets));
            async move {
                let number = scatter(caller, n) as usize % buckets.len();
                let bucket = buckets.get(number).expect("a bucket").clone();
                let written = store.write(take(bucket)).await.expect("an update");
                assert!(written.is_applied(), "the bucket has enough tokens");
            }
        })
    }

    fn measure<F, O>(&self, callers: usize, operation: F) -> Sample
    where
        F: Fn(usize, u64) -> O + Send + Sync + 'static,
        O: Future<Output = ()> + Send,
    {
        let before = cpu_time_of("self");
        let figures = self.runtime.block_on(tasks(callers, self.length, operation));
        let used = cpu_time_of("self") - before;
        Sample {
            requests: figures.count,
            refused: 0,
            rate: figures.rate(),
            p50_ms: figures.micros(0.5) / 1000.0,
            p99_ms: figures.micros(0.99) / 1000.0,
            cpu_micros: used.as_secs_f64() * 1e6 / figures.count as f64,
        }
    }
}

impl Scenario {
    fn new(name: &'static str, entities: &str, on: &str, granted: bool) -> Scenario {
        let requests = (0..ENTITIES).map(|number| request(&format!("{entities}-{number}"), on));
        Scenario { name, requests: Arc::new(requests.collect()), granted }
    }
}

/// The write of an acquire: both token balances and both consumption counters.
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

fn print(rows: &[(usize, Vec<(&str, Series)>)]) {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "callers",
        "in process",
        "ops/s",
        "p50 µs",
        "p99 µs",
        "CPU µs/op",
        "CPU ratio",
        "range",
    ]);
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    for (callers, cases) in rows {
        let baseline = cases.first().map(|(_, series)| series);
        for (name, series) in cases {
            let ratio = baseline
                .filter(|_| *name != BASELINE)
                .and_then(|baseline| series.cpu_ratio(baseline));
            table.add_row([
                right(callers.to_string()),
                Cell::new(name),
                right(format!("{:.0}", series.median(|sample| sample.rate))),
                right(format!("{:.1}", series.median(|sample| sample.p50_ms) * 1000.0)),
                right(format!("{:.1}", series.median(|sample| sample.p99_ms) * 1000.0)),
                right(format!("{:.2}", series.median(|sample| sample.cpu_micros))),
                right(ratio.map_or(String::new(), |ratio| ratio.median_text())),
                right(ratio.map_or(String::new(), |ratio| ratio.range_text())),
            ]);
        }
    }
    println!("{table}");
    println!(
        "Medians of all rounds; {ENTITIES} existing entities in a scattered order, log on disk and flushed.\n\
         CPU µs/op: CPU time of this process per operation, threads of the store included.\n\
         CPU ratio: that time divided by the time of the update without the limiter in the same round."
    );
}
