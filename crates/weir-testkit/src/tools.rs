//! Where `make setup` put the servers and programs.

use std::env;
use std::path::{Path, PathBuf};

use crate::Error;

/// Names another tools folder than the `.tools` of this repository.
const TOOLS_VAR: &str = "WEIR_TOOLS";

/// The absolute path of `file` inside the tools folder, once it is known to exist.
///
/// # Errors
/// It is not there.
pub fn installed(file: &str) -> Result<PathBuf, Error> {
    let folder = env::var_os(TOOLS_VAR).map_or_else(default_folder, PathBuf::from);
    let path = folder.join(file);
    path.canonicalize().map_err(|_missing| Error::NotInstalled { path: path.display().to_string() })
}

fn default_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools")
}
