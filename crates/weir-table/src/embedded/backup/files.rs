//! The files that an application has beside the store, such as raw outputs of models, in one file of the backup.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::super::{Options, codec};
use super::checksummed::{self, Checksummed, PART_MAX};
use crate::error::{Error, Result};

const FILES: &str = "files.weir";

/// The files of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesReport {
    /// Number of files.
    pub count: u64,
    /// Length of the file that has them, in bytes.
    pub bytes: u64,
    /// CRC-32 of that file.
    pub checksum: u32,
}

/// Copies the files of `options.backup_folders` into the backup `to`; `None` if there are none.
pub(super) fn backup(options: &Options, to: &Path) -> Result<Option<FilesReport>> {
    let mut paths = Vec::new();
    for folder in &options.backup_folders {
        collect(&options.dir.join(folder), &mut paths)?;
    }
    if paths.is_empty() {
        return Ok(None);
    }
    let writing = |source| Error::io(format!("writing the backup {}", to.display()), source);
    let mut out = Checksummed::create(&to.join(FILES)).map_err(writing)?;
    let mut count = 0;
    for path in paths {
        let content = match fs::read(&path) {
            Ok(content) => content,
            // It was deleted meanwhile.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(source) => return Err(Error::io(format!("reading {}", path.display()), source)),
        };
        let name = path.strip_prefix(&options.dir).ok().and_then(Path::to_str);
        let name = name.filter(|_| content.len() as u64 <= PART_MAX).ok_or_else(|| {
            let problem = format!("{} is too large or has a name without text", path.display());
            Error::invalid("folder", problem)
        })?;
        let mut bytes = Vec::with_capacity(content.len() + name.len() + 16);
        codec::put_bytes(&mut bytes, name.as_bytes());
        codec::put_bytes(&mut bytes, &content);
        out.put(&bytes).map_err(writing)?;
        count += 1;
    }
    let (bytes, checksum) = out.finish().map_err(writing)?;
    Ok(Some(FilesReport { count, bytes, checksum }))
}

/// All files below a folder, which may be missing.
fn collect(folder: &Path, paths: &mut Vec<std::path::PathBuf>) -> Result<()> {
    let reading = |source| Error::io(format!("reading {}", folder.display()), source);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(reading(source)),
    };
    for entry in entries {
        let entry = entry.map_err(reading)?;
        let kind = entry.file_type().map_err(reading)?;
        if kind.is_dir() {
            collect(&entry.path(), paths)?;
        } else if kind.is_file() {
            paths.push(entry.path());
        }
    }
    Ok(())
}

/// Checks all files of a backup before anything is written.
pub(super) fn verify(from: &Path, report: &FilesReport) -> Result<()> {
    checksummed::verify(&from.join(FILES), report.bytes, report.checksum)
}

/// Writes the files of a backup below `to`.
pub(super) fn restore(from: &Path, to: &Path, report: &FilesReport) -> Result<()> {
    let path = from.join(FILES);
    let reading = |source| Error::io(format!("reading {}", path.display()), source);
    let mut input = Checksummed::open(&path).map_err(reading)?;
    for _ in 0..report.count {
        let offset = input.bytes;
        let name = String::from_utf8(input.part().map_err(reading)?).ok();
        let name = name.filter(|name| is_below(Path::new(name)));
        let name = name.ok_or_else(|| {
            let what = "a file that is not below the data folder".to_owned();
            Error::Corrupt { path: path.clone(), offset, what }
        })?;
        let content = input.part().map_err(reading)?;
        write(&to.join(&name), &content)
            .map_err(|source| Error::io(format!("writing {name}"), source))?;
    }
    Ok(())
}

fn is_below(name: &Path) -> bool {
    name.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Writes a file durably, and creates its folders.
fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.sync_all()?;
    File::open(folder)?.sync_all()
}
