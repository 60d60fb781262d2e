//! The signing key of an embedded store: generated once and stored in `signing.key` in the data folder.
//!
//! The file is written under another name, synced and then moved into place, so that it is always complete, and two
//! processes that create it at the same time use the same key. Only its owner may read it; a file that other users
//! can read is refused, because its key may be known.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use weir_table::{Error, Result};
use zeroize::Zeroizing;

use super::secret::{Secret, random};
use super::signing::{Keyring, SigningKey};

/// The file's name.
pub const NAME: &str = "signing.key";
/// Permissions that only the owner has.
const OTHERS: u32 = 0o077;
/// Maximum size of the file in bytes. It contains two keys of 32 bytes.
const FILE_MAX: u64 = 4096;

/// The content of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    current: Secret,
    previous: Option<Secret>,
}

/// The content of the file, to be written.
#[derive(Serialize)]
struct Keeping<'a> {
    current: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<&'a str>,
}

/// Reads the keys of the folder `data`. Generates the first key if there is none. Blocks.
///
/// # Errors
/// The file cannot be created or read, other users can read it, or it contains no keys.
pub fn load(data: &Path) -> Result<Keyring> {
    let path = data.join(NAME);
    if !path.exists() {
        let made = write(data, &generate()?, None)?;
        match made.persist_noclobber(&path) {
            Ok(_) => sync_folder(data)?,
            // Another process was first; its key counts.
            Err(problem) if problem.error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(problem) => return Err(Error::io(doing("making", &path), problem.error)),
        }
    }
    keyring(&path, &read(&path)?)
}

/// Generates a new current key; the old one becomes the previous key. Blocks.
///
/// # Errors
/// The file cannot be read or written.
pub fn rotate(data: &Path) -> Result<Keyring> {
    let path = data.join(NAME);
    let kept = read(&path)?;
    replace(data, &generate()?, Some(&kept.current))?;
    keyring(&path, &read(&path)?)
}

/// Removes the previous key. Blocks.
///
/// # Errors
/// The file cannot be read or written.
pub fn forget_previous(data: &Path) -> Result<Keyring> {
    let path = data.join(NAME);
    let kept = read(&path)?;
    replace(data, &kept.current, None)?;
    keyring(&path, &read(&path)?)
}

fn replace(data: &Path, current: &Secret, previous: Option<&Secret>) -> Result<()> {
    let path = data.join(NAME);
    write(data, current, previous)?
        .persist(&path)
        .map_err(|problem| Error::io(doing("replacing", &path), problem.error))?;
    sync_folder(data)
}

fn doing(verb: &str, path: &Path) -> String {
    format!("{verb} the signing key {}", path.display())
}

fn generate() -> Result<Secret> {
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(random::<32>()?.as_slice())))
}

fn write(data: &Path, current: &Secret, previous: Option<&Secret>) -> Result<NamedTempFile> {
    let keeping = Keeping { current: current.expose(), previous: previous.map(Secret::expose) };
    let text = serde_json::to_vec(&keeping)
        .map(Zeroizing::new)
        .map_err(|source| Error::backend("writing the signing key", source))?;
    let written = || {
        // Such a file is created with mode 0600.
        let mut file = NamedTempFile::new_in(data)?;
        file.write_all(&text)?;
        file.as_file().sync_all()?;
        Ok(file)
    };
    written().map_err(|source| Error::io(doing("writing", &data.join(NAME)), source))
}

fn sync_folder(data: &Path) -> Result<()> {
    let synced = File::open(data).and_then(|folder| folder.sync_all());
    synced.map_err(|source| Error::io(doing("writing", &data.join(NAME)), source))
}

fn read(path: &Path) -> Result<Kept> {
    let io = |source| Error::io(doing("reading", path), source);
    let about = fs::metadata(path).map_err(io)?;
    if about.permissions().mode() & OTHERS != 0 {
        let problem = "others than its owner may use the file, so its key may be known; \
                       remove it to make a new key, or `chmod 600` it if you know better";
        return Err(Error::invalid(path.display().to_string(), problem));
    }
    if about.len() > FILE_MAX {
        return Err(damaged(path));
    }
    let text = Zeroizing::new(fs::read(path).map_err(io)?);
    // Serde's message could quote the file.
    serde_json::from_slice(&text).map_err(|_| damaged(path))
}

fn keyring(path: &Path, kept: &Kept) -> Result<Keyring> {
    let key = |secret: &Secret| {
        let bytes = URL_SAFE_NO_PAD.decode(secret.expose()).map(Zeroizing::new);
        let bytes = bytes.map_err(|_| damaged(path))?;
        SigningKey::hs256("signing", &bytes).map_err(|_| damaged(path))
    };
    let previous = kept.previous.as_ref().map(key).transpose()?;
    Keyring::new(key(&kept.current)?, previous).map_err(|_| damaged(path))
}

fn damaged(path: &Path) -> Error {
    Error::Corrupt {
        path: PathBuf::from(path),
        offset: 0,
        what: "it holds no signing key; remove it to make a new one, \
               which ends all tokens signed so far"
            .into(),
    }
}
