//! A disk for the log that forgets what was not synced, fails on request and can be slow.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use std::sync::{Condvar, Mutex};
use weir_table::embedded::disk::{Disk, DiskFile};

use crate::seed::Random;

const SECTOR: u64 = 512;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// What a power cut leaves of bytes that were never synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// None.
    Nothing,
    /// Some of the sectors, with zeros in between.
    SomeSectors,
}

/// What of a file would survive a power cut.
#[derive(Debug, Clone, Copy, Default)]
struct Safe {
    len: u64,
    name: bool,
}

#[derive(Debug, Default)]
struct State {
    files: Mutex<BTreeMap<PathBuf, Safe>>,
    /// The process has ended: nothing more reaches the disk.
    dead: AtomicBool,
    syncs: AtomicU64,
    /// The sync that fails, counted from one; zero for none.
    failing_sync: AtomicU64,
    /// Bytes that still fit.
    room: AtomicU64,
    /// Appends of which only a part fit.
    torn: AtomicU64,
    /// Files that still fit.
    files_left: AtomicU64,
    /// The name of a thread that panics when it syncs.
    panicking: Mutex<Option<&'static str>>,
    /// No file can be removed.
    keeps_files: AtomicBool,
    held: Mutex<bool>,
    released: Condvar,
    sync_time_us: AtomicU64,
    append_time_us: AtomicU64,
    /// Names of the threads that have appended.
    appenders: Mutex<BTreeSet<String>>,
}

/// The disk; clones are the same one.
#[derive(Debug, Clone)]
pub(crate) struct TestDisk {
    state: Arc<State>,
}

impl TestDisk {
    pub(crate) fn new() -> TestDisk {
        let state = State {
            room: AtomicU64::new(u64::MAX),
            files_left: AtomicU64::new(u64::MAX),
            ..State::default()
        };
        TestDisk { state: Arc::new(state) }
    }

    /// How long a sync takes.
    pub(crate) fn sync_takes(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap();
        self.state.sync_time_us.store(micros, Ordering::SeqCst);
    }

    /// How long an append takes.
    pub(crate) fn append_takes(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap();
        self.state.append_time_us.store(micros, Ordering::SeqCst);
    }

    /// Whether a thread of this name has appended.
    pub(crate) fn has_appended(&self, thread: &str) -> bool {
        self.state.appenders.lock().unwrap().contains(thread)
    }

    /// Syncs so far, failed ones included.
    pub(crate) fn syncs(&self) -> u64 {
        self.state.syncs.load(Ordering::SeqCst)
    }

    /// Lets the sync after `others` more fail.
    pub(crate) fn fail_sync_after(&self, others: u64) {
        let number = self.syncs() + others + 1;
        self.state.failing_sync.store(number, Ordering::SeqCst);
    }

    /// Leaves room for so many bytes.
    pub(crate) fn leave_room(&self, bytes: u64) {
        self.state.room.store(bytes, Ordering::SeqCst);
    }

    /// Leaves room for so many files.
    pub(crate) fn leave_files(&self, files: u64) {
        self.state.files_left.store(files, Ordering::SeqCst);
    }

    /// Lets the thread of this name panic when it syncs, or asks for the free space.
    pub(crate) fn panic_in(&self, thread: &'static str) {
        *self.state.panicking.lock().unwrap() = Some(thread);
    }

    /// Appends so far of which only a part fit.
    pub(crate) fn torn(&self) -> u64 {
        self.state.torn.load(Ordering::SeqCst)
    }

    /// Lets removing a file fail.
    pub(crate) fn keep_files(&self, keep: bool) {
        self.state.keeps_files.store(keep, Ordering::SeqCst);
    }

    /// Lets no sync end until it is released.
    pub(crate) fn hold_syncs(&self, hold: bool) {
        *self.state.held.lock().unwrap() = hold;
        self.state.released.notify_all();
    }

    /// From now on nothing reaches the disk: the process or the power is gone.
    pub(crate) fn die(&self) {
        self.state.dead.store(true, Ordering::SeqCst);
    }

    /// A new process, and a disk without faults.
    pub(crate) fn revive(&self) {
        self.state.dead.store(false, Ordering::SeqCst);
        self.state.failing_sync.store(0, Ordering::SeqCst);
        self.leave_room(u64::MAX);
    }

    /// Takes from the files what a power cut takes.
    pub(crate) fn cut_power(&self, leaves: Leaves, random: &mut Random) {
        let mut files = self.state.files.lock().unwrap();
        for (path, safe) in std::mem::take(&mut *files) {
            let Ok(metadata) = fs::metadata(&path) else {
                continue;
            };
            if !safe.name && random.coin() {
                fs::remove_file(&path).unwrap();
                continue;
            }
            if metadata.len() > safe.len {
                forget(&path, safe.len, leaves, random);
            }
        }
    }
}

/// Takes from a file what follows `safe`, wholly or in sectors.
fn forget(path: &Path, safe: u64, leaves: Leaves, random: &mut Random) {
    let mut bytes = fs::read(path).unwrap();
    let len = match leaves {
        Leaves::Nothing => safe,
        Leaves::SomeSectors => safe + random.below(bytes.len() as u64 - safe + 1),
    };
    bytes.truncate(usize::try_from(len).unwrap());
    let mut at = safe;
    while at < len {
        let end = ((at / SECTOR + 1) * SECTOR).min(len);
        if random.coin() {
            bytes[at as usize..end as usize].fill(0);
        }
        at = end;
    }
    fs::write(path, bytes).unwrap();
}

#[derive(Debug)]
struct TestFile {
    file: File,
    path: PathBuf,
    state: Arc<State>,
}

impl State {
    fn check_alive(&self) -> io::Result<()> {
        if self.dead.load(Ordering::SeqCst) {
            return Err(io::Error::other("the machine is off"));
        }
        Ok(())
    }

    fn panic_if_asked(&self) {
        let asked = *self.panicking.lock().unwrap();
        let current = std::thread::current();
        assert!(asked.is_none() || asked != current.name(), "this thread was asked to panic");
    }

    fn count_sync(&self) -> io::Result<()> {
        self.panic_if_asked();
        let mut held = self.held.lock().unwrap();
        while *held {
            held = self.released.wait(held).unwrap();
        }
        drop(held);
        std::thread::sleep(Duration::from_micros(self.sync_time_us.load(Ordering::SeqCst)));
        let number = self.syncs.fetch_add(1, Ordering::SeqCst) + 1;
        if number == self.failing_sync.load(Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.check_alive()
    }
}

impl Disk for TestDisk {
    fn append_to(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.state.check_alive()?;
        let is_new = !path.exists();
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let len = file.metadata()?.len();
        let mut files = self.state.files.lock().unwrap();
        // What was there before this disk is safe.
        files.entry(path.to_owned()).or_insert(Safe { len, name: !is_new });
        Ok(Arc::new(TestFile { file, path: path.to_owned(), state: Arc::clone(&self.state) }))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.state.check_alive()?;
        let mut files = self.state.files.lock().unwrap();
        for (file, safe) in files.iter_mut() {
            safe.name |= file.parent() == Some(path);
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.state.check_alive()?;
        if self.state.keeps_files.load(Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.state.files.lock().unwrap().remove(path);
        fs::remove_file(path)
    }

    fn free_bytes(&self, _path: &Path) -> io::Result<u64> {
        self.state.panic_if_asked();
        Ok(self.state.room.load(Ordering::SeqCst))
    }

    fn free_files(&self, _path: &Path) -> io::Result<Option<u64>> {
        Ok(Some(self.state.files_left.load(Ordering::SeqCst)))
    }
}

impl DiskFile for TestFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.state.check_alive()?;
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        self.state.appenders.lock().unwrap().insert(thread);
        std::thread::sleep(Duration::from_micros(self.state.append_time_us.load(Ordering::SeqCst)));
        let room = self.state.room.load(Ordering::SeqCst);
        if room < bytes.len() as u64 {
            let part = &bytes[..usize::try_from(room).unwrap()];
            self.state.torn.fetch_add(u64::from(room > 0), Ordering::SeqCst);
            (&self.file).write_all(part)?;
            self.state.room.store(0, Ordering::SeqCst);
            return Err(io::Error::from_raw_os_error(ENOSPC));
        }
        if room != u64::MAX {
            let left = room - bytes.len() as u64;
            self.state.room.store(left, Ordering::SeqCst);
        }
        (&self.file).write_all(bytes)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.state.check_alive()?;
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        // What is appended while the sync runs may or may not be in it: not, here.
        let len = self.file.metadata()?.len();
        self.state.count_sync()?;
        let mut files = self.state.files.lock().unwrap();
        if let Some(safe) = files.get_mut(&self.path) {
            safe.len = safe.len.max(len);
        }
        Ok(())
    }
}
