//! The passphrase of a backup's keys: from a file or a variable, never an argument, which others on the machine can see.

use std::path::PathBuf;

use clap::Args;
use weir_table::embedded::Passphrase;

use crate::config::secret_variable;
use crate::failure::Failure;

/// The variable with the passphrase; with `_FILE` appended, the variable with the path of its file.
pub(crate) const VARIABLE: &str = "WEIR_BACKUP_PASSPHRASE";

/// Where the passphrase is, and whether keys are left out.
#[derive(Debug, Args)]
pub(super) struct PassphraseFlags {
    /// File with the passphrase of the keys [env: WEIR_BACKUP_PASSPHRASE_FILE, WEIR_BACKUP_PASSPHRASE]
    #[arg(long, value_name = "FILE", conflicts_with = "without_keys")]
    passphrase_file: Option<PathBuf>,
    /// Leave the keys out
    #[arg(long)]
    pub(super) without_keys: bool,
}

impl PassphraseFlags {
    /// The passphrase; none if keys are left out.
    ///
    /// # Errors
    /// There is no passphrase, or it cannot be used.
    pub(super) fn read(&self) -> Result<Option<Passphrase>, Failure> {
        if self.without_keys {
            return Ok(None);
        }
        let text = secret_variable(VARIABLE, self.passphrase_file.as_deref())?;
        let missing = || {
            Failure::usage("a backup has keys, and there is no passphrase for them").help(format!(
                "name a file with --passphrase-file, set {VARIABLE} or {VARIABLE}_FILE, \
                 or leave the keys out with --without-keys"
            ))
        };
        let passphrase = Passphrase::new(text.ok_or_else(missing)?)?;
        Ok(Some(passphrase))
    }
}
