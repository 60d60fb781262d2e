//! `weir verify`.

use std::path::{Path, PathBuf};

use clap::Args;
use weir_table::Error;
use weir_table::embedded::{self, Damage, FolderReport};

use crate::config::{Given, Source};
use crate::failure::Failure;
use crate::{output, progress};

const AFTER_HELP: &str = "\
Examples:
  weir verify                                     the store in ./weir-data
  weir verify --data /var/lib/weir --json

Reads the whole log, every table file and every entry: checksums, gaps in the sequence of \
commits, index and expiry entries against items. Nothing is changed. No server may have the \
store open; to check a store that is in use, verify a restored backup of it. The exit code is 4 \
if the store is damaged; `weir repair` keeps what can be read.";

/// Flags of `weir verify`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct VerifyArgs {
    /// Folder of the embedded store [default: ./weir-data] [env: WEIR_DATA]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Verifies the store and shows what is wrong.
pub(crate) async fn run(args: VerifyArgs, source: &Source) -> Result<(), Failure> {
    let data = source.load(&Given::data(args.data.as_deref()))?.config.store.data;
    let folder = data.clone();
    let report =
        offline(&data, "verifying", move |progress| embedded::verify_folder(&folder, progress))
            .await?;
    if args.json {
        output::json(&report)?;
    } else {
        show(&data, &report)?;
    }
    let wrong = report.damages.len() as u64;
    if report.is_sound() {
        return Ok(());
    }
    let message = format!("{} is damaged: {}", data.display(), output::counted(wrong, "finding"));
    Err(Failure::differs(message)
        .help("`weir repair --dry-run` shows what can be kept; or restore a backup"))
}

/// Runs work on a store that no process has open, with a progress bar.
pub(super) async fn offline<T: Send + 'static>(
    data: &Path,
    title: &str,
    work: impl FnOnce(&dyn Fn(u64, u64)) -> Result<T, Error> + Send + 'static,
) -> Result<T, Failure> {
    if !data.join("store").exists() && !data.join("log").exists() {
        return Err(Failure::refused(format!("no store in {}", data.display()))
            .help("name its folder with --data"));
    }
    let bar = progress::bytes(title);
    let shown = bar.clone();
    let done = tokio::task::spawn_blocking(move || {
        work(&|done, total| {
            shown.set_length(total);
            shown.set_position(done);
        })
    })
    .await;
    bar.finish_and_clear();
    let done = done.map_err(|error| Failure::fault(title).because(error))?;
    done.map_err(|error| match error {
        Error::InUse { path } => Failure::refused(format!("{} is in use", path.display()))
            .help("stop the server or the command that has it open, and try again"),
        error => error.into(),
    })
}

fn show(data: &Path, report: &FolderReport) -> std::io::Result<()> {
    let log = format!(
        "log: {} in {}, up to commit {}",
        output::counted(report.log_records, "commit"),
        output::counted(report.log_segments, "segment"),
        output::thousands(report.seq)
    );
    let base = format!("base store: {}", output::counted(report.table_files, "table file"));
    let entries = format!(
        "tables: {} with {}, {} index entries, {} expiry entries",
        output::counted(report.tables, "table"),
        output::counted(report.items, "item"),
        output::thousands(report.index_entries),
        output::thousands(report.ttl_entries)
    );
    for line in [log, base, entries] {
        output::line(line)?;
    }
    match report.damages.as_slice() {
        [] => output::good(&format!("{} is sound", data.display())),
        damages => table(data, damages),
    }
}

/// The findings as a table, with paths below the data folder.
pub(super) fn table(data: &Path, damages: &[Damage]) -> std::io::Result<()> {
    let header = ["file", "byte", "finding", "effect"].map(str::to_owned).to_vec();
    let rows = damages.iter().map(|damage| {
        let path =
            damage.path.strip_prefix(data).map_or_else(|_| damage.path.clone(), PathBuf::from);
        vec![
            output::printable(&path.display().to_string()),
            damage.offset.map_or_else(String::new, output::thousands),
            output::printable(&damage.what),
            damage.effect.text().to_owned(),
        ]
    });
    output::table(header, rows, &[1])
}
