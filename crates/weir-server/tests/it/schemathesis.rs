//! The whole API against its own description, by a program that knows nothing else of it: requests
//! that the description allows are taken, others are refused, and every answer is a described one.
//!
//! The server has something of everything before (`furnished.rs`), and most requests name it. What a description cannot say
//! is in `weir_hooks.py`, operation by operation.
//!
//! All its checks are on. One of them, `object_level_authorization`, has nothing to do here because it
//! wants two users of one path; who reaches whose things is the subject of `matrix.rs`.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use weir_framework::Service;
use weir_framework::networks::Networks;
use weir_framework::settings::JobSettings;
use weir_framework::testing::{ADMIN_KEY, TestApp};
use weir_server::keeper;

use crate::furnished::furnish;
use crate::sample::Sample;

/// Seed, and requests with made-up data for each operation: the same ones on every run, and no more
/// than end within a minute.
const SHORT: [&str; 4] = ["--seed", "2026", "--max-examples", "10"];
/// At full length: others on every run. The seed is printed.
const FULL_LENGTH: [&str; 2] = ["--max-examples", "2000"];
/// Its settings, and what it is told of our formats.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/schemathesis");
const SETTINGS: &str = "schemathesis.toml";

#[tokio::test]
async fn the_server_does_what_its_description_says() {
    let program = weir_testkit::installed("python/bin/schemathesis");
    let program = program.unwrap_or_else(|missing| panic!("{missing}"));
    let mut services: Vec<Box<dyn Service>> = vec![Box::new(Sample)];
    services.extend(weir_server::services(settings(), &JobSettings::default()));
    let app = TestApp::start(services).await;
    let description = format!("http://{}/openapi.json", app.address);
    let folder = tempfile::tempdir().unwrap();
    furnish(&app, folder.path()).await;
    let ran = tokio::task::spawn_blocking(move || schemathesis(&program, &description, &folder));
    let ran = ran.await.unwrap();
    let output = String::from_utf8_lossy(&ran.stdout);
    println!("{output}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "it found what is printed above");
    for phase in ["Examples", "Coverage", "Fuzzing", "Stateful"] {
        assert!(output.contains(&format!("✅  {phase}")), "{phase} did not run");
    }
    app.stop().await.unwrap();
}

/// The settings of every service. The keeper has no rate limits, and secrets that cost no time.
fn settings() -> weir_server::Settings {
    let keeper = keeper::Settings {
        bcrypt_cost: 4,
        token_rate: 0,
        token_address_rate: 0,
        token_total_rate: 0,
        refresh_rate: 0,
        aggregates_rate: 0,
        selection_rate: 0,
        write_rate: 0,
        rotate_rate: 0,
        submission_rate: 0,
        webhook_allowed_networks: Networks::parse(&["127.0.0.0/8"]).unwrap(),
        ..keeper::Settings::default()
    };
    weir_server::Settings { keeper, ..weir_server::Settings::default() }
}

/// Runs it in `folder`, where the values are that its settings name; it leaves files there.
fn schemathesis(program: &Path, description: &str, folder: &TempDir) -> Output {
    let full_length = std::env::var_os("WEIR_TEST_ALL").is_some_and(|value| value == "1");
    let length: &[&str] = if full_length { &FULL_LENGTH } else { &SHORT };
    // Files that settings name are looked for beside the settings.
    let settings = folder.path().join(SETTINGS);
    std::fs::copy(Path::new(FOLDER).join(SETTINGS), &settings).unwrap();
    Command::new(program)
        .current_dir(folder)
        .env("PYTHONPATH", FOLDER)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg("--config-file")
        .arg(settings)
        .args(["run", description, "--checks", "all", "--no-color"])
        .args(length)
        .args(["--header", &format!("X-API-Key: {ADMIN_KEY}")])
        .output()
        .unwrap()
}
