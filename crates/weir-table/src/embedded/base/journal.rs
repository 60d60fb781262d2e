//! Cuts the torn end of the base store's journal, before fjall reads it.
//!
//! Folds are not synced one by one, so a power cut may leave any part of the last of them. fjall cuts a journal that simply
//! ends, but refuses one with a hole in an unsynced batch. The log has everything that a cut takes, unless the journal was
//! damaged where it had been synced. Only the log shows that, later; until then [`Cut`] keeps the bytes.
//!
//! ```text
//! start  1  items:4  sequence:8
//! item   2  kind:1  compression:1  keyspace:8  key length:2  value length:4  stored length:4  key  value
//! clear  4  keyspace:8
//! end    3  xxh3 of items:8  "FJL" 3
//! ```
//! The numbers are little-endian. Zeros follow the last batch. ADR 0041 says why this is known here.
//!
//! [`renew`] writes the journals anew before a store is opened again in the same process.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::error::{Error, Result};

const TRAILER: &[u8; 4] = b"FJL\x03";
/// Bytes of a journal that are compared with zeros at once.
const CHUNK: usize = 1024 * 1024;
/// The end of the name of a journal that is being written anew. fjall passes over it.
const DRAFT: &str = "jnl.new";
/// The unit of `st_blocks`.
const BLOCK_BYTES: u64 = 512;

/// What was cut from a journal, and where it is kept until the log has replaced it.
#[derive(Debug)]
pub(in super::super) struct Cut {
    /// The damaged journal, and the offset from which it was cut.
    pub(in super::super) journal: PathBuf,
    pub(in super::super) offset: u64,
    kept: Vec<PathBuf>,
}

impl Cut {
    /// Deletes what was cut: the log has all of it.
    pub(in super::super) fn forget(self) {
        for path in self.kept {
            if let Err(error) = fs::remove_file(&path) {
                tracing::warn!(%error, file = %path.display(), "a file that is no longer needed stays");
            }
        }
    }
}

/// Cuts everything after the last whole batch, if anything follows it, and keeps it in the folder `aside`.
pub(in super::super) fn cut_torn_end(store: &Path, aside: &Path) -> Result<Option<Cut>> {
    remove_drafts(store)?;
    let journals = list(store)?;
    for (number, journal) in journals.iter().enumerate() {
        let failed = |source| Error::io(format!("reading {}", journal.display()), source);
        let Some(offset) = find_damage(journal).map_err(failed)? else {
            continue;
        };
        // Later batches would leave a gap without this one.
        let later = journals.get(number + 1..).unwrap_or_default();
        let failed = |source| Error::io(format!("cutting {}", journal.display()), source);
        let kept = cut(store, aside, journal, offset, later).map_err(failed)?;
        tracing::warn!(
            journal = %journal.display(),
            offset,
            "cut the torn end of the base store's journal; the log has what it held"
        );
        return Ok(Some(Cut { journal: journal.clone(), offset, kept }));
    }
    Ok(None)
}

/// Writes the whole batches of every journal to a new file, syncs it, and puts it in the journal's place.
///
/// What the journals held is on disk then, even if an fsync of the old files failed. And nobody has the new files open: a
/// thread of the old instance that ends late still writes what its buffer held, to a file that has no name any more.
pub(in super::super) fn renew(store: &Path) -> Result<()> {
    for journal in list(store)? {
        let renewing = |source| Error::io(format!("renewing {}", journal.display()), source);
        let draft = journal.with_extension(DRAFT);
        if let Err(source) = copy_batches(&journal, &draft) {
            let _ = fs::remove_file(&draft);
            return Err(renewing(source));
        }
        fs::rename(&draft, &journal).map_err(renewing)?;
    }
    let syncing = |source| Error::io(format!("syncing {}", store.display()), source);
    File::open(store).and_then(|folder| folder.sync_all()).map_err(syncing)
}

/// Checks that so many bytes can be written. The free space that the file system reports does not show a quota.
pub(in super::super) fn check_room(store: &Path, bytes: u64) -> Result<()> {
    let draft = store.join(format!("room.{DRAFT}"));
    let write = || -> io::Result<()> {
        let mut file =
            OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
        io::copy(&mut io::repeat(0).take(bytes), &mut file).map(|_| ())
    };
    let written = write();
    fs::remove_file(&draft)
        .or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })
        .and(written)
        .map_err(|source| Error::io(format!("looking for room in {}", store.display()), source))
}

/// Bytes of room that [`renew`] needs: those of the largest journal.
pub(in super::super) fn room_to_renew(store: &Path) -> Result<u64> {
    let mut room = 0;
    for journal in list(store)? {
        // A thread of fjall may just have removed it.
        let blocks = fs::metadata(&journal).map_or(0, |found| found.blocks());
        room = room.max(blocks * BLOCK_BYTES);
    }
    Ok(room)
}

fn copy_batches(journal: &Path, draft: &Path) -> io::Result<()> {
    let mut input = BufReader::with_capacity(64 * 1024, File::open(journal)?);
    let len = skip_batches(&mut input)?;
    input.rewind()?;
    let mut copy =
        OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(draft)?;
    io::copy(&mut input.take(len), &mut copy)?;
    copy.sync_all()
}

/// Removes what a renewal left that was killed.
fn remove_drafts(store: &Path) -> Result<()> {
    let removing = |source| Error::io(format!("tidying {}", store.display()), source);
    // Opening reports a missing folder.
    for entry in fs::read_dir(store).into_iter().flatten() {
        let path = entry.map_err(removing)?.path();
        if path.to_str().is_some_and(|path| path.ends_with(DRAFT)) {
            fs::remove_file(&path).map_err(removing)?;
        }
    }
    Ok(())
}

/// The journals, oldest first.
fn list(store: &Path) -> Result<Vec<PathBuf>> {
    let listing = |source| Error::io(format!("listing {}", store.display()), source);
    let mut journals = Vec::new();
    let entries = match fs::read_dir(store) {
        // Opening reports the missing folder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(listing)?,
    };
    for entry in entries {
        let path = entry.map_err(listing)?.path();
        let id = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".jnl"));
        if let Some(id) = id.and_then(|id| id.parse::<u64>().ok()) {
            journals.push((id, path));
        }
    }
    journals.sort();
    Ok(journals.into_iter().map(|(_, path)| path).collect())
}

fn cut(
    store: &Path,
    aside: &Path,
    journal: &Path,
    offset: u64,
    later: &[PathBuf],
) -> io::Result<Vec<PathBuf>> {
    DirBuilder::new().recursive(true).mode(0o700).create(aside)?;
    let mut kept = Vec::new();
    // The latest first: a crash in between leaves journals that end where the next one was taken away.
    for path in later.iter().rev() {
        kept.push(keep(path, 0, aside)?);
        fs::remove_file(path)?;
        File::open(store)?.sync_all()?;
    }
    kept.push(keep(journal, offset, aside)?);
    let file = OpenOptions::new().write(true).open(journal)?;
    file.set_len(offset)?;
    file.sync_all()?;
    Ok(kept)
}

/// Copies the end of a journal.
fn keep(journal: &Path, offset: u64, aside: &Path) -> io::Result<PathBuf> {
    let name = journal.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let to = aside.join(format!("{name}.{offset}"));
    let mut from = File::open(journal)?;
    from.seek(SeekFrom::Start(offset))?;
    let mut copy =
        OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&to)?;
    io::copy(&mut from, &mut copy)?;
    copy.sync_all()?;
    File::open(aside)?.sync_all()?;
    Ok(to)
}

/// The offset after the last whole batch, if something other than zeros follows it.
fn find_damage(journal: &Path) -> io::Result<Option<u64>> {
    let mut input = BufReader::with_capacity(64 * 1024, File::open(journal)?);
    let offset = skip_batches(&mut input)?;
    input.seek(SeekFrom::Start(offset))?;
    Ok((!is_zeros(&mut input)?).then_some(offset))
}

/// The length of the whole batches.
fn skip_batches(input: &mut impl Read) -> io::Result<u64> {
    let mut offset = 0;
    while let Some(len) = take_batch(input)? {
        offset += len;
    }
    Ok(offset)
}

/// The checksum that fjall keeps of a whole file.
pub(in super::super) fn checksum(path: &Path) -> io::Result<u128> {
    let mut file = File::open(path)?;
    let mut checksum = Xxh3::new();
    let mut buffer = vec![0; CHUNK];
    loop {
        let len = file.read(&mut buffer)?;
        if len == 0 {
            return Ok(checksum.digest128());
        }
        checksum.update(buffer.get(..len).unwrap_or_default());
    }
}

fn is_zeros(input: &mut impl Read) -> io::Result<bool> {
    let zeros = vec![0; CHUNK];
    let mut buffer = vec![0; CHUNK];
    loop {
        let len = input.read(&mut buffer)?;
        if len == 0 {
            return Ok(true);
        }
        if buffer.get(..len) != zeros.get(..len) {
            return Ok(false);
        }
    }
}

/// Reads a batch; returns its length, or `None` if none is whole here.
fn take_batch(input: &mut impl Read) -> io::Result<Option<u64>> {
    let mut batch = BatchReader { input, checksum: Xxh3::new(), len: 0 };
    match batch.read() {
        Ok(whole) => Ok(whole.then_some(batch.len)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

struct BatchReader<'a, R> {
    input: &'a mut R,
    checksum: Xxh3,
    len: u64,
}

impl<R: Read> BatchReader<'_, R> {
    /// Whether a whole batch begins here.
    fn read(&mut self) -> io::Result<bool> {
        let [1] = self.array()? else { return Ok(false) };
        let items = u32::from_le_bytes(self.array()?);
        let _sequence: [u8; 8] = self.array()?;
        for _ in 0..items {
            if !self.item()? {
                return Ok(false);
            }
        }
        let [3] = self.array()? else { return Ok(false) };
        let checksum = u64::from_le_bytes(self.array()?);
        let trailer: [u8; 4] = self.array()?;
        Ok(checksum == self.checksum.digest() && trailer == *TRAILER)
    }

    fn item(&mut self) -> io::Result<bool> {
        let tag = self.array()?;
        self.checksum.update(&tag);
        match tag {
            [2] => {
                // Kind, compression and keyspace.
                self.skip(10)?;
                let key_len = u16::from_le_bytes(self.hashed()?);
                // The length of the value as it is in memory.
                self.skip(4)?;
                let stored_len = u32::from_le_bytes(self.hashed()?);
                self.skip(u64::from(key_len) + u64::from(stored_len))?;
                Ok(true)
            }
            [4] => self.skip(8).map(|()| true),
            _ => Ok(false),
        }
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        self.len += N as u64;
        Ok(bytes)
    }

    fn hashed<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let bytes = self.array()?;
        self.checksum.update(&bytes);
        Ok(bytes)
    }

    /// Adds bytes to the checksum that say nothing here.
    fn skip(&mut self, len: u64) -> io::Result<()> {
        let mut buffer = [0; 8 * 1024];
        let mut left = len;
        while left > 0 {
            let part = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let bytes = buffer.get_mut(..part).unwrap_or_default();
            self.input.read_exact(bytes)?;
            self.checksum.update(bytes);
            self.len += part as u64;
            left -= part as u64;
        }
        Ok(())
    }
}
