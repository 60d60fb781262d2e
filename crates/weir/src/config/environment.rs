//! The layer over the file: `WEIR_*` variables.
//!
//! An unknown variable that begins with `WEIR_` is an error, because it is probably misspelt. An empty variable counts as
//! not set.

use std::ffi::OsString;

use super::keys::{self, Key};
use super::load::{Findings, Origin, Setting};
use super::secret::SECRET_FILE;
use crate::commands::passphrase;
use crate::remote;

const PREFIX: &str = "WEIR_";

/// The variable with the path of the configuration file.
pub(super) const FILE: &str = "WEIR_CONFIG";

/// The variable with the URL of the database that `weir practice migrate` reads.
pub(crate) const MIGRATE_FROM: &str = "WEIR_MIGRATE_FROM";

/// The layer of these variables.
pub(super) fn settings(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    keys: &[Key],
) -> Findings {
    let mut findings = Findings::default();
    let mut variables: Vec<_> = variables
        .into_iter()
        .filter_map(|(name, text)| Some((name.into_string().ok()?, text)))
        .filter(|(name, text)| name.starts_with(PREFIX) && !text.is_empty())
        .collect();
    variables.sort();
    for (name, text) in variables {
        match keys.iter().find(|key| key.variable == name) {
            Some(key) => read(*key, text, &mut findings),
            None if !is_no_setting(&name, &text) => findings.problems.push(unknown(&name, keys)),
            None => {}
        }
    }
    findings
}

fn read(key: Key, text: OsString, findings: &mut Findings) {
    let origin = Origin::Variable(key.variable);
    let parsed =
        text.into_string().map_err(|_| "is not UTF-8".to_owned()).and_then(|text| key.parse(&text));
    match parsed {
        Ok(value) => findings.settings.push(Setting { key, value, origin }),
        Err(problem) => findings.wrong(&key.path(), &problem, &origin),
    }
}

/// Whether a variable is not a setting: of tests, of the build, of the image, of a command, or one that Kubernetes sets in every container beside a
/// service named `weir`.
fn is_no_setting(name: &str, text: &OsString) -> bool {
    name == FILE
        || ["WEIR_TOOLS", "WEIR_ICF", "WEIR_HEALTH_URL"].contains(&name)
        || cfg!(debug_assertions) && name == "WEIR_CONSOLE_SOURCE"
        || remote::VARIABLES.contains(&name)
        || is_command_secret(name)
        || name.starts_with("WEIR_TEST_")
        || name.starts_with("WEIR_SERVICE_HOST")
        || name.starts_with("WEIR_SERVICE_PORT")
        || name.starts_with("WEIR_PORT_")
        || name == "WEIR_PORT" && text.to_string_lossy().contains("://")
}

/// Whether a variable is a secret of a command, or the path of its file.
fn is_command_secret(name: &str) -> bool {
    let secret = name.strip_suffix(SECRET_FILE).unwrap_or(name);
    [MIGRATE_FROM, passphrase::VARIABLE].contains(&secret)
}

fn unknown(name: &str, keys: &[Key]) -> String {
    let short = |name: &str| name.trim_start_matches(PREFIX).to_owned();
    // Users also try the section's name before the key's.
    let long = |key: &Key| format!("{}_{}", key.section, key.name).to_uppercase();
    let known = keys
        .iter()
        .map(|key| (key.variable, vec![short(key.variable), long(key)]))
        .chain(remote::VARIABLES.into_iter().chain([FILE]).map(|name| (name, vec![short(name)])));
    match keys::nearest(&short(name), known) {
        Some(near) => format!("the variable {name} is unknown; did you mean {near}?"),
        None => format!("the variable {name} is unknown; `weir config default` lists all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, text: &str) -> Findings {
        settings([(name.into(), text.into())], &keys::all())
    }

    #[test]
    fn a_variable_sets_its_key() {
        let found = found("WEIR_COMPRESSION", "off");
        assert_eq!(found.problems, Vec::<String>::new());
        let setting = found.settings.first().unwrap();
        assert_eq!(setting.key.path(), "server.compression");
        assert_eq!(setting.value, toml::Value::Boolean(false));
    }

    #[test]
    fn what_is_not_ours_is_let_be() {
        for (name, text) in [
            ("PATH", "/bin"),
            ("WEIR_CONFIG", "weir.toml"),
            ("WEIR_TEST_ALL", "1"),
            ("WEIR_TOKEN_FILE", "token.txt"),
            ("WEIR_HEALTH_URL", "http://127.0.0.1:9000"),
            ("WEIR_REGION", ""),
            ("WEIR_SERVICE_HOST", "10.0.0.1"),
            ("WEIR_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
            ("WEIR_PORT", "tcp://10.0.0.1:8080"),
        ] {
            let found = found(name, text);
            assert!(found.settings.is_empty() && found.problems.is_empty(), "{name}");
        }
    }

    #[test]
    fn an_unknown_variable_is_told_with_the_nearest() {
        for (name, near) in [
            ("WEIR_DTA", "WEIR_DATA?"),
            ("WEIR_STORE_DATA", "WEIR_DATA?"),
            ("WEIR_SERVER_LISTEN", "WEIR_LISTEN?"),
            ("WEIR_LOG_LEVEL", "WEIR_LOG?"),
            ("WEIR_CONFIG_FILE", "WEIR_CONFIG?"),
            ("WEIR_TOKENS", "WEIR_TOKEN?"),
            ("WEIR_XQZ", "weir config default"),
        ] {
            let problems = found(name, "x").problems;
            assert!(problems.iter().any(|message| message.contains(near)), "{problems:?}");
        }
    }
}
