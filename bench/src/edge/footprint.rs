//! Memory, startup time and size of a server without load.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use comfy_table::Table;

use crate::child::Child;
use crate::pinning::Pinning;
use crate::weir;

/// Time without requests before memory is read again.
const IDLE: Duration = Duration::from_secs(10);
/// Starts on an existing folder, of which the table shows the median.
const STARTS: usize = 5;
const RESIDENT_TARGET: &str = "under 60 MiB";
const STARTUP_TARGET: &str = "under 300 ms";
const SIZE_TARGET: &str = "under 40 MiB";

/// A figure, its value and its target.
type Row = [String; 3];

pub(super) fn run(folder: &Path, binary: &Path) {
    let data = folder.join("footprint");
    let start = || weir::start(Pinning::Unpinned, binary, &data, &[]);
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header(["figure of weir serve", "measured", "target"]);
    // The first start creates the folder that the later ones open.
    table.add_rows(memory(&start));
    table.add_row(startup(&start));
    table.add_rows(size(binary, folder));
    println!("{table}");
}

fn row(figure: &str, measured: String, target: &str) -> Row {
    [figure.to_owned(), measured, target.to_owned()]
}

fn memory(start: &dyn Fn() -> Child) -> [Row; 2] {
    let server = start();
    let resident = || format!("{} MiB", server.resident_mib());
    let fresh = resident();
    std::thread::sleep(IDLE);
    let idle = resident();
    server.stop();
    [
        row("resident memory after the start", fresh, RESIDENT_TARGET),
        row("resident memory, idle for 10 s", idle, RESIDENT_TARGET),
    ]
}

fn startup(start: &dyn Fn() -> Child) -> Row {
    let once = |_| {
        let server = start();
        let startup = server.startup;
        server.stop();
        startup
    };
    let mut starts: Vec<Duration> = (0..STARTS).map(once).collect();
    starts.sort();
    let median = starts.get(STARTS / 2).expect("a start").as_millis();
    row("startup on an existing folder", format!("{median} ms"), STARTUP_TARGET)
}

fn size(binary: &Path, folder: &Path) -> [Row; 2] {
    let stripped = folder.join("stripped");
    strip(binary, &stripped);
    let mib = |file: &Path| {
        let file = std::fs::metadata(file).expect("the binary");
        format!("{:.1} MiB", file.len() as f64 / 1024.0 / 1024.0)
    };
    [
        row("binary size", mib(binary), SIZE_TARGET),
        row("binary size without debug information", mib(&stripped), SIZE_TARGET),
    ]
}

/// Copies `binary` without its line tables, which are never loaded into memory.
fn strip(binary: &Path, target: &Path) {
    let mut strip = Command::new("strip");
    strip.arg("--strip-debug").arg("-o").arg(target).arg(binary);
    let status = strip.status().expect("strip: run scripts/setup.sh build");
    assert!(status.success(), "strip failed");
}
