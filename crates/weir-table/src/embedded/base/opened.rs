//! An open instance of fjall with the keyspaces of the store.

use std::io::ErrorKind::{QuotaExceeded, StorageFull};
use std::path::Path;
use std::sync::Arc;

use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, CompressionPolicy};
use fjall::{
    CompressionType, Database, Keyspace, KeyspaceCreateOptions, LsmError, OwnedWriteBatch,
    PersistMode,
};

use super::super::background;
use super::super::dirty::Space;
use crate::error::{Error, Result};

/// The sequence number that a keyspace has reached. In the meta space it has a name of its own, and a second copy: a version
/// that knows only the first one does not change the second, and so shows that it was here.
pub(super) const APPLIED: &[u8] = b"applied";
pub(super) const APPLIED_EVERYWHERE: &[u8] = b"applied-everywhere";
/// After the keys of every table and of every expiry.
pub(super) const APPLIED_IN_SPACE: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xffapplied";
const MIB: u64 = 1024 * 1024;
/// The keyspaces, in the order in which they are created and numbered, and the sizes of their memtables in bytes.
pub(super) const KEYSPACES: [(&str, u64); 4] =
    [("items", 8 * MIB), ("index", 8 * MIB), ("ttl", 2 * MIB), ("meta", MIB)];
const JOURNAL_BYTES_MAX: u64 = 128 * MIB;

/// An open instance of fjall. Iterators and snapshots hold it.
pub(super) struct Opened {
    pub(super) db: Database,
    pub(super) spaces: [Keyspace; 4],
}

impl Opened {
    pub(super) fn start_complete(dir: &Path, cache_bytes: u64) -> Result<Opened> {
        Opened::start(dir, cache_bytes, None, |db| {
            let lost = KEYSPACES.into_iter().find(|(name, _)| !db.keyspace_exists(name));
            match lost {
                None => Ok(()),
                Some((name, _)) => Err(Error::Corrupt {
                    path: dir.join("keyspaces"),
                    offset: 0,
                    what: format!(
                        "the keyspace {name:?} is missing: run `weir repair`, or restore a backup"
                    ),
                }),
            }
        })
    }

    pub(super) fn start(
        dir: &Path,
        cache_bytes: u64,
        memtable_bytes: Option<u64>,
        check: impl FnOnce(&Database) -> Result<()>,
    ) -> Result<Opened> {
        let database = Database::builder(dir)
            .cache_size(cache_bytes)
            .max_journaling_size(JOURNAL_BYTES_MAX)
            // With one worker, memtable rotation queues behind compactions, and memory is unbounded.
            .worker_threads(2)
            .max_cached_files(Some(256))
            .journal_compression(CompressionType::None)
            .manual_journal_persist(true);
        let db = background::with_low_priority(|| {
            database.open().map_err(|error| match error {
                fjall::Error::Io(source) => Error::io("opening the key-value store", source),
                error => failed("opening the key-value store")(error),
            })
        })?;
        check(&db)?;
        let keyspace = |(name, usual_bytes): (&str, u64)| {
            db.keyspace(name, || keyspace_options(memtable_bytes.unwrap_or(usual_bytes)))
                .map_err(failed("opening a keyspace"))
        };
        let [items, index, ttl, meta] = KEYSPACES;
        let spaces = [keyspace(items)?, keyspace(index)?, keyspace(ttl)?, keyspace(meta)?];
        Ok(Opened { db, spaces })
    }

    pub(super) fn space(&self, space: Space) -> &Keyspace {
        keyspace_of(&self.spaces, space)
    }

    /// Puts the sequence number that a batch reaches into every keyspace.
    pub(super) fn put_applied(&self, batch: &mut OwnedWriteBatch, applied: u64) {
        let value = applied.to_be_bytes();
        batch.insert(self.space(Space::Meta), APPLIED, value);
        batch.insert(self.space(Space::Meta), APPLIED_EVERYWHERE, value);
        for space in [Space::Items, Space::Index, Space::Ttl] {
            batch.insert(self.space(space), APPLIED_IN_SPACE, value);
        }
    }

    /// Commits a batch and hands it to the operating system, so that nothing waits in fjall's memory: neither a full disk
    /// nor a reopening can take it then.
    pub(super) fn commit(&self, batch: OwnedWriteBatch, doing: &'static str) -> Result<()> {
        batch.commit().and_then(|()| self.db.persist(PersistMode::Buffer)).map_err(failed(doing))
    }

    /// Fails if fjall takes no more writes.
    pub(super) fn check_writable(&self) -> Result<()> {
        self.db.persist(PersistMode::Buffer).map_err(failed("writing to the store"))
    }
}

/// The keyspace of a space.
fn keyspace_of(spaces: &[Keyspace; 4], space: Space) -> &Keyspace {
    let [items, index, ttl, meta] = spaces;
    match space {
        Space::Items => items,
        Space::Index => index,
        Space::Ttl => ttl,
        Space::Meta => meta,
    }
}

/// Small tables and memtables: fjall blocks readers while it installs a table or frees a memtable, for a time that grows
/// with their size.
fn keyspace_options(memtable_bytes: u64) -> KeyspaceCreateOptions {
    let compression = [CompressionType::None, CompressionType::None, CompressionType::Lz4];
    KeyspaceCreateOptions::default()
        .max_memtable_size(memtable_bytes)
        .manual_journal_persist(true)
        .data_block_size_policy(BlockSizePolicy::all(4 * 1024))
        .data_block_compression_policy(CompressionPolicy::new(compression))
        .expect_point_read_hits(false)
        .compaction_strategy(Arc::new(
            Leveled::default().with_l0_threshold(4).with_table_target_size(8 * MIB),
        ))
}

pub(super) fn failed(doing: &'static str) -> impl Fn(fjall::Error) -> Error {
    move |source| match source {
        // So that a full disk is found as such.
        fjall::Error::Io(source) | fjall::Error::Storage(LsmError::Io(source))
            if matches!(source.kind(), StorageFull | QuotaExceeded) =>
        {
            Error::io(doing, source)
        }
        source => Error::backend(doing, source),
    }
}
