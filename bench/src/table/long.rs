//! The long variant: more data than cache, with throughput over time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use comfy_table::Table;
use weir_table::embedded::Embedded;
use weir_table::expr::{add, attr};
use weir_table::{Store, Write};

use super::weir;
use crate::measure::{Figures, resident_mib, scatter, tasks};

const CALLERS: usize = 64;
/// One write in eight goes to the whole range, the others to a warm tenth of it.
const WARM_PART: u64 = 10;

pub(super) async fn run(dir: &Path, minutes: f64, items: u64) {
    let store = weir::open(&dir.join("weir"));
    if store.backend().stats().last_seq == 0 {
        store.create_table(&weir::spec()).await.expect("a table");
        load(&store, items).await;
    }
    let length = Duration::from_secs_f64(minutes * 60.0);
    let step = (length / 20).max(Duration::from_secs(1));
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    let header = [
        "until s",
        "updates/s",
        "p50 µs",
        "p99 µs",
        "p99.9 ms",
        "max ms",
        "log MiB",
        "resident MiB",
    ];
    println!("  {}", header.join("  "));
    table.set_header(header);
    let start = Instant::now();
    let stop = Arc::new(AtomicBool::new(false));
    let pause = pause_watch(&stop);
    let mut worst: f64 = 0.0;
    let mut seed = 0;
    while start.elapsed() < length {
        seed += 1;
        let figures = updates(&store, step, items, seed).await;
        worst = worst.max(figures.max_micros() / 1000.0);
        let row = [
            format!("{:.0}", start.elapsed().as_secs_f64()),
            format!("{:.0}", figures.rate()),
            format!("{:.1}", figures.micros(0.5)),
            format!("{:.1}", figures.micros(0.99)),
            format!("{:.1}", figures.micros(0.999) / 1000.0),
            format!("{:.1}", figures.max_micros() / 1000.0),
            format!("{}", store.backend().stats().log_bytes >> 20),
            resident_mib().to_string(),
        ];
        println!("  {}", row.join("  "));
        table.add_row(row);
    }
    stop.store(true, Ordering::Relaxed);
    println!("{table}");
    println!("the longest pause of a write: {worst:.1} ms");
    let machine = pause.join().expect("the watch");
    println!("the longest delay of an idle thread meanwhile: {machine:.1} ms");
    store.backend().close().await.expect("the store closes");
}

/// Updates random items from all callers for `step`.
async fn updates(store: &Store<Embedded>, step: Duration, items: u64, seed: usize) -> Figures {
    let writer = store.clone();
    tasks(CALLERS, step, move |caller, n| {
        let random = scatter(caller + seed * 1000, n);
        let range = if random.is_multiple_of(8) { items } else { items / WARM_PART };
        let key = weir::key((random >> 8) % range.max(1));
        let write = Write::update("bench", key, add("tk", 1)).when(attr("tk").ge(0)).flushed();
        let store = writer.clone();
        async move {
            assert!(store.write(write).await.expect("an update").is_applied());
        }
    })
    .await
}

/// Puts all items and prints the rate.
pub(super) async fn load(store: &Store<Embedded>, items: u64) {
    println!("loading {items} items of 300 bytes …");
    let start = Instant::now();
    let loading: Vec<_> = (0..CALLERS as u64)
        .map(|caller| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in (caller..items).step_by(CALLERS) {
                    let put = Write::put("bench", weir::item(number)).flushed();
                    store.write(put).await.expect("a put");
                }
            })
        })
        .collect();
    for task in loading {
        task.await.expect("a loader");
    }
    println!("loaded at {:.0}/s", items as f64 / start.elapsed().as_secs_f64());
}

/// Measures how long the machine delays a thread that only sleeps. Pauses shorter than that are
/// not caused by the store.
fn pause_watch(stop: &Arc<AtomicBool>) -> std::thread::JoinHandle<f64> {
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        let mut worst = Duration::ZERO;
        while !stop.load(Ordering::Relaxed) {
            let before = Instant::now();
            std::thread::sleep(Duration::from_millis(1));
            worst = worst.max(before.elapsed().saturating_sub(Duration::from_millis(1)));
        }
        worst.as_secs_f64() * 1000.0
    })
}
