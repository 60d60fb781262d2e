//! `weir repair`.

use std::path::Path;

use clap::Args;
use weir_table::embedded::{self, Effect, RepairReport};

use super::verify::{offline, table};
use crate::config::{Given, Source};
use crate::failure::Failure;
use crate::output;

const AFTER_HELP: &str = "\
Examples:
  weir repair --dry-run                           what a repair would keep, and what it would lose
  weir repair --data /var/lib/weir

Writes a new store from everything that can be read, and puts it in the place of the damaged \
one. Index and expiry entries are built anew. The old files are kept in the folder `damaged`; \
delete them when nothing is missed. The feed begins anew, so jobs that follow it make a full \
pass. Every loss is reported, with exit code 4. No server may have the store open. The disk \
needs room for a second copy. Where there is a backup, restoring it may lose less.";

/// Flags of `weir repair`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct RepairArgs {
    /// Folder of the embedded store [default: ./weir-data] [env: WEIR_DATA]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// Change nothing, and report what a repair would do
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Repairs the store and shows what was lost.
pub(crate) async fn run(args: RepairArgs, source: &Source) -> Result<(), Failure> {
    let data = source.load(&Given::data(args.data.as_deref()))?.config.store.data;
    let (folder, dry_run) = (data.clone(), args.dry_run);
    let report = offline(&data, "repairing", move |progress| {
        embedded::repair_folder(&folder, dry_run, progress)
    })
    .await?;
    if args.json {
        output::json(&report)?;
    } else {
        show(&data, &report)?;
    }
    let lost = report.losses.iter().filter(|loss| loss.effect == Effect::Lost).count() as u64;
    match lost {
        0 => Ok(()),
        lost => Err(Failure::differs(format!(
            "{} of {} could not be read",
            output::counted(lost, "part"),
            data.display()
        ))),
    }
}

fn show(data: &Path, report: &RepairReport) -> std::io::Result<()> {
    if report.finished_interrupted {
        return output::good(&format!(
            "the interrupted repair of {} is finished; `weir verify` checks it",
            data.display()
        ));
    }
    let kept = format!(
        "{} with {}; {} came from the log",
        output::counted(report.tables, "table"),
        output::counted(report.items, "item"),
        output::counted(report.replayed, "commit")
    );
    match &report.kept {
        None => output::line(format!("a repair would keep {kept}"))?,
        Some(old) => {
            output::line(format!("repaired {}: {kept}", data.display()))?;
            output::line(format!("the old files are in {}", old.display()))?;
        }
    }
    if report.losses.is_empty() {
        return output::good("everything could be read");
    }
    table(data, &report.losses)
}
