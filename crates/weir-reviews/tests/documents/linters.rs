//! SARIF of real linters says the same as their own JSON.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use weir_reviews::finding::Finding;
use weir_reviews::sarif::{self, ReadOptions};

use crate::tools;

/// Faults that both linters find, also over several lines and in a file with a blank and an umlaut in its name.
const SOURCE: &str = r#"import os
import subprocess

import pickle


def find(cursor, name):
    cursor.execute("SELECT * FROM users WHERE name = '%s'" % name)
    subprocess.call(
        "ls {0} | wc".format(
            name,
        ),
        shell=True,
    )
    try:
        return eval(name), pickle.loads(name)
    except:
        pass
    unused = 1
    assert name, "ä"
"#;

const FILE: &str = "src/some ünit.py";

/// Where, which rule, and what a linter says.
type Said = (String, u32, u32, String, String);

fn said(finding: Finding) -> Said {
    let rule = finding.rule.unwrap();
    (finding.file_path, finding.line_start, finding.line_end, rule, finding.description)
}

/// A folder with the source.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join(FILE), SOURCE).unwrap();
    folder
}

/// What a linter prints. It fails because it finds faults.
fn printed(linter: &mut Command, folder: &Path) -> Vec<u8> {
    let output = tools::output(linter.current_dir(folder));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    output.stdout
}

/// What the SARIF says, as it is read in the folder of the repository.
fn read(sarif: &[u8], folder: &Path, model: &str) -> Vec<Said> {
    let root = Some(folder.canonicalize().unwrap().display().to_string());
    let models = sarif::read(sarif, &ReadOptions { root, ..ReadOptions::default() }).unwrap();
    assert_eq!(models.len(), 1);
    assert_eq!(models[0].model.as_str(), model);
    let mut said: Vec<Said> = models[0].findings.iter().cloned().map(said).collect();
    said.sort();
    said
}

fn line(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn ruff() {
    let folder = repository();
    let root = folder.path().canonicalize().unwrap();
    let check = |format: &str| {
        let mut ruff = tools::program("ruff");
        ruff.args(["check", "--isolated", "--no-cache", "--select", "ALL", "--quiet"]);
        printed(ruff.args(["--output-format", format, "src"]), folder.path())
    };
    let json: Value = serde_json::from_slice(&check("json")).unwrap();
    let mut expected: Vec<Said> = json
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| {
            let path = text(&fault["filename"]);
            let path = path.strip_prefix(root.to_str().unwrap()).unwrap().trim_start_matches('/');
            let lines = (line(&fault["location"]["row"]), line(&fault["end_location"]["row"]));
            (path.to_owned(), lines.0, lines.1, text(&fault["code"]), text(&fault["message"]))
        })
        .collect();
    expected.sort();
    let found = read(&check("sarif"), folder.path(), "ruff");
    assert_eq!(found, expected);
    assert!(found.len() > 10, "{found:?}");
    assert!(found.iter().any(|(_, start, end, ..)| start < end));
    assert!(found.iter().all(|(path, ..)| path == FILE), "{found:?}");
}

#[test]
fn bandit() {
    let folder = repository();
    let check = |format: &str| {
        let mut bandit = tools::program("bandit");
        printed(bandit.args(["--quiet", "--format", format, "--recursive", "src"]), folder.path())
    };
    let json: Value = serde_json::from_slice(&check("json")).unwrap();
    let mut expected: Vec<Said> = json["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| {
            let path = text(&fault["filename"]);
            let path = path.trim_start_matches("./").to_owned();
            // The formatter leaves `line_range` out.
            let line = line(&fault["line_number"]);
            (path, line, line, text(&fault["test_id"]), text(&fault["issue_text"]))
        })
        .collect();
    expected.sort();
    let found = read(&check("sarif"), folder.path(), "Bandit");
    assert_eq!(found, expected);
    assert!(found.len() >= 5, "{found:?}");
    assert!(found.iter().all(|(path, ..)| path == FILE), "{found:?}");
}
