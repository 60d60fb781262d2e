//! `weir limiter import-zae`: a table of either release, copied into Weir's own.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::original::Original;
use crate::place::{Place, slow};
use crate::side::{Level, Side as _, texts};
use crate::weir::command;

/// Runs a command of the limiter on an embedded store in `folder`; what it printed as JSON.
fn weir(folder: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let ended = command(folder).arg("limiter").args(arguments).arg("--json").output().unwrap();
    let Output { status, stdout, stderr } = ended;
    let printed = serde_json::from_slice(&stdout).unwrap_or_else(|error| {
        panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&stderr))
    });
    (status.code(), printed)
}

fn import(place: &Place, folder: &Path, more: &[&str]) -> (Option<i32>, Value) {
    let from = format!("dynamodb:{}", place.endpoint());
    let table = place.table();
    let arguments = ["import-zae", "--from", &from, "--table", &table];
    weir(folder, &[&arguments, more].concat())
}

/// The number of items of a kind that were imported.
fn imported(report: &Value, kind: &str) -> u64 {
    report["counts"][kind]["imported"].as_u64().unwrap_or_default()
}

/// Limits, a parent with a child, and a bucket of which three of ten are taken, in `default`.
fn fill(original: &mut Original) {
    original.set_limits(Level::System, &[slow("rpm", 10)]);
    original.set_limits(Level::Resource("model"), &[slow("rpm", 20), slow("tpm", 100)]);
    original.create_entity("project", None);
    original.create_entity("user", Some("project"));
    original.set_limits(Level::EntityDefault("user"), &[slow("rpm", 30)]);
    original.set_limits(Level::Entity("user", "model"), &[slow("rpm", 10)]);
    assert!(original.takes("user", "model", &[("rpm", 3)]));
}

#[test]
fn a_table_of_either_release_is_imported_once() {
    for newest in [false, true] {
        let place = Place::new();
        let mut original = if newest { place.newest() } else { place.original() };
        original.ok("create_table", json!({}));
        original.open("default");
        fill(&mut original);
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();

        let (code, planned) = import(&place, folder, &["--history", "--dry-run"]);
        assert_eq!((code, imported(&planned, "entity")), (Some(0), 2), "{planned}");
        let (code, report) = import(&place, folder, &["--history"]);
        assert_eq!(code, Some(0), "{report}");
        for (kind, number) in [("entity", 2), ("level", 4), ("bucket", 2)] {
            assert_eq!(imported(&report, kind), number, "{kind}: {report}");
        }
        assert!(imported(&report, "audit") >= 6, "{report}");
        let (_, again) = import(&place, folder, &["--history"]);
        let kinds = again["counts"].as_object().unwrap();
        assert!(kinds.keys().all(|kind| imported(&again, kind) == 0), "{again}");

        let (_, found) = weir(folder, &["check", "user", "model"]);
        let text = found.to_string();
        assert!(text.contains("\"available\":7"), "{text}");
        assert!(text.contains("\"available\":17"), "its parent pays: {text}");
        let (_, audit) = weir(folder, &["audit", "--limit", "100"]);
        let actions = texts(&audit["items"], Some("action"));
        assert!(actions.contains(&"namespace_imported".to_owned()), "{actions:?}");
        assert!(actions.contains(&"entity_created".to_owned()), "{actions:?}");
    }
}

#[test]
fn what_weir_cannot_express_is_listed() {
    let place = Place::new();
    let mut newest = place.newest();
    newest.ok("create_table", json!({}));
    newest.open("default");
    fill(&mut newest);
    newest.ok("call", json!({"name": "disable_resource", "resource": "model"}));
    let daily = json!({"name": "rpm", "capacity": 5, "cron": "0 0 * * *"});
    newest.set_limits(Level::Resource("daily"), &[daily]);
    let folder = tempfile::tempdir().unwrap();
    let (code, report) = import(&place, folder.path(), &[]);
    assert_eq!(code, Some(4), "{report}");
    let problems = report["problems"].to_string();
    for part in ["RESOURCE#model #CONFIG", "disabled", "RESOURCE#daily #CONFIG", "l_rpm_"] {
        assert!(problems.contains(part), "{part}: {problems}");
    }
    assert_eq!(imported(&report, "level"), 3, "the others are there: {report}");
}
