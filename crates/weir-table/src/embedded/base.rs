//! The base store: the key-value store that commits are folded into. The only module that uses fjall.
//!
//! It needs no durability of its own: the log is trimmed only as far as [`Base::persist`] has synced. A fold is one atomic
//! batch, with the sequence number that it reaches in every keyspace. fjall makes keyspaces durable one by one, so after a
//! power cut they may be at different folds: the store is at the oldest of them, and the log replays the rest (ADR 0041).
//!
//! fjall takes no writes any more once one of them found no room. [`Base::reopen`] puts a new instance in its place.

pub(super) mod journal;
mod opened;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fjall::{AbstractTree as _, Database, Keyspace, PersistMode, Readable as _, Slice};
use parking_lot::RwLock;

use super::dirty::{Generation, SPACES, Space};
use super::keys::KeyRange;
use super::log::scan::REPAIR;
use crate::error::{Error, Result};
use journal::Cut;
use opened::{APPLIED, APPLIED_EVERYWHERE, APPLIED_IN_SPACE, KEYSPACES, Opened, failed};

/// Level-0 tables at which a fold waits. fjall itself sleeps in `commit` from 20 on.
const LEVEL0_TABLES_MAX: usize = 12;
/// Interval at which a waiting fold checks again, and the number of checks.
const QUIET_STEP: Duration = Duration::from_millis(2);
const QUIET_STEPS_MAX: u32 = 5_000;
/// Checks after which a waiting fold asks whether the store still works. fjall's threads end without a word.
const STEPS_UNTIL_ASKED: u32 = 16;
/// Interval at which a reopening checks whether iterators are left, and the number of checks. No read begins meanwhile.
const ALONE_STEP: Duration = Duration::from_millis(2);
const ALONE_STEPS_MAX: u32 = 50;

/// The store below the dirty set.
pub(super) struct Base {
    dir: PathBuf,
    cache_bytes: u64,
    /// Missing while the store is being opened again, and if that found no room.
    opened: RwLock<Option<Arc<Opened>>>,
    /// Level-0 tables of the keyspace that has most, as the last fold saw them.
    level0_tables: AtomicUsize,
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Base")
    }
}

/// A store that could not be opened though its files can be read.
fn damaged(dir: &Path, error: Error) -> Error {
    match error {
        Error::Backend { doing, source } => Error::Corrupt {
            path: dir.to_owned(),
            offset: 0,
            what: format!("{doing} failed ({source}): {REPAIR}"),
        },
        error => error,
    }
}

/// Syncs a folder and all folders in it.
fn sync_folders(dir: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    std::fs::File::open(dir)?.sync_all()
}

/// Whether the store takes no more writes because of a failure that it does not name.
pub(super) fn is_poisoned(error: &Error) -> bool {
    let Error::Backend { source, .. } = error else { return false };
    matches!(source.downcast_ref(), Some(fjall::Error::Poisoned))
}

fn being_opened() -> Error {
    Error::Unavailable("it is being opened again after the disk was full".to_owned())
}

/// Refuses a base store that lost a file without which fjall would create an empty one in its place.
fn check_present(dir: &Path) -> Result<()> {
    let mut required = vec![dir.join("version"), dir.join("keyspaces/0/current")];
    if let Ok(keyspaces) = std::fs::read_dir(dir.join("keyspaces")) {
        let folders = keyspaces.filter_map(|entry| Some(entry.ok()?.path()));
        required.extend(folders.filter(|path| path.is_dir()).map(|path| path.join("current")));
    }
    match required.into_iter().find(|path| !path.exists()) {
        None => Ok(()),
        Some(path) => {
            Err(Error::Corrupt { path, offset: 0, what: format!("it is missing: {REPAIR}") })
        }
    }
}

impl Base {
    /// Creates a store in `dir`, which is empty or missing, with memtables of this size or of the usual ones.
    pub(super) fn create(
        dir: &Path,
        cache_bytes: u64,
        memtable_bytes: Option<u64>,
    ) -> Result<Base> {
        let base = Base::start(dir, cache_bytes, memtable_bytes, |_| Ok(()))?;
        base.load([], Some(0))?;
        base.persist()?;
        // fjall syncs what is in its folders, but not the names of the keyspaces' folders.
        sync_folders(dir)
            .map_err(|source| Error::io(format!("making {} durable", dir.display()), source))?;
        Ok(base)
    }

    /// Opens the complete store in `dir`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a file is missing or damaged.
    pub(super) fn open(dir: &Path, cache_bytes: u64) -> Result<Base> {
        check_present(dir)?;
        let base = Base::start_complete(dir, cache_bytes).map_err(|error| damaged(dir, error))?;
        let applied = base.sequence(Space::Meta, APPLIED)?;
        if base.sequence(Space::Meta, APPLIED_EVERYWHERE)? != applied {
            // From now on a power cut may leave keyspaces at different folds.
            base.load([], Some(applied.unwrap_or(0)))?;
            base.persist()?;
        }
        Ok(base)
    }

    /// Opens the store in `dir`, a copy, without the keyspaces that cannot be read: they become empty.
    pub(super) fn open_without(
        dir: &Path,
        cache_bytes: u64,
        without: &[&'static str],
    ) -> Result<Base> {
        if without.is_empty() {
            return Base::open(dir, cache_bytes);
        }
        for name in without {
            let number = KEYSPACES.iter().position(|(other, _)| other == name).unwrap_or_default();
            let path = dir.join(format!("keyspaces/{}", number + 1));
            std::fs::remove_dir_all(&path)
                .or_else(|error| match error.kind() {
                    std::io::ErrorKind::NotFound => Ok(()),
                    _ => Err(error),
                })
                .map_err(|source| Error::io(format!("deleting {}", path.display()), source))?;
        }
        Base::start(dir, cache_bytes, None, |_| Ok(())).map_err(|error| damaged(dir, error))
    }

    /// The last sequence number that was folded into items and metadata, whichever of them can be read. Index and expiry
    /// entries do not count: they follow from the items.
    pub(super) fn applied_without(&self, without: &[&'static str]) -> Result<u64> {
        let meta = self.sequence(Space::Meta, APPLIED)?;
        let items = self.sequence(Space::Items, APPLIED_IN_SPACE)?;
        let applied = match (without.contains(&"meta"), without.contains(&"items")) {
            (_, true) => None,
            (true, false) => items,
            (false, false) if self.sequence(Space::Meta, APPLIED_EVERYWHERE)? != meta => meta,
            (false, false) => meta.min(items),
        };
        Ok(applied.unwrap_or(0))
    }

    /// Compares every table file with its checksum. Calls `each` with its keyspace, its path and whether it is sound.
    pub(super) fn check_tables(&self, mut each: impl FnMut(Space, &Path, bool)) -> Result<()> {
        let opened = self.opened()?;
        for space in SPACES {
            let keyspace = opened.space(space);
            for table in keyspace.tree.current_version().iter_tables() {
                let path = keyspace.path().join("tables").join(table.id().to_string());
                let reading = |source| Error::io(format!("reading {}", path.display()), source);
                let checksum = journal::checksum(&path).map_err(reading)?;
                each(space, &path, checksum == table.checksum().into_u128());
            }
        }
        Ok(())
    }

    /// Calls `each` with the entries of a range, around a part that cannot be read: from the front, then from the back.
    /// Returns the failure if there is such a part.
    pub(super) fn walk(
        &self,
        space: Space,
        range: &KeyRange,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<Option<Error>> {
        let mut last: Option<Slice> = None;
        let mut failure = None;
        for next in self.range(space, range, false) {
            match next {
                Ok((key, _)) if *key == *APPLIED_IN_SPACE => {}
                Ok((key, value)) => {
                    each(&key, &value)?;
                    last = Some(key);
                }
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        if failure.is_none() {
            return Ok(None);
        }
        for next in self.range(space, range, true) {
            match next {
                Ok((key, value)) if last.as_ref().is_none_or(|last| key > *last) => {
                    if *key != *APPLIED_IN_SPACE {
                        each(&key, &value)?;
                    }
                }
                _ => break,
            }
        }
        Ok(failure)
    }

    fn start_complete(dir: &Path, cache_bytes: u64) -> Result<Base> {
        let opened = Opened::start_complete(dir, cache_bytes)?;
        Ok(Base::new(dir, cache_bytes, opened))
    }

    fn start(
        dir: &Path,
        cache_bytes: u64,
        memtable_bytes: Option<u64>,
        check: impl FnOnce(&Database) -> Result<()>,
    ) -> Result<Base> {
        let opened = Opened::start(dir, cache_bytes, memtable_bytes, check)?;
        Ok(Base::new(dir, cache_bytes, opened))
    }

    fn new(dir: &Path, cache_bytes: u64, opened: Opened) -> Base {
        Base {
            dir: dir.to_owned(),
            cache_bytes,
            opened: RwLock::new(Some(Arc::new(opened))),
            level0_tables: AtomicUsize::new(0),
        }
    }

    /// The open instance, for one call. Held briefly: reopening waits for it.
    fn with<T>(&self, run: impl FnOnce(&Opened) -> Result<T>) -> Result<T> {
        run(self.opened.read().as_deref().ok_or_else(being_opened)?)
    }

    /// The open instance, for as long as it is held: the store is not opened again before.
    fn opened(&self) -> Result<Arc<Opened>> {
        self.opened.read().clone().ok_or_else(being_opened)
    }

    /// The value of a key. Blocks.
    pub(super) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Slice>> {
        self.with(|opened| opened.space(space).get(key).map_err(failed("reading the store")))
    }

    /// Whether no table is being installed, which would block readers for a moment.
    pub(super) fn is_calm(&self) -> bool {
        // Nor is the store being opened again.
        self.opened.try_read().is_some_and(|opened| {
            opened.as_ref().is_some_and(|opened| {
                opened.db.active_compactions() == 0 && opened.db.outstanding_flushes() == 0
            })
        })
    }

    /// Fails if the store takes no more writes. Blocks.
    pub(super) fn check_writable(&self) -> Result<()> {
        self.with(Opened::check_writable)
    }

    /// The keys of a range, from its front or its back. Blocks.
    pub(super) fn range(
        &self,
        space: Space,
        range: &KeyRange,
        reverse: bool,
    ) -> impl Iterator<Item = Result<(Slice, Slice)>> + use<> {
        let (mut entries, mut failure) = match self.opened() {
            Ok(opened) => {
                let keys = opened.space(space).range(range.low.clone()..range.high.clone());
                (Some(Entries { keys, _opened: opened }), None)
            }
            Err(error) => (None, Some(Err(error))),
        };
        std::iter::from_fn(move || {
            let Some(Entries { keys, .. }) = &mut entries else { return failure.take() };
            let next = if reverse { keys.next_back() } else { keys.next() };
            next.map(|guard| guard.into_inner().map_err(failed("reading the store")))
        })
    }

    /// The last sequence number that was folded into every keyspace.
    pub(super) fn applied(&self) -> Result<u64> {
        let applied = self.sequence(Space::Meta, APPLIED)?;
        if self.sequence(Space::Meta, APPLIED_EVERYWHERE)? != applied {
            return Ok(applied.unwrap_or(0));
        }
        let mut oldest = applied.unwrap_or(0);
        for space in [Space::Items, Space::Index, Space::Ttl] {
            oldest = oldest.min(self.sequence(space, APPLIED_IN_SPACE)?.unwrap_or(0));
        }
        Ok(oldest)
    }

    fn sequence(&self, space: Space, key: &[u8]) -> Result<Option<u64>> {
        let bytes = self.get(space, key)?;
        let damaged = |_| Error::backend("reading the applied sequence", "it is damaged");
        let bytes = bytes.as_deref().map(<[u8; 8]>::try_from).transpose().map_err(damaged)?;
        Ok(bytes.map(u64::from_be_bytes))
    }

    /// Backlog of compactions, in percent of the point at which a fold waits.
    pub(super) fn backlog(&self) -> u64 {
        let tables = self.level0_tables.load(Ordering::Relaxed);
        (tables * 100 / LEVEL0_TABLES_MAX) as u64
    }

    fn count_level0(&self, opened: &Opened) -> usize {
        let tables = opened.spaces.iter().map(Keyspace::l0_table_count).max().unwrap_or(0);
        self.level0_tables.store(tables, Ordering::Relaxed);
        tables
    }

    /// Waits until earlier folds are compacted, so that `commit` does not sleep.
    fn wait_quiet(&self, opened: &Opened) -> Result<()> {
        for step in 0..QUIET_STEPS_MAX {
            let behind = self.count_level0(opened) >= LEVEL0_TABLES_MAX;
            let flushing = opened.db.outstanding_flushes() > 0
                || opened.spaces.iter().any(|space| space.sealed_memtable_count() > 0);
            let busy = behind || flushing;
            if !busy {
                break;
            }
            if step % STEPS_UNTIL_ASKED == 0 {
                opened.check_writable()?;
            }
            std::thread::sleep(QUIET_STEP);
        }
        Ok(())
    }

    /// Folds a generation in, up to `applied`. Blocks.
    pub(super) fn fold(&self, generation: &Generation, applied: u64) -> Result<()> {
        let opened = self.opened()?;
        self.wait_quiet(&opened)?;
        let mut batch = opened.db.batch();
        for space in SPACES {
            let keyspace = opened.space(space);
            generation.for_each(space, |key, entry| match entry.payload.bytes() {
                Some(bytes) => batch.insert(keyspace, key.as_slice(), bytes),
                None => batch.remove(keyspace, key.as_slice()),
            });
        }
        opened.put_applied(&mut batch, applied);
        opened.commit(batch, "folding commits into the store")
    }

    /// Writes raw entries and the applied sequence; for restoring a backup. Blocks.
    pub(super) fn load(
        &self,
        entries: impl IntoIterator<Item = (Space, Vec<u8>, Vec<u8>)>,
        applied: Option<u64>,
    ) -> Result<()> {
        self.with(|opened| {
            let mut batch = opened.db.batch();
            for (space, key, value) in entries {
                batch.insert(opened.space(space), key, value);
            }
            if let Some(applied) = applied {
                opened.put_applied(&mut batch, applied);
            }
            opened.commit(batch, "loading the store")
        })
    }

    /// Removes keys. Blocks.
    pub(super) fn remove<K: Into<Slice>>(&self, space: Space, keys: Vec<K>) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        self.with(|opened| {
            let mut batch = opened.db.batch();
            keys.into_iter().for_each(|key| batch.remove(opened.space(space), key.into()));
            opened.commit(batch, "removing keys from the store")
        })
    }

    /// Syncs everything folded so far, so that it survives a power cut. Blocks.
    pub(super) fn persist(&self) -> Result<()> {
        self.opened()?.db.persist(PersistMode::SyncAll).map_err(failed("making the store durable"))
    }

    /// Bytes of room that [`Base::reopen`] needs.
    pub(super) fn room_to_reopen(&self) -> Result<u64> {
        journal::room_to_renew(&self.dir)
    }

    /// Checks that so many bytes can be written. Blocks.
    pub(super) fn check_room(&self, bytes: u64) -> Result<()> {
        journal::check_room(&self.dir, bytes)
    }

    /// Opens the store again after it took no more writes. Reads wait meanwhile. Returns false if an iterator or a snapshot
    /// still uses it. Blocks.
    ///
    /// What is cut from its journal is kept in the folder `aside`, and added to `cuts`.
    ///
    /// # Errors
    /// If there is no room for it, reads fail until the next try succeeds.
    pub(super) fn reopen(&self, aside: &Path, cuts: &mut Vec<Cut>) -> Result<bool> {
        let mut slot = self.opened.write();
        let is_alone = |slot: &Option<Arc<Opened>>| {
            slot.as_ref().is_none_or(|opened| Arc::strong_count(opened) == 1)
        };
        for _ in 0..ALONE_STEPS_MAX {
            if is_alone(&slot) {
                break;
            }
            std::thread::sleep(ALONE_STEP);
        }
        if !is_alone(&slot) {
            return Ok(false);
        }
        // Ends its threads and frees its lock.
        *slot = None;
        cuts.extend(journal::cut_torn_end(&self.dir, aside)?);
        journal::renew(&self.dir)?;
        check_present(&self.dir)?;
        *slot = Some(Arc::new(Opened::start_complete(&self.dir, self.cache_bytes)?));
        Ok(true)
    }
}

/// Keys of a range. The iterator is dropped before the instance that it reads.
struct Entries {
    keys: fjall::Iter,
    _opened: Arc<Opened>,
}

/// A snapshot of the base store.
pub(super) struct Snapshot {
    snapshot: fjall::Snapshot,
    opened: Arc<Opened>,
}

impl Base {
    /// Takes a snapshot.
    pub(super) fn snapshot(&self) -> Result<Snapshot> {
        let opened = self.opened()?;
        Ok(Snapshot { snapshot: opened.db.snapshot(), opened })
    }
}

impl Snapshot {
    /// Approximate number of entries.
    pub(super) fn len_estimate(&self) -> u64 {
        self.opened.spaces.iter().map(|space| space.approximate_len() as u64).sum()
    }

    /// The value of a key. Blocks.
    pub(super) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Slice>> {
        self.snapshot
            .get(self.opened.space(space), key)
            .map_err(failed("reading the store's snapshot"))
    }

    /// Every entry of a space, in order. Blocks.
    pub(super) fn entries(
        &self,
        space: Space,
    ) -> impl Iterator<Item = Result<(Slice, Slice)>> + use<> {
        let is_entry = |next: &Result<(Slice, Slice)>| {
            next.as_ref().map_or(true, |(key, _)| **key != *APPLIED_IN_SPACE)
        };
        self.snapshot
            .iter(self.opened.space(space))
            .map(|guard| guard.into_inner().map_err(failed("reading the store's snapshot")))
            .filter(is_entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(base: &Base, applied: u64) {
        base.load([(Space::Items, vec![0, 0, 0, 1], vec![1])], Some(applied)).unwrap();
    }

    #[test]
    fn the_store_is_at_the_oldest_fold_of_its_keyspaces() {
        let dir = tempfile::tempdir().unwrap();
        let base = Base::create(dir.path(), 0, None).unwrap();
        assert_eq!(base.applied().unwrap(), 0);
        folded(&base, 7);
        assert_eq!(base.applied().unwrap(), 7);
        base.load([(Space::Ttl, APPLIED_IN_SPACE.to_vec(), 5u64.to_be_bytes().to_vec())], None)
            .unwrap();
        assert_eq!(base.applied().unwrap(), 5);
    }

    #[test]
    fn a_fold_of_an_older_version_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let base = Base::create(dir.path(), 0, None).unwrap();
        folded(&base, 7);
        // It knows only the first copy.
        base.load([(Space::Meta, APPLIED.to_vec(), 9u64.to_be_bytes().to_vec())], None).unwrap();
        assert_eq!(base.applied().unwrap(), 9);
        drop(base);
        let base = Base::open(dir.path(), 0).unwrap();
        assert_eq!(base.sequence(Space::Index, APPLIED_IN_SPACE).unwrap(), Some(9));
        assert_eq!(base.applied().unwrap(), 9);
    }

    #[test]
    fn a_snapshot_does_not_show_the_sequence_numbers_of_folds() {
        let dir = tempfile::tempdir().unwrap();
        let base = Base::create(dir.path(), 0, None).unwrap();
        folded(&base, 7);
        let snapshot = base.snapshot().unwrap();
        let entries = |space| snapshot.entries(space).count();
        assert_eq!((entries(Space::Items), entries(Space::Index), entries(Space::Ttl)), (1, 0, 0));
    }

    #[test]
    fn a_store_is_opened_again_when_nobody_uses_it_and_has_all_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store");
        let base = Base::create(&store, 0, None).unwrap();
        folded(&base, 7);
        let reopen = || base.reopen(&dir.path().join("damaged"), &mut Vec::new()).unwrap();
        let snapshot = base.snapshot().unwrap();
        assert!(!reopen(), "a snapshot uses it");
        assert_eq!(snapshot.entries(Space::Items).count(), 1);
        drop(snapshot);
        assert!(reopen());
        assert_eq!(base.applied().unwrap(), 7);
        folded(&base, 8);
        drop(base);
        assert_eq!(Base::open(&store, 0).unwrap().applied().unwrap(), 8);
    }

    #[test]
    fn a_torn_batch_is_cut_when_the_store_is_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store");
        let base = Base::create(&store, 0, None).unwrap();
        folded(&base, 7);
        let journal = store.join("0.jnl");
        let bytes = std::fs::read(&journal).unwrap();
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        // The beginning of another batch.
        let torn = [&bytes[..end], &bytes[..10]].concat();
        std::fs::write(&journal, torn).unwrap();
        let mut cuts = Vec::new();
        assert!(base.reopen(&dir.path().join("damaged"), &mut cuts).unwrap());
        assert_eq!(cuts.len(), 1);
        assert_eq!(base.applied().unwrap(), 7);
        folded(&base, 8);
        drop(base);
        assert_eq!(Base::open(&store, 0).unwrap().applied().unwrap(), 8);
    }
}
