//! `weir token`, `weir admin-key`, `weir signing-key`, `weir jobs`: with a server and without one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::home::{Home, Run};

fn key(home: &Home) -> String {
    let file = home.path("weir-data/admin.key");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}

/// The answer, whatever was noted beside it.
fn answer(run: Run) -> String {
    assert_eq!(run.code, Some(0), "{run:?}");
    run.out.trim_end().to_owned()
}

#[test]
fn the_first_start_makes_an_admin_key() {
    let home = Home::new();
    let server = home.serve("weir-data");
    let made = key(&home);
    assert!(made.starts_with("wak_") && made.len() == 47, "{made}");
    assert_eq!(server.get_with("/v1/whoami", &made).0, 200);
    assert_eq!(server.get("/v1/whoami").0, 401);
    assert_eq!(server.stop(), Some(0));
    let server = home.serve("weir-data");
    assert_eq!(key(&home), made, "a second start keeps it");
    assert_eq!(server.get_with("/v1/whoami", &made).0, 200);
}

#[test]
fn a_new_admin_key_replaces_the_old_one_with_and_without_a_server() {
    let home = Home::new();
    let server = home.serve("weir-data");
    let first = key(&home);
    let second = answer(home.weir("admin-key rotate"));
    assert_eq!(key(&home), second);
    assert_eq!(server.get_with("/v1/whoami", &first).0, 401);
    assert_eq!(server.get_with("/v1/whoami", &second).0, 200);
    assert_eq!(server.stop(), Some(0));
    let third = answer(home.weir("admin-key rotate"));
    let server = home.serve("weir-data");
    assert_eq!(server.get_with("/v1/whoami", &second).0, 401);
    assert_eq!(server.get_with("/v1/whoami", &third).0, 200);
}

#[test]
fn the_file_follows_an_admin_key_that_is_rotated_over_http() {
    let home = Home::new();
    let server = home.serve("weir-data");
    let first = key(&home);
    let (status, body) = server.post_with("/v1/admin-key/rotate", &first);
    assert_eq!(status, 200, "{body}");
    assert!(body.contains(&key(&home)) && key(&home) != first, "{body}");
    assert_eq!(server.get_with("/v1/whoami", &key(&home)).0, 200);
    assert_eq!(server.stop(), Some(0));
    // A restored backup, or a kill between the two writes, leaves a key that is not valid.
    std::fs::write(home.path("weir-data/admin.key"), first).unwrap();
    let _server = home.serve("weir-data");
    assert!(!home.path("weir-data/admin.key").exists(), "nobody finds a dead key");
}

#[test]
fn a_replaced_signing_key_ends_at_once() {
    let home = Home::new();
    let server = home.serve("weir-data");
    let token = answer(home.weir("token issue one --scope admin"));
    let kids = || {
        let listed = home.weir("signing-key list --json").items();
        let kids =
            listed.as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned());
        kids.collect::<Vec<_>>()
    };
    let first = kids();
    let rotated = home.weir("signing-key rotate");
    assert!(rotated.err.contains(&format!("weir signing-key end {}", first[0])), "{rotated:?}");
    assert_eq!(server.get_as("/v1/jobs", &token).0, 200, "tokens outlive a rotation");
    assert_eq!(kids()[1..], first);
    home.weir(&format!("signing-key end {}", kids()[0])).fails(3, &["is the key that signs"]);
    home.weir(&format!("signing-key end {}", first[0])).ok();
    assert_eq!(server.get_as("/v1/jobs", &token).0, 401);
    home.weir("signing-key end 00").fails(3, &["signing key \"00\" not found"]);

    let token = answer(home.weir("token issue two --scope admin"));
    let rotated = home.weir("signing-key rotate --end-previous");
    assert!(rotated.err.contains("are refused from now on"), "{rotated:?}");
    assert_eq!(server.get_as("/v1/jobs", &token).0, 401);
    assert_eq!(server.stop(), Some(0));
    assert_eq!(kids().len(), 1);
    let log = home.weir("security-log").ok();
    for action in ["token_issued", "signing_key_rotated", "signing_key_ended"] {
        assert!(log.contains(action), "{log}");
    }
}

#[test]
fn a_token_for_prometheus_only_scrapes() {
    let home = Home::new();
    let server = home.serve("weir-data");
    let token = answer(home.weir("token issue prometheus --scope metrics"));
    assert_eq!(server.get_as("/metrics", &token).0, 200);
    for path in ["/v1/jobs", "/v1/tokens", "/v1/namespaces", "/v1/security-log", "/v1/reviews"] {
        assert_eq!(server.get_as(path, &token).0, 403, "{path}");
    }
}

#[test]
fn a_configured_admin_key_counts_alone() {
    let home = Home::new();
    home.configure("[auth]\nadmin_key = \"configured-key-of-the-tests\"\n");
    let server = home.serve("weir-data");
    assert!(!home.path("weir-data/admin.key").exists());
    assert_eq!(server.get_with("/v1/whoami", "configured-key-of-the-tests").0, 200);
    home.weir("admin-key rotate").fails(3, &["configuration"]);
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let home = Home::new();
    let server = home.serve("weir-data");
    let token = answer(home.weir("token issue report --scope ns:default --days 2"));
    let (status, body) = server.get_as("/v1/whoami", &token);
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("operator:report"), "{body}");
    assert_eq!(server.get_as("/v1/jobs", &token).0, 403);
    let listed = home.weir("token list --json").items();
    assert_eq!(listed[0]["name"], "report");
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    assert!(home.weir("token list").ok().contains(&id));
    assert_eq!(
        home.weir(&format!("token revoke {id}")).ok(),
        format!("{id} of report is revoked\n")
    );
    assert_eq!(server.get_as("/v1/whoami", &token).0, 401, "this server hears of it at once");
    home.weir("token revoke nobody").fails(3, &["token \"nobody\" not found"]);
    home.weir("token issue x --scope everything").fails(2, &["scope", "everything"]);
    home.weir("token issue x --scope admin --days 0").fails(2, &["--days"]);
}

#[test]
fn tokens_made_without_a_server_count_with_one() {
    let home = Home::with_orders();
    let token = answer(home.weir("token issue early --scope admin"));
    home.weir("signing-key rotate");
    let server = home.serve("weir-data");
    assert_eq!(server.get_as("/v1/jobs", &token).0, 200);
}

#[test]
fn jobs_are_listed_and_an_unknown_one_is_named() {
    let home = Home::new();
    let _server = home.serve("weir-data");
    let jobs = home.weir("jobs list --json").items();
    assert!(jobs.as_array().unwrap().iter().any(|job| job["name"] == "limiter-usage"), "{jobs}");
    home.weir("jobs run nothing").fails(3, &["job \"nothing\" not found"]);
}

#[test]
fn commands_need_a_store() {
    let home = Home::new();
    home.weir("token list").fails(3, &["no store in"]);
}

#[test]
fn tokens_stay_valid_where_the_generated_signing_key_is_configured() {
    let home = Home::new();
    let server = home.serve("weir-data");
    let token = answer(home.weir("token issue one --scope admin"));
    assert_eq!(server.get_as("/v1/whoami", &token).0, 200);
    assert_eq!(server.stop(), Some(0));

    let file = home.path("weir-data/signing.key");
    let kept: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    fs::remove_file(&file).unwrap();
    home.configure(&format!("[auth]\nsigning_key = {}", kept["current"]));
    let server = home.serve("weir-data");
    assert_eq!(server.get_as("/v1/whoami", &token).0, 200);
    assert!(!file.exists());
}
