//! `weir-bench table`: the embedded store, compared with dynoxide-rs on the same disk in the same run.

mod dynoxide;
mod expiry;
mod long;
mod million;
mod weir;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use comfy_table::{Cell, CellAlignment, Table};
use weir_table::Durability;

use crate::measure::Figures;

/// Keys of the spread cases.
pub(crate) const KEYS: u64 = 10_000;
const CALLERS: [usize; 4] = [1, 8, 64, 512];

/// Arguments of `weir-bench table`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Seconds that each case runs.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Run the long variant instead: more data than cache, throughput over time.
    #[arg(long)]
    minutes: Option<f64>,
    /// Items of the long variant.
    #[arg(long, default_value_t = 2_000_000)]
    items: u64,
    /// Measure opening and memory with a million items instead.
    #[arg(long)]
    million: bool,
    /// Measure how fast so many expired items are removed beside 20 000 writes a second instead.
    #[arg(long)]
    expired: Option<u64>,
    /// The data folder; a temporary one by default.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Do not measure dynoxide-rs.
    #[arg(long)]
    alone: bool,
    /// Only the flushed updates from 1 and 64 callers, for tuning.
    #[arg(long)]
    quick: bool,
    /// The role of this child process of the benchmark with a million items.
    #[arg(long, hide = true)]
    role: Option<String>,
}

pub(crate) fn run(args: &Args) {
    let temporary;
    let dir = match &args.dir {
        Some(dir) => {
            std::fs::create_dir_all(dir).expect("the folder");
            dir.clone()
        }
        None => {
            // The data folder is on the project's disk, because /tmp may be memory.
            temporary = tempfile::tempdir_in(".").expect("a temporary folder");
            temporary.path().to_owned()
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("tokio");
    runtime.block_on(async {
        if let Some(role) = &args.role {
            match role.as_str() {
                "reader" => million::reader(&dir).await,
                _ => million::victim(&dir).await,
            }
        } else if args.million {
            million::run(&dir).await;
        } else if let Some(expired) = args.expired {
            expiry::run(&dir, expired).await;
        } else if let Some(minutes) = args.minutes {
            long::run(&dir, minutes, args.items).await;
        } else {
            compare(args, &dir).await;
        }
    });
}

struct Row {
    operation: String,
    keys: &'static str,
    callers: usize,
    weir: Figures,
    peer: Option<Figures>,
}

async fn compare(args: &Args, dir: &std::path::Path) {
    let length = Duration::from_secs_f64(args.seconds);
    println!("one fsync of 700 appended bytes on this disk: {}", fsync_cost(dir));
    let mut rows = Vec::new();
    let store = weir::Bench::open(&dir.join("weir")).await;
    let durabilities: &[Durability] = if args.quick {
        &[Durability::Flushed]
    } else {
        &[Durability::Flushed, Durability::Synced]
    };
    for durability in durabilities.iter().copied() {
        for callers in CALLERS.into_iter().filter(|c| !args.quick || matches!(c, 1 | 64)) {
            for (keys, name) in [(1, "hot key"), (KEYS, "10 000")] {
                let weir = store.updates(callers, length, keys, durability).await;
                let operation = format!("update {durability:?}");
                progress(&operation, name, callers, &weir);
                rows.push(Row { operation, keys: name, callers, weir, peer: None });
            }
        }
    }
    for callers in [1, 64] {
        let weir = store.gets(callers, length).await;
        progress("get", "10 000", callers, &weir);
        rows.push(Row { operation: "get".into(), keys: "10 000", callers, weir, peer: None });
        let weir = store.queries(callers, length).await;
        progress("query of 20", "10 000", callers, &weir);
        rows.push(Row {
            operation: "query of 20".into(),
            keys: "10 000",
            callers,
            weir,
            peer: None,
        });
    }
    store.close().await;
    if !args.alone {
        run_peer(&mut rows, dir, length);
    }
    print(&rows);
}

/// Runs the same cases on dynoxide-rs. It syncs every write, so both durabilities of Weir are
/// compared with synced writes.
fn run_peer(rows: &mut [Row], dir: &std::path::Path, length: Duration) {
    let peer = dynoxide::Bench::open(&dir.join("dynoxide.db"));
    for row in rows {
        let keys = if row.keys == "hot key" { 1 } else { KEYS };
        let figures = match row.operation.as_str() {
            "get" => peer.gets(row.callers, length),
            "query of 20" => peer.queries(row.callers, length),
            _ => peer.updates(row.callers, length, keys),
        };
        progress(&format!("dynoxide-rs {}", row.operation), row.keys, row.callers, &figures);
        row.peer = Some(figures);
    }
}

fn progress(operation: &str, keys: &str, callers: usize, figures: &Figures) {
    println!("  {operation}, {keys}, {callers} callers: {:.0}/s", figures.rate());
    std::io::stdout().flush().expect("stdout");
}

fn print(rows: &[Row]) {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "operation",
        "keys",
        "callers",
        "weir ops/s",
        "p50 µs",
        "p99 µs",
        "max ms",
        "dynoxide ops/s",
        "p50 µs",
        "p99 µs",
        "ratio",
    ]);
    for row in rows {
        let figures = |figures: &Figures| {
            [
                format!("{:.0}", figures.rate()),
                format!("{:.1}", figures.micros(0.5)),
                format!("{:.1}", figures.micros(0.99)),
            ]
        };
        let mut cells = vec![row.operation.clone(), row.keys.to_owned(), row.callers.to_string()];
        cells.extend(figures(&row.weir));
        cells.push(format!("{:.1}", row.weir.max_micros() / 1000.0));
        if let Some(peer) = &row.peer {
            cells.extend(figures(peer));
            cells.push(format!("{:.1}×", row.weir.rate() / peer.rate()));
        }
        let align = |(at, text): (usize, String)| {
            let cell = Cell::new(text);
            if at > 1 { cell.set_alignment(CellAlignment::Right) } else { cell }
        };
        table.add_row(cells.into_iter().enumerate().map(align));
    }
    println!("{table}");
}

fn fsync_cost(dir: &std::path::Path) -> String {
    let mut file = std::fs::File::create(dir.join("fsync")).expect("a file");
    let mut latency = crate::measure::histogram();
    for _ in 0..500 {
        file.write_all(&[7; 700]).expect("a write");
        let before = Instant::now();
        file.sync_data().expect("an fsync");
        latency.saturating_record(before.elapsed().as_nanos() as u64);
    }
    let micros = |quantile| latency.value_at_quantile(quantile) as f64 / 1000.0;
    format!("p50 {:.0} µs, p99 {:.0} µs", micros(0.5), micros(0.99))
}
