//! Repairs a store that no process has open.

use std::fs::{self, DirBuilder, File};
use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::damage::{Damage, Effect};
use super::salvage::{Salvaged, Source, is_damage};
use super::scratch::Scratch;
use super::swap::{self, REPAIRED};
use crate::embedded::base::Base;
use crate::embedded::{log, open};
use crate::error::{Error, Result};

const SCRATCH: &str = "repairing";
const CACHE_BYTES: u64 = 16 * 1024 * 1024;
/// Keyspaces to do without, in the order in which that is tried: first those that follow from others.
const WITHOUT: [&[&str]; 9] = [
    &[],
    &["index"],
    &["ttl"],
    &["index", "ttl"],
    &["meta"],
    &["items"],
    &["meta", "index", "ttl"],
    &["items", "index", "ttl"],
    &["items", "index", "ttl", "meta"],
];

/// The result of a repair.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RepairReport {
    /// Sequence number of the last commit.
    pub seq: u64,
    /// Tables of the repaired store.
    pub tables: u64,
    /// Items of the repaired store.
    pub items: u64,
    /// Commits of the log that the base store lacked.
    pub replayed: u64,
    /// What could not be read, and is not in the repaired store.
    pub losses: Vec<Damage>,
    /// The folder with the files that were replaced; `None` for a dry run.
    pub kept: Option<PathBuf>,
    /// Whether only the last step of an interrupted repair was left to do.
    pub finished_interrupted: bool,
}

/// Writes a new store from everything that can be read of the one in `dir`, and puts it in its place; the old files are
/// kept. With `dry_run` it changes nothing and reports what it would do. Blocks. Calls `progress` with bytes of the log.
///
/// # Errors
/// There is no store, another process has it open, a newer version wrote it, or the disk fails.
pub fn repair_folder(
    dir: &Path,
    dry_run: bool,
    progress: &dyn Fn(u64, u64),
) -> Result<RepairReport> {
    if !dir.join("store").exists() && !dir.join("log").exists() {
        return Err(Error::invalid("store", format!("{} has no store", dir.display())));
    }
    let _lock = open::lock(dir)?;
    if !dry_run && swap::finish_interrupted(dir)? {
        return Ok(RepairReport { finished_interrupted: true, ..RepairReport::default() });
    }
    let mut losses = check_format(dir)?;
    if !dry_run {
        swap::check_movable(dir)?;
    }
    let scratch = Scratch::new(dir, SCRATCH)?;
    let target = if dry_run { scratch.path(REPAIRED) } else { empty(dir.join(REPAIRED))? };
    let source = open_readable(dir, &scratch, &mut losses)?;
    let salvaged = write(&source, &target, progress)?;
    drop(source);
    losses.extend(replace_cursor_key(dir, &target)?);
    let Salvaged { seq, tables, items, replayed, losses: unread, .. } = salvaged;
    losses.extend(unread);
    let kept = if dry_run { None } else { Some(swap::swap(dir)?) };
    Ok(RepairReport { seq, tables, items, replayed, losses, kept, finished_interrupted: false })
}

/// Refuses a newer format and unfinished folders; a damaged number is replaced.
fn check_format(dir: &Path) -> Result<Vec<Damage>> {
    match open::read_format(dir) {
        Ok(true) => Ok(Vec::new()),
        Ok(false) if dir.join("CREATING").exists() => {
            let what = format!("{} was never complete: `weir serve` creates it", dir.display());
            Err(Error::invalid("store", what))
        }
        Ok(false) => Ok(vec![format_damage(dir, "it is missing; a new one is written")]),
        Err(Error::Corrupt { path, .. }) if path.ends_with("FORMAT") => {
            Ok(vec![format_damage(dir, "it is not a number; a new one is written")])
        }
        Err(error) => Err(error),
    }
}

fn format_damage(dir: &Path, what: &str) -> Damage {
    Damage::new(&dir.join("FORMAT"), Effect::Entries, what)
}

/// Opens a copy of the base store with as many keyspaces as can be opened.
fn open_readable<'a>(
    dir: &'a Path,
    scratch: &Scratch,
    losses: &mut Vec<Damage>,
) -> Result<Source<'a>> {
    let store = dir.join("store");
    let mut first = None;
    for without in WITHOUT {
        match scratch.open(without) {
            Ok((base, _)) => {
                if let Some(error) = first {
                    losses.push(without_damage(&store, without, &error));
                }
                let applied = base.applied_without(without)?;
                return Ok(Source { dir, base, applied, has_meta: !without.contains(&"meta") });
            }
            Err(error) if is_damage(&error) => {
                first.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    let what = "the base store is unreadable: the repaired one has what the log has";
    losses.push(Damage::new(&store, Effect::Lost, what));
    let base = Base::create(&scratch.path("empty"), CACHE_BYTES, None)?;
    Ok(Source { dir, base, applied: 0, has_meta: false })
}

fn without_damage(store: &Path, without: &[&str], error: &Error) -> Damage {
    let is_derived = without.iter().all(|name| matches!(*name, "index" | "ttl"));
    let effect = if is_derived { Effect::Entries } else { Effect::Lost };
    Damage::new(store, effect, format!("{} cannot be opened: {error}", without.join(" and ")))
}

fn empty(target: PathBuf) -> Result<PathBuf> {
    match fs::remove_dir_all(&target) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(format!("deleting {}", target.display()), source))
        }
        _ => {
            DirBuilder::new()
                .mode(0o700)
                .create(&target)
                .map_err(|source| Error::io(format!("making {}", target.display()), source))?;
            Ok(target)
        }
    }
}

fn write(source: &Source<'_>, target: &Path, progress: &dyn Fn(u64, u64)) -> Result<Salvaged> {
    let base = Base::create(&target.join("store"), CACHE_BYTES, None)?;
    let total = fs::read_dir(source.dir.join("log"))
        .map(|files| files.flatten().filter_map(|file| Some(file.metadata().ok()?.len())).sum())
        .unwrap_or(0);
    let read = std::cell::Cell::new(0);
    let salvaged = source.read_into(&base, &|bytes| {
        read.set(read.get() + bytes);
        progress(read.get(), total);
    })?;
    // The log begins anew: consumers of the feed make a full pass.
    log::start(&target.join("log"), salvaged.seq + 1)?;
    Ok(salvaged)
}

/// A key of the wrong length is replaced by a new one.
fn replace_cursor_key(dir: &Path, target: &Path) -> Result<Option<Damage>> {
    let path = dir.join("cursor.key");
    if !fs::metadata(&path).is_ok_and(|meta| meta.len() != 32) {
        return Ok(None);
    }
    let mut key = [0; 32];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut key))
        .map_err(|source| Error::io("making a key", source))?;
    open::write_durably(target, "cursor.key", &key)?;
    let what = "it is not a key; with the new one, cursors that were handed out are refused";
    Ok(Some(Damage::new(&path, Effect::Lost, what)))
}
