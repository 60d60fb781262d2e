//! Tests that cannot run on a machine say so here, so that no skip is silent: `make tests` counts them at its end
//! (`scripts/skips.sh`), because the test runner hides what a test prints that passes.
//!
//! A build server (`CI` is set) runs every test: there a skip is a failure, unless its reason is in [`ALLOWED_IN_CI`].

#![expect(clippy::panic, clippy::print_stderr, reason = "a skip is printed, or is a failed test")]

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// Names the file that lists the skips of a run, one reason on each line.
const FILE_VAR: &str = "WEIR_TEST_SKIPS";

/// Reasons that count on a build server too, each with why that is right.
const ALLOWED_IN_CI: &[(&str, &str)] = &[
    (
        "no AWS account is named",
        "the contract runs on emulators; an account costs money and holds secrets",
    ),
    (
        "no small disk can be mounted",
        "mounting needs a privileged container; the fault-injecting disk covers the same code",
    ),
];

/// Records that a test does not run here. The caller returns afterwards.
///
/// `reason` is a constant text, `details` says what was found on this machine.
///
/// # Panics
/// On a build server, unless the reason is allowed there; and if the list of skips cannot be written.
#[track_caller]
pub fn skip(reason: &str, details: &str) {
    if let Some(file) = std::env::var_os(FILE_VAR) {
        record(Path::new(&file), reason).unwrap_or_else(|error| panic!("{FILE_VAR}: {error}"));
    }
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    if is_ci && !is_allowed(reason) {
        panic!("skipped on a build server: {reason} ({details})");
    }
    eprintln!("skipped: {reason} ({details})");
}

/// Adds a line. Tests of several processes write it at once, so a line is one write.
fn record(file: &Path, reason: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    file.write_all(format!("{reason}\n").as_bytes())
}

fn is_allowed(reason: &str) -> bool {
    ALLOWED_IN_CI.iter().any(|(allowed, _)| *allowed == reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_skip_has_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("skips.txt");
        record(&file, "it is Friday").unwrap();
        record(&file, "it is Monday").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "it is Friday\nit is Monday\n");
    }

    #[test]
    fn only_listed_reasons_are_allowed_on_a_build_server() {
        assert!(is_allowed("no AWS account is named"));
        assert!(!is_allowed("it is Friday"));
    }
}
