//! The URL of PostgreSQL. It may have a password, so it can come from a file or a variable, and is never printed.

use std::path::PathBuf;

use clap::Args;

use crate::config::{MIGRATE_FROM, secret_variable};
use crate::failure::Failure;

/// Where the URL of PostgreSQL is.
#[derive(Args)]
#[command(next_help_heading = "PostgreSQL")]
pub(super) struct UrlFlags {
    /// URL of the database; others on this machine see it, so give a password by --from-file or the variable
    /// [env: WEIR_MIGRATE_FROM, WEIR_MIGRATE_FROM_FILE]
    #[arg(long, value_name = "URL", global = true, conflicts_with = "from_file")]
    from: Option<String>,
    /// File with the URL
    #[arg(long, value_name = "FILE", global = true)]
    from_file: Option<PathBuf>,
}

impl std::fmt::Debug for UrlFlags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UrlFlags").field("from_file", &self.from_file).finish_non_exhaustive()
    }
}

impl UrlFlags {
    /// The URL.
    pub(super) fn read(&self) -> Result<String, Failure> {
        if let Some(url) = &self.from {
            return Ok(url.clone());
        }
        let missing = || {
            Failure::usage("the URL of PostgreSQL is missing")
                .help(format!("set {MIGRATE_FROM}, or name it with --from-file or --from"))
        };
        let url = secret_variable(MIGRATE_FROM, self.from_file.as_deref())?;
        url.map(|url| url.trim().to_owned()).ok_or_else(missing)
    }
}
