//! `weir doctor`: what is well, and what to do where it is not.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::home::{Home, Run};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

/// The line about one check.
fn line<'a>(run: &'a Run, check: &str) -> &'a str {
    let is_it = |line: &&str| line.split_once(' ').is_some_and(|(_, rest)| rest.starts_with(check));
    let found = run.out.lines().find(is_it);
    found.unwrap_or_else(|| panic!("no line about {check} in {run:?}"))
}

/// A configuration whose connections fit on any machine.
fn healthy() -> Home {
    let home = Home::with_orders();
    home.configure("[server]\nconnections_max = 100");
    home
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn all_is_well_where_all_is_well() {
    let home = healthy();
    let report = home.weir("doctor").ok();
    assert!(report.lines().all(|line| line.starts_with("✓ ")), "{report}");
    assert!(report.contains("embedded:./weir-data has 1 table and responded in"), "{report}");
    let server = home.serve("weir-data");
    let report = home.weir("doctor").ok();
    let running = format!("✓ server: process {} serves it", server.pid());
    assert!(report.contains(&running), "{report}");
    for table in ["weir-limiter", "quorum-metrics-dev", "algoitny_main"] {
        let sound = format!("✓ table: {table} has its keys, indexes, expiry and feed");
        assert!(report.contains(&sound), "{report}");
    }
    let answer = home.weir("doctor --json").json();
    let items = answer["items"].as_array().unwrap();
    assert!(items.len() >= 9 && items.iter().all(|item| item["state"] == "good"), "{answer}");
}

#[test]
fn a_folder_that_is_not_there_yet_is_no_fault() {
    let home = Home::new();
    let run = home.weir("doctor");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(
        line(&run, "folder").starts_with("! folder: ./weir-data does not exist yet → "),
        "{run:?}"
    );
    assert!(!home.path("weir-data").exists(), "looking changes nothing");
}

#[test]
fn a_wrong_configuration_is_told() {
    let home = Home::new();
    home.configure("[store]\ndta = 1");
    let run = home.weir("doctor");
    assert_eq!(run.code, Some(4));
    assert!(
        line(&run, "configuration").starts_with("✗ configuration: store.dta is unknown"),
        "{run:?}"
    );
    assert!(run.err.contains("1 check found something wrong"), "{run:?}");
    assert_eq!(home.weir("doctor --config missing.toml").code, Some(4));
}

#[test]
fn a_folder_that_others_may_look_into_is_told() {
    let home = healthy();
    mode(&home.path("weir-data"), 0o755);
    let run = home.weir("doctor");
    assert_eq!(run.code, Some(4));
    let finding = line(&run, "folder");
    assert!(finding.starts_with("✗ folder: ./weir-data has mode 0755"), "{finding}");
    assert!(finding.ends_with("→ chmod 700 ./weir-data"), "{finding}");
    mode(&home.path("weir-data"), 0o700);
    home.weir("doctor").ok();
}

#[test]
fn a_secret_in_an_open_file_is_told() {
    let home = healthy();
    home.configure(
        "[server]\nconnections_max = 100\n[auth]\nadmin_key = \"hunter2-hunter2-hunter2\"",
    );
    mode(&home.path("weir.toml"), 0o644);
    let run = home.weir("doctor");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(line(&run, "configuration").ends_with("→ chmod 600 weir.toml"), "{run:?}");
    mode(&home.path("weir.toml"), 0o600);
    assert!(line(&home.weir("doctor"), "configuration").starts_with("✓"));
}

#[test]
fn a_store_of_another_format_is_told() {
    let home = healthy();
    for (format, says) in [("99", "99, but this version reads up to 1"), ("x", "is not a number")] {
        fs::write(home.path("weir-data/FORMAT"), format).unwrap();
        let run = home.weir("doctor");
        assert_eq!(run.code, Some(4));
        assert!(line(&run, "format").starts_with("✗ format: "), "{run:?}");
        assert!(line(&run, "format").contains(says), "{run:?}");
        assert!(line(&run, "store").starts_with("✗ store: "), "{run:?}");
    }
}

#[test]
fn a_clock_behind_the_files_is_told() {
    let home = healthy();
    let file = fs::File::options().write(true).open(home.path("weir-data/FORMAT")).unwrap();
    let written = file.metadata().unwrap().modified().unwrap();
    file.set_modified(written + std::time::Duration::from_secs(3600)).unwrap();
    let run = home.weir("doctor");
    assert_eq!(run.code, Some(4));
    let ahead = "✗ clock: files of the store are 59 min ahead of the machine's clock";
    assert!(line(&run, "clock").starts_with(ahead), "{run:?}");
}

#[test]
fn certificates_are_looked_at() {
    let home = healthy();
    fs::write(home.path("key.pem"), "-----BEGIN PRIVATE KEY-----\n").unwrap();
    mode(&home.path("key.pem"), 0o600);
    for (cert, key, code, says) in [
        ("good.pem", "key.pem", 0, "✓ TLS certificate: "),
        ("expired.pem", "key.pem", 4, "✗ TLS certificate: expired.pem expired on 2020-02-01"),
        ("orders.json", "key.pem", 4, "✗ TLS certificate: orders.json contains no PEM certificate"),
        ("missing.pem", "key.pem", 4, "✗ TLS certificate: missing.pem cannot be read"),
        ("good.pem", "missing.pem", 4, "✗ TLS key: missing.pem cannot be read"),
        ("good.pem", "good.pem", 4, "✗ TLS key: good.pem contains no PEM private key"),
    ] {
        for name in ["good.pem", "expired.pem"] {
            fs::copy(Path::new(FIXTURES).join(name), home.path(name)).unwrap();
        }
        home.configure(&format!(
            "[server]\nconnections_max = 100\ntls_cert = \"{cert}\"\ntls_key = \"{key}\""
        ));
        let run = home.weir("doctor");
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.out.contains(says), "{says} is missing in {run:?}");
    }
}

#[test]
fn a_store_that_does_not_answer_is_told() {
    let home = Home::new();
    let run = home.weir("doctor --store dynamodb --dynamodb-endpoint http://127.0.0.1:9");
    assert_eq!(run.code, Some(4));
    assert!(line(&run, "store").starts_with("✗ store: "), "{run:?}");
    assert!(line(&run, "keys").contains("WEIR_CURSOR_KEY"), "{run:?}");
}

#[test]
fn every_table_of_a_server_is_checked() {
    let home = healthy();
    let server = home.serve("weir-data");
    let report = home.weir("doctor").ok();
    for table in ["weir-limiter", "weir-keeper-config", "weir-feeds"] {
        let line = format!("✓ table: {table} has its keys, indexes, expiry and feed");
        assert!(report.contains(&line), "{report}");
    }
    drop(server);
}

#[test]
fn a_table_of_another_shape_is_told_with_what_to_do() {
    let home = Home::new();
    let spec = r#"{"name": "weir-limiter", "attributes": {"PK": "S"}, "partition": "PK"}"#;
    fs::write(home.path("spec.json"), spec).unwrap();
    home.weir("tables create --spec spec.json").ok();
    let run = home.weir("doctor");
    assert_eq!(run.code, Some(4), "{run:?}");
    let line = line(&run, "table: weir-limiter");
    assert!(line.starts_with("✗ "), "{line}");
    for part in
        ["sort: expected SK, found none", "ttl: expected ttl, found none", "index GSI2", "feed"]
    {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(line.contains(" → "), "{line}");
}
