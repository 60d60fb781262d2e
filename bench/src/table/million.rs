//! A million items: how long opening takes, clean and after SIGKILL under load, and how much memory
//! a random-read load needs.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use comfy_table::Table;
use weir_table::expr::{add, attr};
use weir_table::{Get, Write};

use super::weir;
use crate::measure::{Figures, resident_mib, scatter, tasks};

const ITEMS: u64 = 1_000_000;
const CALLERS: usize = 64;

pub(super) async fn run(dir: &Path) {
    let path = dir.join("weir");
    load(&path).await;
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "a million items",
        "opened in ms",
        "replayed",
        "gets/s",
        "p50 µs",
        "p99 µs",
        "resident MiB",
    ]);
    for (name, kill) in [
        ("after a clean close", false),
        ("after SIGKILL under load", true),
    ] {
        if kill {
            kill_under_load(dir);
        }
        let before = Instant::now();
        let store = weir::open(&path);
        let opened = before.elapsed();
        let reader = store.clone();
        let figures: Figures = tasks(CALLERS, Duration::from_secs(15), move |caller, n| {
            let get = Get::new("bench", weir::key(scatter(caller, n) % ITEMS));
            let store = reader.clone();
            async move {
                assert!(store.get(&get).await.expect("a get").is_some());
            }
        })
        .await;
        table.add_row([
            name.to_owned(),
            format!("{:.0}", opened.as_secs_f64() * 1000.0),
            store.backend().stats().replayed.to_string(),
            format!("{:.0}", figures.rate()),
            format!("{:.1}", figures.micros(0.5)),
            format!("{:.1}", figures.micros(0.99)),
            resident_mib().to_string(),
        ]);
        store.backend().close().await.expect("the store closes");
    }
    println!("{table}");
}

async fn load(path: &Path) {
    println!("loading {ITEMS} items of 300 bytes …");
    let store = weir::open(path);
    store.create_table(&weir::spec()).await.expect("a table");
    let loading: Vec<_> = (0..CALLERS as u64)
        .map(|caller| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in (caller..ITEMS).step_by(CALLERS) {
                    let put = Write::put("bench", weir::item(number)).flushed();
                    store.write(put).await.expect("a put");
                }
            })
        })
        .collect();
    for task in loading {
        task.await.expect("a loader");
    }
    store.backend().close().await.expect("the store closes");
}

fn kill_under_load(dir: &Path) {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program)
        .args(["table", "--victim", "--dir"])
        .arg(dir)
        .stdout(Stdio::null())
        .spawn()
        .expect("a child");
    std::thread::sleep(Duration::from_secs(5));
    child.kill().expect("SIGKILL");
    child.wait().expect("the child's end");
}

/// Writes until it is killed.
pub(super) async fn victim(dir: &Path) {
    let store = weir::open(&dir.join("weir"));
    tasks(CALLERS, Duration::from_secs(60), move |caller, n| {
        let key = weir::key(scatter(caller, n) % ITEMS);
        let write = Write::update("bench", key, add("tk", 1))
            .when(attr("tk").ge(0))
            .flushed();
        let store = store.clone();
        async move {
            assert!(store.write(write).await.expect("an update").is_applied());
        }
    })
    .await;
}
