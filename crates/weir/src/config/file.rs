//! The layer over the defaults: `weir.toml`.
//!
//! Messages name the line number and the key, and never quote a line, which may contain a secret.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use toml::{Table, Value};

use super::keys::{self, Key};
use super::load::{Findings, Origin, Setting};
use crate::failure::Failure;

/// The file that is read by default, if it exists.
pub(super) const USUAL: &str = "weir.toml";

/// Maximum size of the file in bytes.
const BYTES_MAX: u64 = 1024 * 1024;

/// Reads the file.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let failed = |error| {
        let message = format!("the configuration file {} cannot be read", path.display());
        Failure::usage(message).because(error)
    };
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    let read = file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if read as u64 > BYTES_MAX {
        return Err(Failure::usage(format!(
            "the configuration file {} is longer than {BYTES_MAX} bytes",
            path.display()
        )));
    }
    Ok(text)
}

/// The layer of a file's text.
pub(super) fn settings(path: &Path, text: &str, keys: &[Key]) -> Findings {
    let mut findings = Findings::default();
    let table = match text.parse::<Table>() {
        Ok(table) => table,
        Err(error) => {
            let start = error.span().map_or(0, |span| span.start);
            let before = text.get(..start).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            findings.problems.push(format!("{}, line {line}: {}", path.display(), error.message()));
            return findings;
        }
    };
    let origin = Origin::File(path.to_owned());
    for (name, value) in table {
        section(&name, value, &origin, keys, &mut findings);
    }
    findings
}

fn section(name: &str, value: Value, origin: &Origin, keys: &[Key], findings: &mut Findings) {
    let is_section = keys.iter().any(|key| key.section == name);
    match value {
        Value::Table(table) if is_section => {
            for (leaf, value) in table {
                match keys.iter().find(|key| key.section == name && key.name == leaf) {
                    Some(key) => {
                        findings.settings.push(Setting { key: *key, value, origin: origin.clone() })
                    }
                    None => {
                        let path = format!("{name}.{leaf}");
                        findings.wrong(&path, &unknown_key(Some(name), &leaf, keys), origin);
                    }
                }
            }
        }
        _ if is_section => {
            let problem = format!("is a section; write [{name}] and its keys below");
            findings.wrong(name, &problem, origin);
        }
        Value::Table(_) => findings.wrong(name, &unknown_section(name, keys), origin),
        _ => findings.wrong(name, &unknown_key(None, name, keys), origin),
    }
}

fn unknown_key(section: Option<&str>, name: &str, keys: &[Key]) -> String {
    let named = |key: &Key| (key.path(), vec![key.name.to_owned()]);
    // A misspelt name is likelier than a wrong section.
    let here = keys.iter().filter(|key| Some(key.section) == section);
    let near = keys::nearest(name, here.map(named))
        .or_else(|| keys::nearest(name, keys.iter().map(named)));
    match near {
        Some(near) => format!("is unknown; did you mean {near}?"),
        None => "is unknown; `weir config default` lists all keys".to_owned(),
    }
}

fn unknown_section(name: &str, keys: &[Key]) -> String {
    let known = keys.iter().map(|key| (key.section, vec![key.section.to_owned()]));
    match keys::nearest(name, known) {
        Some(near) => format!("is not a section; did you mean [{near}]?"),
        None => "is not a section; `weir config default` lists all".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        let found = settings(Path::new("weir.toml"), text, &keys::all());
        assert_eq!(found.settings.len(), 0, "{text}");
        found.problems.join("\n")
    }

    #[test]
    fn what_is_unknown_is_told_with_the_nearest() {
        for (text, says) in [
            ("[store]\ndta = 1", "store.dta is unknown; did you mean store.data?"),
            ("[store]\nlisten = 1", "did you mean server.listen?"),
            ("listen = \"x\"", "listen is unknown; did you mean server.listen?"),
            ("[sever]\nlisten = \"x\"", "sever is not a section; did you mean [server]?"),
            ("server = 1", "server is a section; write [server]"),
            ("[store]\nqqq = 1", "store.qqq is unknown; `weir config default`"),
            ("[qqq]", "qqq is not a section; `weir config default`"),
        ] {
            let message = problem(text);
            assert!(message.contains(says), "{message}");
            assert!(message.contains("weir.toml"), "{message}");
        }
    }

    #[test]
    fn a_slip_on_a_line_with_a_secret_does_not_show_it() {
        for text in [
            "[auth]\nadmin_key = hunter2",
            "[auth]\nadmin_key = \"hunter2",
            "[auth]\nadmin_key = \"a\"\nadmin_key = \"hunter2\"",
            "[auth]\nadmin_key \"hunter2\"",
            "[auth]\nadmin_key = \"hunter2\" hunter2",
        ] {
            let message = problem(text);
            assert!(message.contains("weir.toml, line "), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }
}
