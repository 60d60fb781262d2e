//! What a server costs that nobody asks anything: memory, start, size.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use comfy_table::Table;

use super::child::Child;
use super::server;

/// How long a server is left alone before its memory is read again.
const IDLE: Duration = Duration::from_secs(10);
/// Starts on a folder that is there already; the middle one counts.
const STARTS: usize = 5;
const RESIDENT_MAX_MIB: u64 = 60;
const START_MAX: Duration = Duration::from_millis(300);
const SIZE_MAX_MIB: f64 = 40.0;

pub(super) fn run(folder: &Path, weir: Option<PathBuf>) {
    let beside = std::env::current_exe().expect("this program");
    let weir = weir.unwrap_or_else(|| beside.with_file_name("weir"));
    let data = folder.join("footprint");
    let (name, mut command) = if weir.exists() {
        ("weir serve", serve_command(&weir, &data))
    } else {
        ("this program's server", server::command("weir", &data))
    };
    println!("measured with {name}");
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header(["figure", "measured", "target"]);

    let first = Child::start(&mut command);
    let fresh = first.resident_mib();
    std::thread::sleep(IDLE);
    let idle = first.resident_mib();
    first.stop();
    let resident_target = format!("under {RESIDENT_MAX_MIB} MiB");
    for (figure, mib) in [
        ("resident, just started", fresh),
        ("resident, idle for 10 s", idle),
    ] {
        table.add_row([
            figure.to_owned(),
            format!("{mib} MiB"),
            resident_target.clone(),
        ]);
    }
    let mut starts: Vec<Duration> = (0..STARTS).map(|_| start(&mut command)).collect();
    starts.sort();
    let middle = starts.get(STARTS / 2).expect("a start");
    table.add_row([
        "start on an existing folder".to_owned(),
        format!("{} ms", middle.as_millis()),
        format!("under {} ms", START_MAX.as_millis()),
    ]);
    if let Ok(file) = std::fs::metadata(&weir) {
        let mib = file.len() as f64 / 1024.0 / 1024.0;
        table.add_row([
            "size of the binary".to_owned(),
            format!("{mib:.1} MiB"),
            format!("under {SIZE_MAX_MIB} MiB"),
        ]);
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

fn start(command: &mut Command) -> Duration {
    let child = Child::start(command);
    let started_in = child.started_in;
    child.stop();
    started_in
}
