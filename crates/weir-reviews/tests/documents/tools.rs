//! Programs that `make setup` installed.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program of the Python environment for SARIF.
pub(crate) fn program(name: &str) -> Command {
    Command::new(folder().join("sarif/bin").join(name))
}

/// Runs a program and returns what it printed.
pub(crate) fn output(command: &mut Command) -> Output {
    let output = command.output();
    output.unwrap_or_else(|error| panic!("{command:?} does not run ({error}); run `make setup`"))
}

fn folder() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools");
    env::var_os("WEIR_TOOLS").map_or_else(default, PathBuf::from)
}
