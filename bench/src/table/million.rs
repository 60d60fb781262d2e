//! A million items: the time to open the store after a clean close and after SIGKILL under load, and
//! the memory of random reads.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use comfy_table::Table;
use weir_table::expr::{add, attr};
use weir_table::{Get, Write};

use super::{long, weir};
use crate::measure::{Figures, resident_mib, scatter, tasks};

const ITEMS: u64 = 1_000_000;
const CALLERS: usize = 64;

pub(super) async fn run(dir: &Path) {
    let path = dir.join("weir");
    let store = weir::open(&path);
    store.create_table(&weir::spec()).await.expect("a table");
    long::load(&store, ITEMS).await;
    store.backend().close().await.expect("the store closes");
    drop(store);
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    let header = ["opened in ms", "records replayed", "gets/s", "p50 µs", "p99 µs", "resident MiB"];
    table.set_header(["a million items"].into_iter().chain(header));
    let mut read = |name: &str| {
        let output = child(dir, "reader").output().expect("a reader");
        let figures = String::from_utf8(output.stdout).expect("text");
        table.add_row([name].into_iter().chain(figures.trim().split(' ')));
    };
    read("after a clean close");
    let mut victim = child(dir, "victim").stdout(Stdio::null()).spawn().expect("a victim");
    std::thread::sleep(Duration::from_secs(8));
    victim.kill().expect("SIGKILL");
    victim.wait().expect("the victim's end");
    read("after SIGKILL under load");
    println!("{table}");
}

/// A child process of this program, with its own memory, that can be killed.
fn child(dir: &Path, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["table", "--role", role, "--dir"]).arg(dir);
    command
}

/// Opens the store, reads random items, and prints the figures.
pub(super) async fn reader(dir: &Path) {
    let before = Instant::now();
    let store = weir::open(&dir.join("weir"));
    let opened = before.elapsed();
    let reading = store.clone();
    let figures: Figures = tasks(CALLERS, Duration::from_secs(15), move |caller, n| {
        let get = Get::new("bench", weir::key(scatter(caller, n) % ITEMS));
        let store = reading.clone();
        async move {
            assert!(store.get(&get).await.expect("a get").is_some());
        }
    })
    .await;
    println!(
        "{:.0} {} {:.0} {:.1} {:.1} {}",
        opened.as_secs_f64() * 1000.0,
        store.backend().stats().replayed,
        figures.rate(),
        figures.micros(0.5),
        figures.micros(0.99),
        resident_mib(),
    );
}

/// Writes until it is killed.
pub(super) async fn victim(dir: &Path) {
    let store = weir::open(&dir.join("weir"));
    tasks(CALLERS, Duration::from_secs(60), move |caller, n| {
        let key = weir::key(scatter(caller, n) % ITEMS);
        let write = Write::update("bench", key, add("tk", 1)).when(attr("tk").ge(0)).flushed();
        let store = store.clone();
        async move {
            assert!(store.write(write).await.expect("an update").is_applied());
        }
    })
    .await;
}
