//! Verifies a store that no process has open.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::damage::{Damage, Effect};
use super::scratch::Scratch;
use crate::embedded::base::{Base, journal};
use crate::embedded::catalog::Catalog;
use crate::embedded::checkpoint;
use crate::embedded::dirty::{Generation, Space};
use crate::embedded::log::inspect::{self, Inspected};
use crate::embedded::open;
use crate::embedded::verify::{StoreView, Verification};
use crate::error::{Error, Result};

const SCRATCH: &str = "verifying";
/// Memory for replayed commits that are not yet folded into the copy.
const DIRTY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The result of verifying a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FolderReport {
    /// Sequence number of the last commit.
    pub seq: u64,
    /// Segments of the log.
    pub log_segments: u64,
    /// Commits in the log.
    pub log_records: u64,
    /// Table files of the base store.
    pub table_files: u64,
    /// Tables.
    pub tables: u64,
    /// Items.
    pub items: u64,
    /// Index entries.
    pub index_entries: u64,
    /// Expiry entries.
    pub ttl_entries: u64,
    /// Bytes that were read of the log and the table files.
    pub bytes: u64,
    /// All damage that was found.
    pub damages: Vec<Damage>,
}

impl FolderReport {
    /// Whether nothing is wrong, apart from what opening the store recovers.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damages.iter().all(|damage| damage.effect == Effect::Recovered)
    }
}

/// Verifies the store in `dir`, which no process may have open. Changes nothing. Blocks. Calls `progress` with the bytes read
/// and the bytes to read.
///
/// # Errors
/// There is no store, another process has it open, a newer version wrote it, or a file cannot be read. Damage is part of the
/// result.
pub fn verify_folder(dir: &Path, progress: &dyn Fn(u64, u64)) -> Result<FolderReport> {
    let _lock = open::lock(dir)?;
    if !open::read_format(dir)? {
        return Err(Error::invalid("store", format!("{} has no store", dir.display())));
    }
    let (read, total) = (Cell::new(0), bytes_in(&dir.join("log")) + bytes_in(&dir.join("store")));
    let advance = |bytes: u64| {
        read.set(read.get() + bytes);
        progress(read.get().min(total), total);
    };
    let mut report = FolderReport::default();
    check_cursor_key(dir, &mut report);
    let scratch = Scratch::new(dir, SCRATCH)?;
    match scratch.open(&[]) {
        Ok((base, cut)) => Check { dir, base, cut, report }.run(&advance),
        Err(Error::Corrupt { path, what, .. }) => {
            let below = path.strip_prefix(scratch.path("store")).unwrap_or(Path::new(""));
            let path = dir.join("store").join(below);
            report.damages.push(Damage::new(&path, Effect::Lost, what));
            let log = inspect::inspect(&dir.join("log"), |_, _| Ok(()), advance)?;
            note_log(dir, &mut report, &log, None);
            Ok(report)
        }
        Err(error) => Err(error),
    }
}

struct Check<'a> {
    dir: &'a Path,
    base: Base,
    cut: Option<journal::Cut>,
    report: FolderReport,
}

impl Check<'_> {
    fn run(mut self, advance: &dyn Fn(u64)) -> Result<FolderReport> {
        self.tables(advance)?;
        let applied = self.base.applied()?;
        let mut catalog = match open::read_catalog(&self.base) {
            Ok(catalog) => catalog,
            Err(error) => {
                self.lost("store", &error);
                Catalog::default()
            }
        };
        let log = self.replay(&mut catalog, applied, advance)?;
        note_log(self.dir, &mut self.report, &log, Some(applied));
        self.cut(&log, applied);
        self.report.tables = catalog.names().len() as u64;
        self.entries(catalog);
        Ok(self.report)
    }

    fn lost(&mut self, part: &str, error: &Error) {
        let damage = Damage::new(&self.dir.join(part), Effect::Lost, with_cause(error));
        self.report.damages.push(damage);
    }

    fn tables(&mut self, advance: &dyn Fn(u64)) -> Result<()> {
        let report = &mut self.report;
        let dir = self.dir;
        self.base.check_tables(|space, path, is_sound| {
            let len = fs::metadata(path).map_or(0, |meta| meta.len());
            report.table_files += 1;
            report.bytes += len;
            advance(len);
            if is_sound {
                return;
            }
            let effect = match space {
                Space::Items | Space::Meta => Effect::Lost,
                Space::Index | Space::Ttl => Effect::Entries,
            };
            let below = path.iter().skip_while(|part| *part != "keyspaces");
            let path = dir.join("store").join(below.collect::<std::path::PathBuf>());
            report.damages.push(Damage::new(&path, effect, "its checksum is wrong"));
        })
    }

    /// Reads the log, and folds what follows `applied` into the copy of the base store.
    fn replay(
        &mut self,
        catalog: &mut Catalog,
        applied: u64,
        advance: &dyn Fn(u64),
    ) -> Result<Inspected> {
        let mut generation = Generation::default();
        let (base, dir) = (&self.base, self.dir);
        let mut unreadable = Vec::new();
        let log = inspect::inspect(
            &dir.join("log"),
            |header, body| {
                if header.seq <= applied {
                    return Ok(());
                }
                if let Err(error) = checkpoint::replay(catalog, &generation, header, body) {
                    unreadable.push(Damage::new(
                        &dir.join("log"),
                        Effect::Lost,
                        with_cause(&error),
                    ));
                }
                if generation.bytes() > DIRTY_BYTES_MAX {
                    base.fold(&generation, header.seq)?;
                    generation = Generation::default();
                }
                Ok(())
            },
            advance,
        )?;
        self.base.fold(&generation, log.last_seq.max(applied))?;
        self.report.damages.append(&mut unreadable);
        Ok(log)
    }

    /// A journal that was cut is harmless if the log has what followed.
    fn cut(&mut self, log: &Inspected, applied: u64) {
        let Some(cut) = &self.cut else { return };
        let is_replaced = log.segments > 0 && log.first_seq <= applied + 1;
        let effect = if is_replaced { Effect::Recovered } else { Effect::Lost };
        let path = cut.journal.file_name().unwrap_or_default();
        let path = self.dir.join("store").join(path);
        let what = "the journal is not whole from here on".to_owned();
        self.report.damages.push(Damage { path, offset: Some(cut.offset), what, effect });
    }

    /// Compares items, index entries and expiry entries.
    fn entries(&mut self, catalog: Catalog) {
        let snapshot = match self.base.snapshot() {
            Ok(snapshot) => snapshot,
            Err(error) => return self.lost("store", &error),
        };
        let view = StoreView { snapshot, catalog: Arc::new(catalog) };
        let mut found = Verification::default();
        for check in [StoreView::check_items, StoreView::check_index, StoreView::check_ttl] {
            if let Err(error) = check(&view, &mut found) {
                self.lost("store", &error);
            }
        }
        let entries = self.dir.join("store");
        let damages =
            found.problems.iter().map(|what| Damage::new(&entries, Effect::Entries, what));
        self.report.damages.extend(damages);
        self.report.items = found.items;
        self.report.index_entries = found.index_entries;
        self.report.ttl_entries = found.ttl_entries;
    }
}

/// Notes the log, for a base store at `applied`; `None` if that cannot be read.
fn note_log(dir: &Path, report: &mut FolderReport, log: &Inspected, known: Option<u64>) {
    let applied = known.unwrap_or(0);
    report.seq = log.last_seq.max(applied);
    report.log_segments = log.segments;
    report.log_records = log.records;
    report.bytes += log.bytes;
    report.damages.extend(log.gaps.iter().map(|gap| Damage::of_gap(gap, log, applied)));
    let what = match (log.segments, log.next_seq) {
        (0, _) => "it is missing".to_owned(),
        (_, next) if next <= applied => {
            format!("it ends at {}, the base store is at {applied}", next.saturating_sub(1))
        }
        _ if known.is_some() && log.first_seq > applied + 1 => {
            format!("it begins with {}, the base store is at {applied}", log.first_seq)
        }
        _ => return,
    };
    report.damages.push(Damage::new(&dir.join("log"), Effect::Lost, what));
}

fn check_cursor_key(dir: &Path, report: &mut FolderReport) {
    let path = dir.join("cursor.key");
    if fs::metadata(&path).is_ok_and(|meta| meta.len() != 32) {
        report.damages.push(Damage::new(&path, Effect::Lost, "is not a key of 32 bytes"));
    }
}

/// An error with its cause.
pub(super) fn with_cause(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Bytes of the segments and table files below a folder.
fn bytes_in(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else {
        return 0;
    };
    let bytes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => bytes_in(&entry.path()),
        Ok(meta) if !entry.file_name().to_string_lossy().ends_with(".jnl") => meta.len(),
        _ => 0,
    });
    bytes.sum()
}
