//! Libraries that are loaded into a process of a test and stand between it and the system's calls.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A library, compiled for a test. Rust needs a C linker, so there is one.
pub(crate) struct Library {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl Library {
    /// Compiles a source file below the folder of these tests.
    pub(crate) fn compile(source: &str) -> Library {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("preloaded.so");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&path)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crash").join(source))
            .args(["-ldl", "-lpthread"])
            .status();
        assert!(built.unwrap().success());
        Library { _dir: dir, path }
    }

    /// A process of one of these tests, with the library loaded.
    pub(crate) fn process(&self, test: &str) -> Command {
        let mut process = Command::new(std::env::current_exe().unwrap());
        process
            .args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env("LD_PRELOAD", &self.path);
        process
    }
}
