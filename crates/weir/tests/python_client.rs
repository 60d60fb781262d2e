//! Runs the tests of the Python client, which are written in Python, against this server.
//!
//! They start servers and clients of their own and kill them. `clients/python/tests` has them; pytest, and what else they need, is
//! installed by `make setup`. Each test here is a part of them, so that the parts run beside each other.

#![expect(clippy::unwrap_used, reason = "these are tests, their helpers included")]

use std::path::Path;
use std::process::Command;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/python");

/// Runs files of the tests; what pytest prints is shown if they fail.
#[track_caller]
fn run(files: &[&str]) {
    let python = weir_testkit::installed("client/bin").unwrap().join("python");
    let mut command = Command::new(python);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("WEIR_") || name.starts_with("PYTHON") {
            command.env_remove(name);
        }
    }
    let output = command
        .args(["-m", "pytest"])
        .args(files.iter().map(|file| format!("tests/{file}.py")))
        .current_dir(FOLDER)
        .env("WEIR_BIN", env!("CARGO_BIN_EXE_weir"))
        .env("PYTHONPATH", Path::new(FOLDER).join("src"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The files that the tests below name; no other may be in the folder.
const FILES: [&str; 14] = [
    "test_async",
    "test_budget",
    "test_code",
    "test_core",
    "test_docs",
    "test_install",
    "test_kills",
    "test_limiter",
    "test_practice",
    "test_queue",
    "test_reporter",
    "test_responses",
    "test_reviews",
    "test_tokens",
];

#[test]
fn python_client_limits_and_budgets() {
    run(&["test_core", "test_limiter", "test_async", "test_budget"]);
}

#[test]
fn python_client_records_and_works_on_jobs() {
    run(&["test_tokens", "test_reviews", "test_practice"]);
}

#[test]
fn python_client_survives_kills() {
    run(&["test_kills", "test_queue", "test_responses"]);
}

#[test]
fn python_client_keeps_reports_until_they_are_counted() {
    run(&["test_reporter"]);
}

#[test]
fn python_client_installs_and_its_documentation_is_true() {
    run(&["test_code", "test_docs", "test_install"]);
}

#[test]
fn every_test_of_the_python_client_is_run() {
    let entries = std::fs::read_dir(Path::new(FOLDER).join("tests")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut found: Vec<String> = names.filter(|name| name.starts_with("test_")).collect();
    found.sort();
    let known = FILES.map(|file| format!("{file}.py"));
    assert_eq!(found, known);
}
