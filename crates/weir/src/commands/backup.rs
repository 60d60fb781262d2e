//! `weir backup`.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use weir_table::embedded::BackupReport;

use super::passphrase::PassphraseFlags;
use crate::config::{Loaded, Source, StoreFlags};
use crate::failure::Failure;
use crate::store_location::{Missing, StoreLocation};
use crate::{output, progress};

const AFTER_HELP: &str = "\
Examples:
  weir backup /backups/monday --passphrase-file /etc/weir/backup.txt
  weir backup /backups/monday --data /var/lib/weir --without-keys

A backup has the keys that sign tokens, leases, cursors and webhooks, encrypted with a \
passphrase, so that the restored service is the same one. --without-keys leaves them out: the \
restored service has new keys and refuses what the old ones signed. The backup is a consistent \
snapshot; the store stays in use meanwhile. It includes the raw outputs of reviews and the large \
texts and archives of practice in the data folder, but not those in an object store that \
reviews.raw or practice.objects names. `weir restore` creates a store from it. A running server \
writes the backup itself, as its own user.";

/// Flags of `weir backup`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct BackupArgs {
    /// Folder to write; it must be empty or not exist
    #[arg(value_name = "TO_DIR")]
    to: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreFlags,
}

/// The result of `weir backup` as JSON.
#[derive(Serialize)]
struct BackedUp<'a> {
    folder: String,
    #[serde(flatten)]
    report: &'a BackupReport,
    /// What the backup does not have.
    left_out: &'a [String],
}

/// Copies the store to a folder.
pub(crate) async fn run(args: BackupArgs, source: &Source) -> Result<(), Failure> {
    let loaded = source.load_for_store(&args.store.given())?;
    let passphrase = args.passphrase.read()?;
    let report = StoreLocation::of(&loaded.config.store)
        .with(Missing::Refuse, async |tables| {
            let bar = progress::bytes("backing up");
            let shown = bar.clone();
            let report = tables
                .backup(&args.to, passphrase, move |done, total| {
                    shown.set_length(total);
                    shown.set_position(done);
                })
                .await;
            bar.finish_and_clear();
            Ok(report?)
        })
        .await?;
    let (folder, left_out) = (args.to.display(), left_out(&loaded, &args.passphrase));
    if args.json {
        let (folder, left_out) = (folder.to_string(), left_out.as_slice());
        return Ok(output::json(&BackedUp { folder, report: &report, left_out })?);
    }
    output::line(format!("backed up to {folder}: {}", super::restore::summary(&report)))?;
    for what in left_out {
        output::line(format!("not in the backup: {what}"))?;
    }
    Ok(())
}

/// The keys and objects that the backup does not have.
fn left_out(loaded: &Loaded, flags: &PassphraseFlags) -> Vec<String> {
    let mut left_out = keys_left_out(loaded, flags);
    left_out.extend(loaded.config.services().objects_elsewhere());
    left_out
}

fn keys_left_out(loaded: &Loaded, flags: &PassphraseFlags) -> Vec<String> {
    if flags.without_keys {
        let keys = "keys; a restored service refuses the tokens, leases and cursors of this one";
        return vec![keys.to_owned()];
    }
    let auth = &loaded.config.auth;
    let configured = [
        ("auth.admin_key", auth.admin_key.is_some() || auth.admin_key_file.is_some()),
        ("auth.signing_key", auth.signing_key.is_some() || auth.signing_key_file.is_some()),
        ("auth.cursor_key", auth.cursor_key.is_some() || auth.cursor_key_file.is_some()),
    ];
    let configured = configured.into_iter().filter(|(_, is_configured)| *is_configured);
    configured.map(|(key, _)| format!("{key}, which the configuration sets")).collect()
}
