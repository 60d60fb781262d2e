//! A `weir serve` of the test's own, that can be killed and started again.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

pub(crate) const ADMIN_KEY: &str = "an-admin-key-for-tests-only";
/// Base64 of 32 bytes: all instances share what signs leases and seals cursors.
const SHARED_KEY: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
/// How often a start is tried.
const STARTS_MAX: u32 = 10;
const START_WITHIN: Duration = Duration::from_secs(60);
/// A file in the folder of a server with seconds that its clock is ahead, like `+3600`; read while it runs.
pub(crate) const CLOCK_FILE: &str = "clock";

/// A running server. Its address is in a file, because it changes with every start; it is killed when this value is
/// dropped.
pub(crate) struct Instance {
    child: Child,
}

impl Instance {
    /// Starts a server and writes its address to `address_file`. One whose store does not answer does not start: where many ask
    /// DynamoDB Local at once it is tried again.
    pub(crate) fn start(folder: &Path, flags: &[String], address_file: &Path) -> Instance {
        let started =
            (0..STARTS_MAX).find_map(|_| Instance::try_start(folder, flags, address_file));
        started.expect("a server that starts")
    }

    fn try_start(folder: &Path, flags: &[String], address_file: &Path) -> Option<Instance> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("WEIR_") || name.starts_with("AWS_") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(folder)
            .envs(weir_testkit::dynamo_local_environment())
            .env("WEIR_ADMIN_KEY", ADMIN_KEY)
            .env("WEIR_SIGNING_KEY", SHARED_KEY)
            .env("WEIR_CURSOR_KEY", SHARED_KEY)
            .env("WEIR_LOG", "warn")
            .args(["serve", "--listen", "127.0.0.1:0", "--aggregate-interval", "1"])
            .args(flags)
            .stdout(Stdio::piped());
        if folder.join(CLOCK_FILE).exists() {
            command
                // The loader replaces `$LIB`.
                .env("LD_PRELOAD", "/usr/$LIB/faketime/libfaketimeMT.so.1")
                .env("FAKETIME_TIMESTAMP_FILE", folder.join(CLOCK_FILE))
                .env("FAKETIME_CACHE_DURATION", "1")
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(lines.next()));
        let instance = Instance { child };
        let line = receiver.recv_timeout(START_WITHIN).unwrap()?.unwrap();
        write_whole(address_file, line.strip_prefix("listening on http://").unwrap());
        Some(instance)
    }

    /// Ends it without a word.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Nobody reads half of it.
pub(crate) fn write_whole(path: &Path, text: &str) {
    let mut beside = PathBuf::from(path);
    beside.set_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(&beside, path).unwrap();
}
