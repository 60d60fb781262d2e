//! What a server costs that nobody asks anything: memory, start, size.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use comfy_table::Table;

use super::server;
use crate::child::Child;

/// How long a server is left alone before its memory is read again.
const IDLE: Duration = Duration::from_secs(10);
/// Starts on a folder that is there already; the middle one counts.
const STARTS: usize = 5;
const RESIDENT_TARGET: &str = "under 60 MiB";
const START_TARGET: &str = "under 300 ms";
const SIZE_TARGET: &str = "under 40 MiB";

/// A figure, what was measured, and what it should be.
type Row = [String; 3];

pub(super) fn run(folder: &Path, weir: Option<PathBuf>) {
    let beside = std::env::current_exe().expect("this program");
    let weir = weir.unwrap_or_else(|| beside.with_file_name("weir"));
    let data = folder.join("footprint");
    let (name, mut command) = if weir.exists() {
        let name = format!("{} serve", weir.display());
        (name, serve_command(&weir, &data))
    } else {
        let name = "the server above, because no `weir` is beside this program";
        (name.to_owned(), server::command("weir", &data))
    };
    println!("measured with {name}");
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header(["figure", "measured", "target"]);
    // The first start makes the folder that the later ones find.
    table.add_rows(memory(&mut command));
    table.add_row(start(&mut command));
    if weir.exists() {
        table.add_rows(size(&weir, folder));
    }
    println!("{table}");
}

fn serve_command(weir: &Path, data: &Path) -> Command {
    let mut command = Command::new(weir);
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .env("WEIR_ADMIN_KEY", server::ADMIN_KEY);
    command
}

fn row(figure: &str, measured: String, target: &str) -> Row {
    [figure.to_owned(), measured, target.to_owned()]
}

fn memory(command: &mut Command) -> [Row; 2] {
    let child = Child::start(command);
    let mib = |child: &Child| format!("{} MiB", child.resident_mib());
    let fresh = mib(&child);
    std::thread::sleep(IDLE);
    let idle = mib(&child);
    child.stop();
    [
        row("resident, just started", fresh, RESIDENT_TARGET),
        row("resident, idle for 10 s", idle, RESIDENT_TARGET),
    ]
}

fn start(command: &mut Command) -> Row {
    let once = |_| {
        let child = Child::start(command);
        let started_in = child.started_in;
        child.stop();
        started_in
    };
    let mut starts: Vec<Duration> = (0..STARTS).map(once).collect();
    starts.sort();
    let middle = starts.get(STARTS / 2).expect("a start").as_millis();
    let figure = "start on an existing folder";
    row(figure, format!("{middle} ms"), START_TARGET)
}

fn size(weir: &Path, folder: &Path) -> [Row; 2] {
    let stripped = folder.join("stripped");
    strip(weir, &stripped);
    let mib = |file: &Path| {
        let file = std::fs::metadata(file).expect("the binary");
        format!("{:.1} MiB", file.len() as f64 / 1024.0 / 1024.0)
    };
    let without = "size without debug information";
    [row("size of the binary", mib(weir), SIZE_TARGET), row(without, mib(&stripped), SIZE_TARGET)]
}

/// Writes `binary` without its line tables, which are most of it and are never loaded.
fn strip(binary: &Path, to: &Path) {
    let mut strip = Command::new("strip");
    strip.arg("--strip-debug").arg("-o").arg(to).arg(binary);
    let done = strip.status().expect("strip is there: scripts/setup.sh");
    assert!(done.success(), "strip failed");
}
