//! `weir backup`.

use std::path::PathBuf;

use clap::Args;

use crate::config::{Source, StoreFlags};
use crate::failure::Failure;
use crate::place::{Missing, Place};
use crate::{output, progress};

const AFTER_HELP: &str = "\
Examples:
  weir backup /backups/monday                     of the store in ./weir-data
  weir backup --data /var/lib/weir /backups/monday

The backup is a consistent snapshot; the store stays in use meanwhile. It includes the raw outputs of
reviews and the large texts and archives of practice in the data folder, but not those in an object
store that reviews.raw or practice.objects names. `weir restore` creates a store from it. A running server writes the backup itself, as its own user.";

/// Flags of `weir backup`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct BackupArgs {
    /// Folder to write; it must be empty or not exist
    #[arg(value_name = "TO_DIR")]
    to: PathBuf,
    #[command(flatten)]
    store: StoreFlags,
}

/// Copies the store to a folder.
pub(crate) async fn run(args: BackupArgs, source: &Source) -> Result<(), Failure> {
    let loaded = source.load_for_store(&args.store.given())?;
    let report = Place::of(&loaded.config.store)
        .with(Missing::Refuse, async |tables| {
            let bar = progress::bytes("backing up");
            let shown = bar.clone();
            let report = tables
                .backup(&args.to, move |done, total| {
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
    if let Some(raw) = &loaded.config.reviews.raw {
        output::line(format!("not in the backup: the raw outputs of reviews in {raw}"))?;
    }
    if let Some(objects) = &loaded.config.practice.objects {
        let line = format!("not in the backup: large texts and archives of practice in {objects}");
        output::line(line)?;
    }
    Ok(())
}
