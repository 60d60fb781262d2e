//! The keys of a store in its backup: without them the restored store would refuse the cursors, leases and tokens that the
//! original gave out, and sign webhooks differently.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::super::{Options, open as folder};
use super::checksummed::{self, Checksummed};
use super::passphrase::{Passphrase, Sealed};
use crate::error::{Error, Result};

const KEYS: &str = "keys.weir";
/// Bytes of one file of keys, at most.
const FILE_MAX: usize = 64 * 1024;
/// Bytes of all keys and their encryption, at most.
const SEALED_MAX: u64 = 1024 * 1024;

/// The keys of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeysReport {
    /// Number of key files.
    pub count: u64,
    /// Length of the file that has them, in bytes.
    pub bytes: u64,
    /// CRC-32 of that file.
    pub checksum: u32,
}

/// The keys of a backup in clear.
pub(super) struct Keys(BTreeMap<String, Zeroizing<Vec<u8>>>);

/// Encrypts the keys of the store into the backup `to`.
pub(super) fn backup(options: &Options, to: &Path, passphrase: &Passphrase) -> Result<KeysReport> {
    let keys = Keys::read(options)?;
    let sealed = passphrase.seal(&keys.to_text()?)?;
    let text = serde_json::to_vec_pretty(&sealed)
        .map_err(|source| Error::backend("writing the keys", source))?;
    let writing = |source| Error::io(format!("writing the backup {}", to.display()), source);
    let mut out = Checksummed::create(&to.join(KEYS)).map_err(writing)?;
    out.put(&text).map_err(writing)?;
    let (bytes, checksum) = out.finish().map_err(writing)?;
    Ok(KeysReport { count: keys.0.len() as u64, bytes, checksum })
}

/// Decrypts the keys of the backup `from`.
pub(super) fn open(from: &Path, report: &KeysReport, passphrase: &Passphrase) -> Result<Keys> {
    let path = from.join(KEYS);
    checksummed::verify(&path, report.bytes, report.checksum)?;
    let damaged = |what: &str| Error::Corrupt { path: path.clone(), offset: 0, what: what.into() };
    if report.bytes > SEALED_MAX {
        return Err(damaged("is too long for keys"));
    }
    let text = fs::read(&path)
        .map_err(|source| Error::io(format!("reading {}", path.display()), source))?;
    let sealed: Sealed =
        serde_json::from_slice(&text).map_err(|_| damaged("does not have the form of keys"))?;
    Keys::from_text(&passphrase.open(&sealed)?).ok_or_else(|| damaged("contains no keys"))
}

impl Keys {
    /// Reads the keys in the folder of the store. A file that is missing has not been made, or configuration sets its key.
    fn read(options: &Options) -> Result<Keys> {
        let names = options.key_files.iter().map(String::as_str).chain([folder::CURSOR_KEY]);
        let mut keys = BTreeMap::new();
        for name in names {
            let path = options.dir.join(name);
            match fs::read(&path).map(Zeroizing::new) {
                Ok(key) if key.len() <= FILE_MAX => keys.insert(name.to_owned(), key),
                Ok(_) => {
                    let problem = format!("{} is too long for a key", path.display());
                    return Err(Error::invalid("key file", problem));
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(source) => {
                    return Err(Error::io(format!("reading {}", path.display()), source));
                }
            };
        }
        Ok(Keys(keys))
    }

    fn to_text(&self) -> Result<Zeroizing<Vec<u8>>> {
        let texts: BTreeMap<&str, Zeroizing<String>> = self
            .0
            .iter()
            .map(|(name, key)| (name.as_str(), Zeroizing::new(STANDARD.encode(key.as_slice()))))
            .collect();
        let texts: BTreeMap<&str, &str> =
            texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        serde_json::to_vec(&texts)
            .map(Zeroizing::new)
            .map_err(|source| Error::backend("writing the keys", source))
    }

    fn from_text(text: &[u8]) -> Option<Keys> {
        let texts: BTreeMap<String, Zeroizing<String>> =
            serde_json::from_slice::<BTreeMap<String, String>>(text)
                .ok()?
                .into_iter()
                .map(|(name, text)| (name, Zeroizing::new(text)))
                .collect();
        let decode = |(name, text): (String, Zeroizing<String>)| {
            // A key is a file of the data folder itself.
            let is_name = Path::new(&name).file_name().is_some_and(|file| file == name.as_str());
            let key = STANDARD.decode(text.as_bytes()).ok().filter(|_| is_name)?;
            Some((name, Zeroizing::new(key)))
        };
        texts.into_iter().map(decode).collect::<Option<_>>().map(Keys)
    }

    /// Writes the keys into the restored folder `to`.
    pub(super) fn write(&self, to: &Path) -> Result<()> {
        self.0.iter().try_for_each(|(name, key)| folder::write_durably(to, name, key))
    }
}
