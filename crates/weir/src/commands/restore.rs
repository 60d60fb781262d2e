//! `weir restore`.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use weir_table::embedded::{self, BackupReport};

use super::passphrase::PassphraseFlags;
use crate::config::{Given, Source};
use crate::failure::Failure;
use crate::{output, progress};

const AFTER_HELP: &str = "\
Examples:
  weir restore /backups/monday --data /var/lib/weir --passphrase-file /etc/weir/backup.txt
  weir restore /backups/monday --without-keys     the restored service gets new keys

The target must be empty or not exist, because existing data is never overwritten. The whole \
backup is checked before anything is written. A backup without keys needs no passphrase.";

/// Flags of `weir restore`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct RestoreArgs {
    /// Folder that `weir backup` wrote
    #[arg(value_name = "FROM_DIR")]
    from: PathBuf,
    /// Folder of the embedded store to create [default: ./weir-data] [env: WEIR_DATA]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    #[command(flatten)]
    passphrase: PassphraseFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The result of `weir restore` as JSON.
#[derive(Serialize)]
struct Restored<'a> {
    folder: String,
    #[serde(flatten)]
    report: &'a BackupReport,
    /// Whether the restored service has new keys and refuses what the old ones signed.
    has_new_keys: bool,
}

/// Creates a store from a backup.
pub(crate) async fn run(args: RestoreArgs, source: &Source) -> Result<(), Failure> {
    let loaded = source.load(&Given::data(args.data.as_deref()))?;
    let data = loaded.config.store.data;
    let has_keys = embedded::read_report(&args.from)?.keys.is_some();
    let passphrase = if has_keys { args.passphrase.read()? } else { None };
    let with_keys = passphrase.is_some();
    let bar = progress::bytes("restoring");
    let (from, to, shown) = (args.from, data.clone(), bar.clone());
    let restored = tokio::task::spawn_blocking(move || {
        embedded::restore(&from, &to, passphrase.as_ref(), &|done, total| {
            shown.set_length(total);
            shown.set_position(done);
        })
    })
    .await;
    bar.finish_and_clear();
    let report = restored.map_err(|error| Failure::fault("restoring").because(error))??;
    if args.json {
        let folder = data.display().to_string();
        output::json(&Restored { folder, report: &report, has_new_keys: !with_keys })?;
    } else {
        output::line(format!("restored to {}: {}", data.display(), summary(&report)))?;
    }
    if !with_keys {
        output::note(
            "the restored service has new keys: it refuses the tokens, leases and cursors of the old one",
        );
    }
    Ok(())
}

/// The size of a backup, as text.
pub(crate) fn summary(report: &BackupReport) -> String {
    let files = report.files.unwrap_or_default();
    let mut counts = vec![output::counted(report.entries, "record")];
    if files.count > 0 {
        counts.push(output::counted(files.count, "file"));
    }
    if let Some(keys) = &report.keys {
        counts.push(output::counted(keys.count, "key"));
    }
    counts.push(output::counted(report.bytes.saturating_add(files.bytes), "byte"));
    counts.join(", ")
}
