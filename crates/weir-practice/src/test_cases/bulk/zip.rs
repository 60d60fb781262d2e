//! Test cases in a zip archive.
//!
//! An archive is hostile until it is read once: entries are counted before the directory is, each entry is bounded by what
//! is decompressed and not by what its header claims, and so is the sum of all.

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _};

use weir_table::id::shown;
use zip::ZipArchive;

use super::check_count;
use crate::bounds::{ZIP_BYTES_MAX, ZIP_ENTRIES_MAX, ZIP_ENTRY_BYTES_MAX, ZIP_RATIO_MAX};
use crate::error::{Error, Result};
use crate::test_cases::NewTestCase;

/// Begins each entry of the directory of an archive.
const DIRECTORY_ENTRY: &[u8] = b"PK\x01\x02";
/// Smallest entry whose ratio is checked, in bytes: short runs of one character compress well.
const RATIO_MIN: u64 = 64 * 1024;

/// A valid archive.
pub(super) struct Archive {
    archive: ZipArchive<Cursor<Vec<u8>>>,
    pairs: Vec<Pair>,
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive").field("test_cases", &self.pairs.len()).finish_non_exhaustive()
    }
}

/// The entries of a test case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pair {
    input: usize,
    output: usize,
    is_sample: bool,
}

impl Archive {
    /// Reads all of an archive.
    pub(super) fn open(bytes: Vec<u8>) -> Result<Archive> {
        // A small archive can have a directory of millions of entries, which would be read into memory.
        let entries = bytes.windows(4).filter(|four| *four == DIRECTORY_ENTRY).count();
        if entries > ZIP_ENTRIES_MAX {
            let problem = format!("has more than {ZIP_ENTRIES_MAX} entries");
            return Err(Error::too_large("upload", problem));
        }
        let archive = ZipArchive::new(Cursor::new(bytes));
        let mut archive = Archive { archive: archive.map_err(not_zip)?, pairs: Vec::new() };
        if archive.archive.has_duplicate_names() {
            return Err(Error::invalid("upload", "has two entries of the same name"));
        }
        archive.pairs = archive.find_pairs()?;
        check_count(archive.pairs.len())?;
        let mut bytes = 0;
        for pair in archive.pairs.clone() {
            for entry in [pair.input, pair.output] {
                bytes += archive.text(entry)?.len() as u64;
                if bytes > ZIP_BYTES_MAX {
                    let problem = format!("has more than {ZIP_BYTES_MAX} decompressed bytes");
                    return Err(Error::too_large("upload", problem));
                }
            }
        }
        Ok(archive)
    }

    pub(super) fn count(&self) -> usize {
        self.pairs.len()
    }

    /// A test case, by its number; `None` if there is none.
    pub(super) fn read(&mut self, number: usize) -> Result<Option<NewTestCase>> {
        let Some(pair) = self.pairs.get(number).copied() else { return Ok(None) };
        let (input, output) = (self.text(pair.input)?, self.text(pair.output)?);
        Ok(Some(NewTestCase { input, output, is_sample: pair.is_sample }))
    }

    /// The pairs of entries, in the order of the inputs in the archive.
    fn find_pairs(&mut self) -> Result<Vec<Pair>> {
        let (mut inputs, mut outputs) = (Vec::new(), BTreeMap::new());
        for number in 0..self.archive.len() {
            let entry = self.archive.by_index_raw(number).map_err(not_zip)?;
            let name = entry.name().map_err(not_zip)?.replace('\\', "/");
            if entry.is_dir() || is_ignored(&name) {
                continue;
            }
            if let Some(stem) = name.strip_suffix(".in") {
                inputs.push((number, stem.to_owned()));
            } else if let Some(stem) = name.strip_suffix(".out") {
                outputs.insert(stem.to_owned(), number);
            } else {
                return Err(Error::invalid(
                    at(&name),
                    "is neither an input .in nor an output .out",
                ));
            }
        }
        let mut pairs = Vec::with_capacity(inputs.len());
        for (input, stem) in inputs {
            let output = outputs.remove(&stem).ok_or_else(|| {
                Error::invalid(at(&format!("{stem}.in")), "has no output of the same name")
            })?;
            pairs.push(Pair { input, output, is_sample: is_sample(&stem) });
        }
        if let Some(stem) = outputs.keys().next() {
            let name = format!("{stem}.out");
            return Err(Error::invalid(at(&name), "has no input of the same name"));
        }
        Ok(pairs)
    }

    /// The text of an entry, as far as the bounds allow.
    fn text(&mut self, number: usize) -> Result<String> {
        let mut entry = self.archive.by_index(number).map_err(not_zip)?;
        let name = at(&entry.name().map_err(not_zip)?);
        let compressed = entry.compressed_size();
        let mut bytes = Vec::new();
        let read = entry.by_ref().take(ZIP_ENTRY_BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(|error| Error::invalid(name.clone(), error.to_string()))?;
        let size = bytes.len() as u64;
        if size > ZIP_ENTRY_BYTES_MAX {
            let problem = format!("has more than {ZIP_ENTRY_BYTES_MAX} decompressed bytes");
            return Err(Error::too_large(name, problem));
        }
        if size > RATIO_MIN && size / compressed.max(1) > ZIP_RATIO_MAX {
            let problem = format!("is compressed by more than a factor of {ZIP_RATIO_MAX}");
            return Err(Error::too_large(name, problem));
        }
        String::from_utf8(bytes).map_err(|_| Error::invalid(name, "is not UTF-8"))
    }
}

fn at(name: &str) -> String {
    format!("entry {}", shown(name))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn not_zip(error: zip::result::ZipError) -> Error {
    Error::invalid("upload", format!("cannot be read as a zip archive: {error}"))
}

/// Entries that file managers add.
fn is_ignored(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('.') || part == "__MACOSX")
}

fn is_sample(stem: &str) -> bool {
    let mut folders = stem.split('/').rev().skip(1);
    folders.any(|folder| matches!(folder, "sample" | "samples"))
}
