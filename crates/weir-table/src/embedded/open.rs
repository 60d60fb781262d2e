//! Opens a folder: takes its lock, checks its format, and replays the log.
//!
//! ```text
//! FORMAT      number of the data format; written last, when the store is complete
//! CREATING    the same number, until the store is complete
//! LOCK        held by the process that has the store open
//! cursor.key  the key that seals cursors
//! log/        commits, in segments named by their first sequence number
//! store/      the base store that they are folded into
//! damaged/    parts of files that were cut, and files that a repair replaced
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use super::base::{Base, journal};
use super::catalog::{Catalog, DROPPED_PREFIX, TABLE_PREFIX};
use super::checkpoint;
use super::creation;
use super::dirty::{Generation, Space};
use super::engine::{Engine, Parts};
use super::keys::KeyRange;
use super::log::{Log, scan};
use super::{Options, Stats};
use crate::cursor::CursorKey;
use crate::error::{Error, Result};

/// The format that this version writes, and the newest that it reads.
pub(super) const FORMAT: u32 = 1;

/// Folder for damaged parts of files, until they are known to be replaced.
pub(super) const DAMAGED: &str = "damaged";

/// Marker file in a folder while a repair replaces its files.
pub(super) const REPAIRING: &str = "REPAIRING";

/// Marker file in a folder while a backup is restored into it.
pub(super) const RESTORING: &str = "RESTORING";

/// The file of the key that seals cursors.
pub(super) const CURSOR_KEY: &str = "cursor.key";

/// Opens or creates the store in `options.dir`.
pub(super) fn open(options: Options) -> Result<(Engine, CursorKey)> {
    let dir = options.dir.clone();
    // Before anything is created, and again under the lock.
    read_format(&dir)?;
    creation::make_folder(&dir)?;
    let lock = lock(&dir)?;
    let is_new = !read_format(&dir)?;
    let mut cut = None;
    if is_new {
        creation::begin(&dir)?;
    }
    let cursor_key = cursor_key(&dir)?;
    let (store, log_dir) = (dir.join("store"), dir.join("log"));
    let base = if is_new {
        Base::create(&store, options.cache_bytes / 2, options.memtable_bytes)?
    } else {
        scan::check_present(&log_dir)?;
        cut = journal::cut_torn_end(&store, &dir.join(DAMAGED))?;
        Base::open(&store, options.cache_bytes / 2)?
    };
    let applied = base.applied()?;
    let mut catalog = read_catalog(&base)?;
    let mut generation = Generation::default();
    let mut opened = Stats::default();
    let mut folded_to = applied;
    let disk = Arc::clone(&options.disk);
    let scanned = scan::replay(&log_dir, disk.as_ref(), applied, |header, body| {
        checkpoint::replay(&mut catalog, &generation, header, body)?;
        opened.replayed += 1;
        // A log larger than memory is folded during the replay.
        if generation.bytes() as u64 > options.dirty_bytes_max {
            base.fold(&generation, header.seq)?;
            folded_to = header.seq;
            generation = Generation::default();
        }
        Ok(())
    })?;
    if let Some(cut) = cut {
        cut.forget();
    }
    opened.cut_bytes = scanned.cut_bytes;
    let log = Log::open(
        &log_dir,
        Arc::clone(&options.disk),
        options.segment_bytes_max,
        scanned.segments,
        scanned.last_seq,
    )?;
    log.sync()?;
    if is_new {
        creation::finish(&dir)?;
    }
    let parts = Parts {
        catalog,
        replayed: generation,
        log,
        base,
        applied: folded_to,
        // Folds of the replay are not synced.
        persisted: applied,
        opened,
        lock,
    };
    Ok((Engine::new(options, parts), cursor_key))
}

pub(super) fn lock(dir: &Path) -> Result<File> {
    let path = dir.join("LOCK");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|source| Error::io(format!("opening {}", path.display()), source))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::InUse { path: dir.to_owned() }),
        Err(TryLockError::Error(source)) => {
            Err(Error::io(format!("locking {}", path.display()), source))
        }
    }
}

/// Refuses a folder of a newer format, or of an unfinished restore. Returns whether the folder has a format.
pub(super) fn read_format(dir: &Path) -> Result<bool> {
    if dir.join(RESTORING).exists() {
        return Err(Error::Corrupt {
            path: dir.to_owned(),
            offset: 0,
            what: "a restore into it did not finish: empty the folder and restore again".into(),
        });
    }
    if dir.join(REPAIRING).exists() {
        return Err(Error::Corrupt {
            path: dir.to_owned(),
            offset: 0,
            what: "a repair of it did not finish: run `weir repair` again".into(),
        });
    }
    let path = dir.join("FORMAT");
    match fs::read_to_string(&path) {
        Ok(text) => {
            let found: u32 = text.trim().parse().map_err(|_| Error::Corrupt {
                path: path.clone(),
                offset: 0,
                what: "is not a format number".into(),
            })?;
            if found > FORMAT {
                return Err(Error::NewerFormat { path: dir.to_owned(), found, known: FORMAT });
            }
            Ok(true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(Error::io(format!("reading {}", path.display()), source)),
    }
}

/// Writes a small file atomically and durably.
pub(super) fn write_durably(dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let (path, draft) = (dir.join(name), dir.join(format!("{name}.new")));
    let write = || -> std::io::Result<()> {
        let mut file =
            OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, &path)?;
        File::open(dir)?.sync_all()
    };
    write().map_err(|source| Error::io(format!("writing {}", path.display()), source))
}

fn cursor_key(dir: &Path) -> Result<CursorKey> {
    let path = dir.join(CURSOR_KEY);
    let reading = |source| Error::io(format!("reading {}", path.display()), source);
    match fs::read(&path) {
        Ok(bytes) => {
            let bytes = <[u8; 32]>::try_from(bytes).map_err(|_| Error::Corrupt {
                path: path.clone(),
                offset: 0,
                what: "is not a key of 32 bytes".into(),
            })?;
            Ok(CursorKey::new(bytes))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut bytes = [0u8; 32];
            File::open("/dev/urandom")
                .and_then(|mut f| f.read_exact(&mut bytes))
                .map_err(reading)?;
            write_durably(dir, CURSOR_KEY, &bytes)?;
            Ok(CursorKey::new(bytes))
        }
        Err(source) => Err(reading(source)),
    }
}

pub(super) fn read_catalog(base: &Base) -> Result<Catalog> {
    let mut catalog = Catalog::default();
    for prefix in [TABLE_PREFIX, DROPPED_PREFIX] {
        for next in base.range(Space::Meta, &KeyRange::of_prefix(vec![prefix]), false) {
            let (key, value) = next?;
            catalog.apply(&key, Some(&value)).map_err(|m| Error::backend("reading a table", m))?;
        }
    }
    Ok(catalog)
}
