//! The files in `infra/` against the server that they run.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::home::Home;
use crate::metrics_page;

const CONFIG: &str = include_str!("../../../../docs/weir.default.toml");

fn infra(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../infra").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(infra(name)).unwrap()
}

/// The words of `text` that consist of characters that `part` accepts.
fn words(text: &str, part: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(move |c| !part(c))
}

#[test]
fn tables_are_those_that_the_server_declares() {
    let home = Home::new();
    let server = home.serve("weir-data");
    let listed: Value = serde_json::from_str(&home.weir("tables list --json").ok()).unwrap();
    drop(server);
    let listed = serde_json::to_string_pretty(&listed["items"]).unwrap() + "\n";
    if std::env::var_os("WEIR_TEST_BLESS").is_some() {
        std::fs::write(infra("tables.json"), listed).unwrap();
        return;
    }
    assert_eq!(text("tables.json"), listed, "WEIR_TEST_BLESS=1 writes infra/tables.json");
}

/// Actions of calls that only commands make, or a server whose tables are missing.
const NOT_OF_SERVERS: &[&str] = &["CreateTable", "DeleteTable", "ListTables", "UpdateTimeToLive"];

/// The actions that the calls in the source of the DynamoDB back-end require.
fn called() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../weir-table/src/dynamodb");
    let mut actions = BTreeSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let source: String = source.split_whitespace().collect();
        for client in ["dynamo.tables.", "dynamo.streams."] {
            for call in source.split(client).skip(1) {
                let operation = call.split_once('(').unwrap().0;
                let pascal = operation.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
                match operation {
                    "transact_get_items" => actions.extend(["GetItem".to_owned()]),
                    "transact_write_items" => actions.extend(
                        ["PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"]
                            .map(str::to_owned),
                    ),
                    _ => actions.extend([pascal.collect::<String>()]),
                }
            }
        }
    }
    assert!(actions.len() >= 17, "{actions:?}");
    actions
}

/// The actions on DynamoDB that `text` names.
fn allowed(text: &str) -> BTreeSet<String> {
    let actions = text.split("dynamodb:").skip(1);
    actions.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn policies_allow_the_calls_of_the_server_and_no_others() {
    let list = BTreeSet::from(["ListTables".to_owned()]);
    let mut server = called();
    server.retain(|action| !NOT_OF_SERVERS.contains(&action.as_str()));

    let terraform = text("terraform/iam.tf");
    let documents: Vec<&str> = terraform.split("data \"aws_iam_policy_document\"").collect();
    let [_, of_server, of_operator] = documents[..] else {
        panic!("{} documents", documents.len())
    };
    assert_eq!(allowed(of_server), server);
    assert!(of_operator.contains("aws_iam_policy_document.server.json"), "all of the server's");
    assert_eq!(allowed(of_operator), list);

    let template: Value = serde_json::from_str(&text("cloudformation/weir.json")).unwrap();
    let policy = |name: &str| {
        let resource = &template["Resources"][name];
        allowed(&resource["Properties"]["PolicyDocument"].to_string())
    };
    assert_eq!(policy("ServerPolicy"), server);
    assert_eq!(policy("OperatorPolicy"), &server | &list);
}

#[test]
fn dashboards_and_alerts_name_metrics_that_exist() {
    let documented = metrics_page::documented();
    let mut named = BTreeSet::new();
    for file in ["grafana/weir.json", "prometheus/alerts.yml", "prometheus/alerts.test.yml"] {
        let text = text(file);
        let is_metric = |word: &&str| word.starts_with("weir_") || word.starts_with("process_");
        for word in words(&text, |c| c.is_ascii_alphanumeric() || c == '_').filter(is_metric) {
            let name = word.strip_suffix("_bucket").unwrap_or(word);
            assert!(documented.contains(name), "{file} names {word}, which docs/metrics.md lacks");
            named.insert(name.to_owned());
        }
    }
    assert!(named.len() > 40, "the files name {} metrics", named.len());
}

/// Metrics of the whole store, which every instance exports.
const STORE_WIDE: [&str; 4] = [
    "weir_limiter_leases_open",
    "weir_practice_job_leases_expired",
    "weir_job_runs_total",
    "weir_job_failures_total",
];

#[test]
fn dashboards_do_not_add_up_what_every_instance_exports() {
    let dashboard = text("grafana/weir.json");
    let mut found = 0;
    for line in dashboard.lines().filter(|line| STORE_WIDE.iter().any(|name| line.contains(name))) {
        assert!(!line.contains("sum"), "{line}");
        found += 1;
    }
    assert!(found >= 3, "{found} panels");
}

#[test]
fn settings_that_files_set_exist() {
    let mut named = BTreeSet::new();
    for file in [
        "docker/Dockerfile",
        "docker/compose.yaml",
        "systemd/weir.service",
        "helm/weir/templates/_helpers.tpl",
    ] {
        let text = text(file);
        for word in words(&text, |c| c.is_ascii_uppercase() || c == '_') {
            if word.starts_with("WEIR_") && !["WEIR_CONFIG", "WEIR_HEALTH_URL"].contains(&word) {
                assert!(
                    CONFIG.contains(&format!("{word}.")) || CONFIG.contains(&format!("{word},")),
                    "{file} sets {word}, which is no setting"
                );
                named.insert(word.to_owned());
            }
        }
    }
    assert!(named.len() >= 10, "{named:?}");
}

#[test]
fn the_chart_uses_the_values_that_it_has() {
    let values: Value = serde_saphyr::from_str(&text("helm/weir/values.yaml")).unwrap();
    let mut used = 0;
    for file in std::fs::read_dir(infra("helm/weir/templates")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for word in words(&text, |c| c.is_ascii_alphanumeric() || c == '.' || c == '$') {
            let Some(path) = word.trim_start_matches('$').strip_prefix(".Values.") else {
                continue;
            };
            let pointer = format!("/{}", path.replace('.', "/"));
            assert!(values.pointer(&pointer).is_some(), "values.yaml lacks {path}");
            used += 1;
        }
    }
    assert!(used > 30, "the templates use {used} values");
}

#[test]
fn systemd_learns_when_the_server_is_ready() {
    let home = Home::new();
    let socket = home.path("notify.sock");
    let systemd = UnixDatagram::bind(&socket).unwrap();
    systemd.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let server = home.serve_in(&[("NOTIFY_SOCKET", socket.to_str().unwrap())], &[]);
    let mut message = [0; 200];
    let length = systemd.recv(&mut message).unwrap();
    let message = std::str::from_utf8(&message[..length]).unwrap();
    assert!(message.lines().any(|line| line == "READY=1"), "{message}");
    assert!(
        message.contains(&format!("STATUS=listening on http://{}", server.address)),
        "{message}"
    );
    systemd.set_nonblocking(true).unwrap();
    assert_eq!(systemd.recv(&mut [0; 1]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_server_starts_where_systemd_does_not_answer() {
    let home = Home::new();
    let nowhere = home.path("nowhere.sock");
    let server = home.serve_in(&[("NOTIFY_SOCKET", nowhere.to_str().unwrap())], &[]);
    assert_eq!(server.get("/readyz").0, 200);
}
