//! What `recorder.c` has recorded of a process: every change of its files, in order.

use std::path::{Path, PathBuf};

/// A change of the files below the recorded folder.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Create {
        inode: u64,
        path: PathBuf,
    },
    MakeDir {
        inode: u64,
        path: PathBuf,
    },
    Write {
        inode: u64,
        offset: u64,
        bytes: Vec<u8>,
    },
    Truncate {
        inode: u64,
        len: u64,
    },
    /// An fsync or fdatasync of a file or a folder.
    Sync {
        inode: u64,
    },
    Remove {
        path: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    /// A file was opened that had been there. One of an unexpected name has been renamed without the C library.
    Seen {
        inode: u64,
        path: PathBuf,
    },
}

/// Reads a trace.
pub(crate) fn read(path: &Path) -> Vec<Event> {
    let bytes = std::fs::read(path).unwrap();
    let mut input = Input(&bytes);
    let mut events = Vec::new();
    while !input.0.is_empty() {
        events.push(input.event());
    }
    events
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take(&mut self, len: usize) -> Vec<u8> {
        let (front, rest) = self.0.split_at(len);
        self.0 = rest;
        front.to_vec()
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn part(&mut self) -> Vec<u8> {
        let len = u32::from_le_bytes(self.take(4).try_into().unwrap());
        self.take(len as usize)
    }

    fn event(&mut self) -> Event {
        let (op, inode, number) = (self.take(1)[0], self.u64(), self.u64());
        let (path, bytes) = (path_of(self.part()), self.part());
        match op {
            1 => Event::Create { inode, path },
            2 => Event::MakeDir { inode, path },
            3 => Event::Write { inode, offset: number, bytes },
            4 => Event::Truncate { inode, len: number },
            5 => Event::Sync { inode },
            6 | 7 => Event::Remove { path },
            8 => Event::Rename { from: path, to: path_of(bytes) },
            9 => Event::Seen { inode, path },
            _ => panic!("an unknown event {op}"),
        }
    }
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(String::from_utf8(bytes).unwrap())
}
