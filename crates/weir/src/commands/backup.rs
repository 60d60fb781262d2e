//! `weir backup`.

use std::path::PathBuf;

use clap::Args;

use super::passphrase::PassphraseFlags;
use crate::config::{Loaded, Source, StoreFlags};
use crate::failure::Failure;
use crate::place::{Missing, Place};
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
    #[command(flatten)]
    store: StoreFlags,
}

/// Copies the store to a folder.
pub(crate) async fn run(args: BackupArgs, source: &Source) -> Result<(), Failure> {
    let loaded = source.load_for_store(&args.store.given())?;
    let passphrase = args.passphrase.read()?;
    let report = Place::of(&loaded.config.store)
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
    output::line(format!(
        "backed up to {}: {}",
        args.to.display(),
        super::restore::summary(&report)
    ))?;
    left_out(&loaded, &args.passphrase)?;
    if let Some(raw) = &loaded.config.reviews.raw {
        output::line(format!("not in the backup: the raw outputs of reviews in {raw}"))?;
    }
    if let Some(objects) = &loaded.config.practice.objects {
        let line = format!("not in the backup: large texts and archives of practice in {objects}");
        output::line(line)?;
    }
    Ok(())
}

/// Says which keys the backup does not have.
fn left_out(loaded: &Loaded, flags: &PassphraseFlags) -> std::io::Result<()> {
    if flags.without_keys {
        return output::line(
            "not in the backup: keys; a restored service refuses the tokens, leases and cursors of this one",
        );
    }
    let auth = &loaded.config.auth;
    let configured = [
        ("auth.admin_key", auth.admin_key.is_some() || auth.admin_key_file.is_some()),
        ("auth.signing_key", auth.signing_key.is_some() || auth.signing_key_file.is_some()),
        ("auth.cursor_key", auth.cursor_key.is_some() || auth.cursor_key_file.is_some()),
    ];
    for (key, _) in configured.iter().filter(|(_, is_configured)| *is_configured) {
        output::line(format!("not in the backup: {key}, which the configuration sets"))?;
    }
    Ok(())
}
