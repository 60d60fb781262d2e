//! The file that contains a generated admin key, for the operator.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use weir_table::{Error, Result};

use crate::auth::Secret;

const NAME: &str = "admin.key";

/// Saves `key` in the folder `data`, readable by its owner only. Returns the path.
///
/// # Errors
/// The file cannot be written.
pub fn save_admin_key(data: &Path, key: &Secret) -> Result<PathBuf> {
    let path = data.join(NAME);
    let making = data.join(format!(".{NAME}.new"));
    let failed = |source| Error::io(format!("saving the admin key in {}", path.display()), source);
    // Created under another name and moved into place, so that nobody can read it before its mode is set.
    match fs::remove_file(&making) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file =
        options.write(true).create_new(true).mode(0o600).open(&making).map_err(failed)?;
    writeln!(file, "{}", key.expose()).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&making, &path).map_err(failed)?;
    Ok(path)
}
