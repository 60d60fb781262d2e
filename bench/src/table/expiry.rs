//! Expiry: how fast a million expired items go while 20 000 writes a second come in, and what that does to those writes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use comfy_table::Table;
use weir_table::clock::Clock;
use weir_table::embedded::{Embedded, Options};
use weir_table::expr::{add, attr};
use weir_table::{Item, Store, Write};

use super::{KEYS, weir};
use crate::measure::{Figures, scatter, tasks};

const CALLERS: usize = 64;
/// Writes that come in every second.
const RATE: u64 = 20_000;
/// One write in four is a record that expires some day, like one of an idempotent submission.
const RECORDS: u64 = 4;
/// Seconds for which the writes are measured alone.
const ALONE: Duration = Duration::from_secs(10);
/// Seconds after which the benchmark gives up.
const GIVE_UP: Duration = Duration::from_secs(600);
const STEP: Duration = Duration::from_secs(5);

pub(super) async fn run(dir: &Path, expired: u64) {
    let now_ms = Clock::System.now_ms();
    let clock = Clock::manual(now_ms);
    let options = Options { clock: clock.clone(), ..Options::new(dir.join("weir")) };
    let embedded = Embedded::open(options).expect("the store opens");
    let cursors = embedded.cursor_key();
    let store = Store::new(embedded, cursors);
    store.create_table(&weir::spec()).await.expect("a table");
    for number in 0..KEYS {
        let put = Write::put("bench", weir::item(number)).flushed();
        store.write(put).await.expect("a put");
    }
    load_records(&store, expired, now_ms / 1_000 + 60).await;
    store.backend().checkpoint().await.expect("a checkpoint");

    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "after s",
        "writes/s",
        "p50 µs",
        "p99 µs",
        "p99.9 ms",
        "max ms",
        "removed/s",
        "left",
        "behind s",
    ]);
    let written = Arc::new(AtomicU64::new(0));
    let mut add_row = |label: String, figures: &Figures, removed: u64, left: u64, behind: u64| {
        let row = [
            label,
            format!("{:.0}", figures.rate()),
            format!("{:.1}", figures.micros(0.5)),
            format!("{:.1}", figures.micros(0.99)),
            format!("{:.1}", figures.micros(0.999) / 1000.0),
            format!("{:.1}", figures.max_micros() / 1000.0),
            format!("{:.0}", removed as f64 / figures.elapsed.as_secs_f64()),
            left.to_string(),
            behind.to_string(),
        ];
        println!("  {}", row.join("  "));
        table.add_row(row);
    };
    add_row("alone".to_owned(), &writes(&store, &written, ALONE).await, 0, expired, 0);
    clock.advance_ms(120_000);
    let (start, mut before) = (Instant::now(), 0);
    while before < expired && start.elapsed() < GIVE_UP {
        let figures = writes(&store, &written, STEP).await;
        let stats = store.backend().stats();
        let (removed, behind) = (stats.expired_total - before, stats.sweep_backlog_ms / 1000);
        before = stats.expired_total;
        let label = format!("{:.0}", start.elapsed().as_secs_f64());
        add_row(label, &figures, removed, expired.saturating_sub(before), behind);
    }
    println!("{table}");
    let sound = store.backend().verify().await.expect("a verification").is_sound();
    assert!(sound, "the store is not sound");
    store.backend().close().await.expect("the store closes");
}

fn record(number: u64, ttl: u64) -> Item {
    weir::key(number)
        .to_item(&weir::spec())
        .with("PK", format!("ns1/RECORD#{number}"))
        .with("digest", "0123456789abcdef0123456789abcdef")
        .with("cost", number % 1000)
        .with("ttl", ttl)
}

async fn load_records(store: &Store<Embedded>, count: u64, ttl: u64) {
    println!("loading {count} records that expire …");
    let start = Instant::now();
    let loading: Vec<_> = (0..CALLERS as u64)
        .map(|caller| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in (caller..count).step_by(CALLERS) {
                    let put = Write::put("bench", record(number, ttl)).flushed();
                    store.write(put).await.expect("a put");
                }
            })
        })
        .collect();
    for task in loading {
        task.await.expect("a loader");
    }
    println!("loaded at {:.0}/s", count as f64 / start.elapsed().as_secs_f64());
}

/// Writes at the given rate for `length`. A caller that falls behind its schedule catches up.
async fn writes(store: &Store<Embedded>, written: &Arc<AtomicU64>, length: Duration) -> Figures {
    let (store, written) = (store.clone(), Arc::clone(written));
    let start = tokio::time::Instant::now();
    let pause = Duration::from_secs(CALLERS as u64) / u32::try_from(RATE).expect("a rate");
    let measured = Arc::new(parking_lot::Mutex::new(crate::measure::histogram()));
    let latencies = Arc::clone(&measured);
    let mut figures = tasks(CALLERS, length, move |caller, n| {
        let due = start + pause * u32::try_from(n).unwrap_or(u32::MAX) + pause * caller as u32 / 64;
        let (store, latencies) = (store.clone(), Arc::clone(&latencies));
        let number = written.fetch_add(1, Ordering::Relaxed);
        let write = if n % RECORDS == 0 {
            Write::put("bench", record(u64::MAX / 2 + number, 4_000_000_000)).flushed()
        } else {
            let key = weir::key(scatter(caller, n) % KEYS);
            Write::update("bench", key, add("tk", 1)).when(attr("tk").ge(0)).flushed()
        };
        async move {
            tokio::time::sleep_until(due).await;
            let before = Instant::now();
            assert!(store.write(write).await.expect("a write").is_applied());
            latencies.lock().saturating_record(before.elapsed().as_nanos() as u64);
        }
    })
    .await;
    // Without the wait for the schedule.
    figures.latency = measured.lock().clone();
    figures
}
