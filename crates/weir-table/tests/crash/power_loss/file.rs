//! The bytes of a file: those that are written, those that are durable, and what a power cut leaves of the difference.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use super::disk_model::Losses;
use crate::seed::Random;

pub(crate) const PAGE: u64 = 4096;
const SECTOR: usize = 512;

type Page = Arc<[u8; PAGE as usize]>;

/// Pages that are not zeros, and the length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Content {
    pages: BTreeMap<u64, Page>,
    len: u64,
}

/// A file.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileModel {
    written: Content,
    durable: Content,
    /// Bytes of each page that were written since the last sync: from, and to.
    unsynced: BTreeMap<u64, (usize, usize)>,
}

/// How much of what was not synced reaches the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Nothing,
    Everything,
    /// Any pages, some of them torn or zeros.
    Some,
}

impl Content {
    fn page(&self, number: u64) -> [u8; PAGE as usize] {
        self.pages.get(&number).map_or([0; PAGE as usize], |page| **page)
    }

    fn set(&mut self, number: u64, page: [u8; PAGE as usize]) {
        if page.iter().all(|byte| *byte == 0) {
            self.pages.remove(&number);
        } else {
            self.pages.insert(number, Arc::new(page));
        }
    }

    fn truncate(&mut self, len: u64) {
        self.pages.split_off(&len.div_ceil(PAGE));
        if !len.is_multiple_of(PAGE) {
            let mut last = self.page(len / PAGE);
            last[(len % PAGE) as usize..].fill(0);
            self.set(len / PAGE, last);
        }
        self.len = len;
    }

    fn write_to(&self, path: &Path) {
        let file = File::create(path).unwrap();
        file.set_len(self.len).unwrap();
        for (number, page) in &self.pages {
            let start = number * PAGE;
            let end = self.len.min(start + PAGE);
            file.write_all_at(&page[..end.saturating_sub(start) as usize], start).unwrap();
        }
    }
}

impl FileModel {
    /// A file that is durable as it is.
    pub(crate) fn load(path: &Path) -> FileModel {
        let bytes = std::fs::read(path).unwrap();
        let mut file = FileModel::default();
        file.write(0, &bytes);
        file.sync();
        file
    }

    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let (number, from) = (at / PAGE, (at % PAGE) as usize);
            let len = rest.len().min(PAGE as usize - from);
            let mut page = self.written.page(number);
            page[from..from + len].copy_from_slice(&rest[..len]);
            self.written.set(number, page);
            self.note_unsynced(number, from, from + len);
            (at, rest) = (at + len as u64, &rest[len..]);
        }
        self.written.len = self.written.len.max(offset + bytes.len() as u64);
    }

    pub(crate) fn truncate(&mut self, len: u64) {
        let gone: Vec<u64> = self.written.pages.range(len / PAGE..).map(|(n, _)| *n).collect();
        gone.into_iter().for_each(|number| self.note_unsynced(number, 0, PAGE as usize));
        self.written.truncate(len);
    }

    fn note_unsynced(&mut self, number: u64, from: usize, to: usize) {
        let range = self.unsynced.entry(number).or_insert((from, to));
        *range = (range.0.min(from), range.1.max(to));
    }

    pub(crate) fn sync(&mut self) {
        for number in std::mem::take(&mut self.unsynced).into_keys() {
            match self.written.pages.get(&number) {
                Some(page) => drop(self.durable.pages.insert(number, Arc::clone(page))),
                None => drop(self.durable.pages.remove(&number)),
            }
        }
        self.durable.len = self.written.len;
    }

    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        let mut other = FileModel::default();
        other.write(0, bytes);
        other.written == self.written
    }

    /// Writes what a power cut leaves of the file.
    pub(crate) fn crash(&self, to: &Path, style: Style, random: &mut Random, losses: &mut Losses) {
        let mut left = self.durable.clone();
        let (durable, written) = (self.durable.len, self.written.len);
        let len = match style {
            Style::Nothing => durable,
            Style::Everything => written,
            Style::Some => match random.below(3) {
                0 => durable,
                1 => written,
                _ => durable.min(written) + random.below(durable.abs_diff(written) + 1),
            },
        };
        for (number, (from, to)) in &self.unsynced {
            let new = self.written.page(*number);
            let mut page = left.page(*number);
            let whole = &new[*from..*to];
            // Zeros replace only bytes that were never durable.
            let fresh = durable.saturating_sub(number * PAGE).min(PAGE) as usize;
            match (style, random.below(4)) {
                (Style::Everything, _) | (Style::Some, 0) => {
                    page[*from..*to].copy_from_slice(whole);
                }
                (Style::Nothing, _) | (Style::Some, 1) => losses.dropped += 1,
                (Style::Some, 2) => {
                    tear(&mut page, &new, (*from, *to), random);
                    losses.torn += 1;
                }
                (Style::Some, _) => {
                    page[*from..*to].copy_from_slice(whole);
                    page[fresh.max(*from).min(*to)..*to].fill(0);
                    losses.zeroed += 1;
                }
            }
            left.set(*number, page);
        }
        left.len = left.len.max(len);
        left.truncate(len);
        left.write_to(to);
    }
}

/// Writes some sectors of a page and leaves the others.
fn tear(
    page: &mut [u8; PAGE as usize],
    new: &[u8; PAGE as usize],
    (from, to): (usize, usize),
    random: &mut Random,
) {
    for start in (0..PAGE as usize).step_by(SECTOR) {
        let (from, to) = (from.max(start), to.min(start + SECTOR));
        if from < to && random.coin() {
            page[from..to].copy_from_slice(&new[from..to]);
        }
    }
}
