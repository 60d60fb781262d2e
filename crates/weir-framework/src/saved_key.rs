//! The file that contains a generated admin key, for the operator. It follows the key: it never contains a dead one for long.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use weir_table::{Error, Result};

use crate::auth::Secret;

/// The file's name.
pub const ADMIN_KEY_FILE: &str = "admin.key";

/// Saves `key` in the folder `data`, readable by its owner only. Returns the path.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn save_admin_key(data: &Path, key: &Secret) -> Result<PathBuf> {
    let path = data.join(ADMIN_KEY_FILE);
    let making = data.join(format!(".{ADMIN_KEY_FILE}.new"));
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

/// The saved key; none if there is no file.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn saved_admin_key(data: &Path) -> Result<Option<Secret>> {
    let path = data.join(ADMIN_KEY_FILE);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(Secret::new(text.trim()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::io(format!("reading {}", path.display()), source)),
    }
}

/// Removes the file of a key that is not valid, so that nobody uses it.
pub(crate) fn remove_admin_key(data: &Path) {
    let path = data.join(ADMIN_KEY_FILE);
    let file = path.display();
    match fs::remove_file(&path) {
        Ok(()) => tracing::warn!(%file, "removed an admin key that is no longer valid"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => {
            tracing::error!(%file, %error, "the file has an admin key that is not valid, and cannot be removed")
        }
    }
}
