//! `weir serve`: starting, answering, stopping.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::home::{Home, signal};

/// What instances that share a store must be told.
const SHARED_KEYS: &str = r#"
[auth]
signing_key = "c2lnbmluZyBrZXkgb2YgdGhlIHRlc3RzLCAzMiBieXRlcw=="
cursor_key = "Y3Vyc29yIGtleSBmb3IgdGhlIHRlc3RzLCAzMiBiLi4="
"#;

#[test]
fn it_answers_where_it_says_it_listens() {
    let home = Home::new();
    let server = home.serve("weir-data");
    let (status, body) = server.get("/healthz");
    assert_eq!(status, 200);
    assert!(body.contains(r#""status":"ok""#), "{body}");
    let (status, body) = server.get("/readyz");
    let ready: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 200);
    assert_eq!(ready["status"], "ready");
    assert_eq!(ready["store"], "embedded");
    assert!(ready["latency_ms"].as_f64().unwrap() >= 0.0);
    assert_eq!(server.get("/local/tables").0, 404, "tables are for the socket only");
}

#[test]
fn only_its_user_may_use_the_socket() {
    let home = Home::new();
    let _server = home.serve("weir-data");
    let socket = std::fs::metadata(home.path("weir-data/weir.sock")).unwrap();
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
}

#[test]
fn sigterm_closes_the_store_and_removes_the_socket() {
    let home = Home::new();
    let server = home.serve("weir-data");
    home.weir("tables create --spec orders.json").ok();
    home.weir(r#"table put orders --plain --item '{"PK":"a","SK":"b"}'"#).ok();
    assert_eq!(server.stop(), Some(0));
    assert!(!home.path("weir-data/weir.sock").exists());
    assert_eq!(home.weir("table scan orders --count").ok(), "1 item\n");
}

#[test]
fn sighup_without_a_certificate_changes_nothing() {
    let home = Home::new();
    let server = home.serve("weir-data");
    for _ in 0..3 {
        signal(server.pid(), "HUP");
        assert_eq!(server.get("/readyz").0, 200);
    }
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn sigterm_turns_readiness_off_before_the_listener_closes() {
    let home = Home::new();
    let server = home.serve_in(&[("WEIR_DRAIN_DELAY_SECS", "3600")], &[]);
    assert_eq!(server.get("/readyz").0, 200);
    signal(server.pid(), "TERM");
    let draining = loop {
        let (status, body) = server.get("/readyz");
        if status == 503 {
            break body;
        }
    };
    assert!(draining.contains(r#""status":"draining""#), "{draining}");
    assert_eq!(server.get("/healthz").0, 200);
    // The second signal ends the wait.
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_server_follows_one_that_was_killed() {
    let home = Home::with_orders();
    let first = home.serve("weir-data");
    home.weir(r#"table put orders --plain --item '{"PK":"a","SK":"b"}'"#).ok();
    first.kill();
    assert!(home.path("weir-data/weir.sock").exists());
    assert_eq!(home.weir("table scan orders --count").ok(), "1 item\n", "without a server");
    let _second = home.serve("weir-data");
    assert_eq!(home.weir("table scan orders --count").ok(), "1 item\n", "with the second");
}

#[test]
fn a_second_server_on_the_same_store_is_refused() {
    let home = Home::new();
    let first = home.serve("weir-data");
    let pid = format!("process {}", first.pid());
    home.weir("serve --listen 127.0.0.1:0")
        .fails(3, &["a server has ./weir-data open already", &pid]);
    assert_eq!(first.get("/readyz").0, 200);
}

#[test]
fn an_address_in_use_is_told_and_the_store_is_let_go() {
    let home = Home::with_orders();
    let other = home.serve("other-data");
    home.weir(&format!("serve --listen {}", other.address))
        .fails(1, &[&format!("listening on {}", other.address), "in use"]);
    assert!(!home.path("weir-data/weir.sock").exists());
    home.weir("tables list").ok();
}

#[test]
fn it_does_not_start_on_a_store_that_does_not_answer() {
    let home = Home::new();
    home.configure(SHARED_KEYS);
    let serve =
        "serve --listen 127.0.0.1:0 --store dynamodb --dynamodb-endpoint http://127.0.0.1:9";
    home.weir(serve).fails(1, &["the store did not respond", "check the endpoint"]);
}

#[test]
fn it_does_not_start_on_a_shared_store_without_shared_keys() {
    let home = Home::new();
    let serve =
        "serve --listen 127.0.0.1:0 --store dynamodb --dynamodb-endpoint http://127.0.0.1:9";
    home.weir(serve).fails(
        2,
        &["share keys", "WEIR_SIGNING_KEY", "auth.signing_key_file", "WEIR_CURSOR_KEY", "help: "],
    );
    let only_signing = SHARED_KEYS.replace("cursor_key", "#cursor_key");
    home.configure(&only_signing);
    let run = home.weir(serve);
    assert!(!run.err.contains("WEIR_SIGNING_KEY"), "{run:?}");
    run.fails(2, &["WEIR_CURSOR_KEY"]);
}

#[test]
fn a_first_start_on_dynamodb_local_says_how_to_make_an_admin_key() {
    let endpoint = weir_testkit::dynamo_local_endpoint().unwrap();
    let prefix = weir_testkit::unique_prefix("start");
    let store = format!("--store dynamodb --dynamodb-endpoint {endpoint} --table-prefix {prefix}");
    let flags: Vec<&str> = store.split(' ').collect();
    let home = Home::new();
    home.configure(SHARED_KEYS);
    let notes = || fs::read_to_string(home.path("serve.err")).unwrap();
    assert_eq!(home.serve_noting("serve.err", &flags).stop(), Some(0));
    assert!(notes().contains("there is no admin key yet; `weir admin-key rotate"), "{}", notes());
    home.weir(&format!("admin-key rotate {store}")).ok();
    assert_eq!(home.serve_noting("serve.err", &flags).stop(), Some(0));
    assert!(!notes().contains("there is no admin key"), "{}", notes());
}

#[test]
fn it_takes_what_it_needs_from_the_file() {
    let home = Home::new();
    home.configure("[store]\ndata = \"elsewhere\"\n[server]\nlisten = \"127.0.0.1:1\"");
    let server = home.serve_with(&["--aggregate-interval", "1"]);
    assert_eq!(server.get("/readyz").0, 200, "the flag stands over the file");
    assert!(home.path("elsewhere/weir.sock").exists());
    assert!(!home.path("weir-data").exists());
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_script_waits_for_a_server_but_not_for_ever() {
    let home = Home::new();
    home.weir("wait --timeout 0").fails(1, &["no server is ready after 0 s", "weir serve"]);
    assert!(!home.path("weir-data").exists(), "waiting makes no store");
    let server = home.serve("weir-data");
    let url = format!("http://{}", server.address);
    assert_eq!(home.weir("wait").ok(), format!("{url}\n"));
    assert_eq!(home.weir("wait --json").json()["url"], url.as_str());
    assert_eq!(home.weir(&format!("--url {url} wait")).ok(), format!("{url}\n"));
    // A second server on the folder ends at once; who waits for it finds the first one.
    home.weir("serve --listen 127.0.0.1:0").fails(3, &["a server has", "open already"]);
    assert_eq!(home.weir("wait --timeout 1").ok(), format!("{url}\n"));
    assert_eq!(server.stop(), Some(0));
    home.weir(&format!("--url {url} wait --timeout 0")).fails(1, &["nothing listens on"]);
    home.weir("wait --store dynamodb").fails(2, &["--url"]);
}

#[test]
fn a_browser_finds_a_page_and_a_program_the_usual_404() {
    let home = Home::new();
    let server = home.serve("weir-data");
    let (status, page) = server.get_accepting("/", "text/html,*/*;q=0.8");
    assert_eq!(status, 200);
    assert!(page.starts_with("<!doctype html>"), "{page}");
    for link in page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        let (status, _) = server.get(link);
        // Metrics want a token.
        assert!(status == 200 || (link, status) == ("/metrics", 401), "{link}: {status}");
    }
    let (status, problem) = server.get_accepting("/", "application/json");
    assert_eq!(status, 404);
    assert!(problem.contains("urn:weir:problem:not-found"), "{problem}");
}
