//! The console in a real browser: one server, and the specs `*.test.mjs` beside this file, run by Node in headless Chromium.
//!
//! A spec records every console error, every violation of the content security policy and every serious fault that axe
//! finds. Pictures for people are in `target/tmp/console`. With `WEIR_TEST_PICTURES=docs/images` those of the documentation
//! are written too (`pictures.test.mjs`).

#![expect(clippy::unwrap_used, reason = "these are tests, their helpers included")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const SPECS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/console");
const KEY: &str = "an-admin-key-for-the-console-s-tests";
const CHROMIUM: &str = "/usr/bin/chromium";
/// A spec that is not done by then has failed.
const SPEC_TIMEOUT_MS: u32 = 120_000;
/// The same when the pictures of the documentation are written, of a demo with 30 days of history.
const PICTURES_TIMEOUT_MS: u32 = 480_000;
const READY_MAX: Duration = Duration::from_secs(60);

/// A running server; it is killed when this value is dropped.
struct Server(Child);

impl Server {
    /// Starts a server in a folder; returns it with its address.
    fn start(folder: &Path) -> (Server, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("WEIR_") {
                command.env_remove(name);
            }
        }
        let command = command.current_dir(folder).env("WEIR_ADMIN_KEY", KEY);
        let command = command.args(["serve", "--data", "data", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let server = Server(child);
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(lines.next().unwrap().unwrap()));
        let line = receiver.recv_timeout(READY_MAX).unwrap();
        (server, line.strip_prefix("listening on ").unwrap().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn specs() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(SPECS).unwrap().map(|entry| entry.unwrap().path());
    let is_spec = |path: &PathBuf| path.to_string_lossy().ends_with(".test.mjs");
    let mut specs: Vec<PathBuf> = entries.filter(is_spec).collect();
    specs.sort();
    specs
}

#[test]
fn the_console_works_in_a_browser() {
    let modules = weir_testkit::installed("npm/node_modules");
    let modules = modules.unwrap_or_else(|missing| panic!("{missing}"));
    let shots = Path::new(env!("CARGO_TARGET_TMPDIR")).join("console");
    let folder = tempfile::tempdir().unwrap();
    let (server, url) = Server::start(folder.path());
    let specs = specs();
    assert!(!specs.is_empty(), "there are specs in {SPECS}");
    let writes_pictures = std::env::var_os("WEIR_TEST_PICTURES").is_some();
    let timeout_ms = if writes_pictures { PICTURES_TIMEOUT_MS } else { SPEC_TIMEOUT_MS };
    let ran = Command::new("node")
        .current_dir(folder.path())
        .args(["--test", "--test-reporter=spec", "--test-concurrency=2"])
        .arg(format!("--test-timeout={timeout_ms}"))
        .args(&specs)
        .env("WEIR_CONSOLE_URL", &url)
        .env("WEIR_CONSOLE_KEY", KEY)
        .env("WEIR_CONSOLE_SHOTS", &shots)
        .env("WEIR_CHROMIUM", std::env::var("WEIR_CHROMIUM").unwrap_or(CHROMIUM.to_owned()))
        .env("WEIR_NODE_MODULES", &modules)
        .env("WEIR_BIN", env!("CARGO_BIN_EXE_weir"))
        .output()
        .unwrap();
    drop(server);
    let output = String::from_utf8_lossy(&ran.stdout);
    println!("{output}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "the specs found what is printed above");
    assert!(output.contains("pass ") && !output.contains("pass 0"), "specs ran");
}
