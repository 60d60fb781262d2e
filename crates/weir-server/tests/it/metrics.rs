//! `docs/metrics.md` against the metrics that the code registers and the server exports.

use std::collections::BTreeSet;
use std::path::Path;

use weir_framework::settings::JobSettings;
use weir_framework::testing::TestApp;
use weir_server::{Settings, services};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
const SOURCES: [&str; 2] = ["src", "../weir-framework/src/metrics"];

/// The names that the page documents.
fn documented() -> BTreeSet<String> {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split('`').next()).map(str::to_owned).collect()
}

/// The names that the code registers, without the suffix that the encoder adds.
fn registered() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for folder in SOURCES {
        visit(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut names);
    }
    names
}

fn visit(path: &Path, names: &mut BTreeSet<String>) {
    if path.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| visit(&entry.unwrap().path(), names));
        return;
    }
    let text = std::fs::read_to_string(path).unwrap();
    for call in text.split("registry.register(").skip(1) {
        let argument = call.trim_start();
        if let Some(name) = argument.strip_prefix('"').and_then(|rest| rest.split('"').next()) {
            names.insert(name.to_owned());
        }
    }
}

#[test]
fn every_registered_metric_is_documented() {
    let (documented, registered) = (documented(), registered());
    assert!(registered.len() > 30, "{registered:?}");
    for name in &registered {
        let forms = ["", "_total", "_info"].map(|suffix| format!("weir_{name}{suffix}"));
        let process = ["", "_total"].map(|suffix| format!("{name}{suffix}"));
        let is_known = |form: &String| documented.contains(form);
        assert!(forms.iter().chain(&process).any(is_known), "{name} is not in docs/metrics.md");
    }
    assert_eq!(documented.len(), registered.len(), "docs/metrics.md has a metric that is gone");
}

#[tokio::test]
async fn what_only_grows_is_a_counter_that_ends_in_total() {
    let app = TestApp::start(services(Settings::default(), &JobSettings::default())).await;
    let text = app.get("/metrics").admin().send().await.text();
    let documented = documented();
    let mut types = 0;
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        let name = match kind {
            "counter" => format!("{name}_total"),
            "info" => format!("{name}_info"),
            _ => name.to_owned(),
        };
        assert!(documented.contains(&name), "{name} ({kind}) is not in docs/metrics.md");
        assert!(kind == "counter" || !name.ends_with("_total"), "{name} is a {kind}");
        types += 1;
    }
    assert!(types >= 20, "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
}
