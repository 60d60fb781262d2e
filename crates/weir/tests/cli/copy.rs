//! `weir copy`: moved, resumed, compared.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use weir_table::clock::Clock;
use weir_table::{Item, Kind, TableSpec, Value};

use crate::home::{Home, ORDERS, items};

fn orders() -> TableSpec {
    serde_json::from_str(ORDERS).unwrap()
}

/// Two tables: one with every kind of value and an index, one without a sort key.
fn fill(home: &Home, data: &str, count: i64) {
    let events = TableSpec::new("events", "id", Kind::N);
    let order = |n: i64| {
        Item::new()
            .with("PK", format!("ORG#{}", n % 7))
            .with("SK", format!("ORDER#{n}"))
            .with("customer", format!("c{}", n % 3))
            .with("total", n)
            .with("blob", vec![0u8, 255])
            .with("tags", Value::strings(["a", "b"]))
            .with("price", "123456789.123456789012345678".parse::<weir_table::Number>().unwrap())
            .with("lines", Value::list([Value::map([("ok", Value::Bool(true))]), Value::Null]))
    };
    let mut items: Vec<_> = (0..count).map(|n| ("orders", order(n))).collect();
    items.extend((0..3).map(|n| ("events", Item::new().with("id", n))));
    home.fill(data, &[orders(), events], &items);
}

#[track_caller]
fn verified(home: &Home, line: &str) -> serde_json::Value {
    let run = home.weir(&format!("{line} --json"));
    assert_eq!(run.code, Some(0), "{run:?}");
    let reports: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    for report in items(&reports).as_array().unwrap() {
        assert_eq!(report["verified"], true, "{reports}");
    }
    items(&reports).clone()
}

#[test]
fn every_table_arrives_and_nothing_else() {
    let home = Home::new();
    fill(&home, "a", 120);
    let shown = home.weir("copy --from embedded:a --to embedded:b").ok();
    assert!(shown.contains("│ orders ┆    120 ┆   120 ┆"), "{shown}");
    assert!(shown.contains("┆ yes"), "{shown}");
    let tables = |data: &str| home.weir(&format!("tables list --json --data {data}")).ok();
    assert_eq!(tables("a"), tables("b"));
    let item = |data: &str| {
        home.weir(&format!("table get orders --pk ORG#3 --sk ORDER#10 --json --data {data}")).ok()
    };
    assert_eq!(item("a"), item("b"));
    let index = "table query orders --index by-customer --pk c1 --count --data b";
    assert_eq!(home.weir(index).ok(), "40 items\n");
}

#[test]
fn a_finished_copy_only_compares_again() {
    let home = Home::new();
    fill(&home, "a", 30);
    let first = verified(&home, "copy --from embedded:a --to embedded:b --tables orders");
    assert_eq!(first[0]["copied"], 30);
    let again = verified(&home, "copy --from embedded:a --to embedded:b --tables orders");
    assert_eq!(again[0]["copied"], 0);
    assert_eq!(again[0]["checksum"], first[0]["checksum"]);
    let more = verified(&home, "copy --from embedded:a --to embedded:b");
    assert_eq!((&more[0]["table"], &more[0]["copied"]), (&json!("events"), &json!(3)));
}

#[test]
fn served_stores_are_copied_through_their_servers() {
    let home = Home::new();
    fill(&home, "a", 60);
    let (_from, _to) = (home.serve("a"), home.serve("b"));
    // Each server has a namespace of its own, so the limiter's table is not asked for.
    verified(&home, "copy --from embedded:a --to embedded:b --tables orders,events");
    assert_eq!(home.weir("table scan orders --count --data b").ok(), "60 items\n");
}

#[test]
fn tables_go_to_dynamodb_local_and_back() {
    let endpoint = weir_testkit::dynamo_local_endpoint().unwrap();
    let prefix = weir_testkit::unique_prefix("copy");
    let there = format!("'dynamodb:{endpoint}?prefix={prefix}'");
    let home = Home::new();
    fill(&home, "a", 300);
    let out = verified(&home, &format!("copy --from embedded:a --to {there}"));
    let back = verified(&home, &format!("copy --from {there} --to embedded:b"));
    assert_eq!(out, back);
    let direct = verified(&home, "copy --from embedded:a --to embedded:b");
    assert_eq!(direct[1]["checksum"], out[1]["checksum"]);
    let store = format!("--store dynamodb --dynamodb-endpoint {endpoint} --table-prefix {prefix}");
    let left = home.weir(&format!("tables list --json {store}")).json();
    assert_eq!(left["items"].as_array().unwrap().len(), 2, "the position is gone: {left}");
}

/// Starts a slow copy, kills it after a while, and lets a second run finish it. On a busy machine
/// the first may be killed before it has come anywhere; then it is tried anew, with more patience.
fn killed_and_resumed(home: &Home, from: &str, to: impl Fn(u64) -> String, count: i64) -> String {
    for patience in [3, 12, 48] {
        let to = to(patience);
        let rate = (count / (4 * i64::try_from(patience).unwrap())).to_string();
        let slow = home
            .command()
            .args(["copy", "--tables", "orders", "--from", from, "--to", &to])
            .args(["--rate", &rate])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut slow = slow.unwrap();
        std::thread::sleep(Duration::from_secs(patience));
        slow.kill().unwrap();
        assert_eq!(slow.wait().unwrap().code(), None, "it was still running");
        let run = home.weir(&format!("copy --tables orders --from '{from}' --to '{to}' --json"));
        assert_eq!(run.code, Some(0), "{run:?}");
        let reports: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(
            (&items(&reports)[0]["items"], &items(&reports)[0]["verified"]),
            (&json!(count), &json!(true))
        );
        if !run.err.starts_with("orders: continuing after ") {
            continue;
        }
        let copied = items(&reports)[0]["copied"].as_i64().unwrap();
        assert!((1..count).contains(&copied), "{copied} of {count} were left");
        return to;
    }
    panic!("no copy came anywhere before it was killed");
}

#[test]
fn a_killed_copy_goes_on_where_it_stopped() {
    let home = Home::new();
    fill(&home, "a", 4000);
    killed_and_resumed(&home, "embedded:a", |n| format!("embedded:b{n}"), 4000);
}

#[test]
fn a_killed_copy_to_and_from_dynamodb_local_goes_on() {
    let endpoint = weir_testkit::dynamo_local_endpoint().unwrap();
    let prefix = weir_testkit::unique_prefix("killed");
    let home = Home::new();
    fill(&home, "a", 4000);
    let there = |n| format!("dynamodb:{endpoint}?prefix={prefix}{n}-");
    let there = killed_and_resumed(&home, "embedded:a", there, 4000);
    killed_and_resumed(&home, &there, |n| format!("embedded:b{n}"), 4000);
}

#[test]
fn a_source_that_changes_meanwhile_is_found_and_copied_anew() {
    let home = Home::new();
    let item = |n: i64| ("orders", Item::new().with("PK", "p").with("SK", format!("{n:04}")));
    home.fill("a", &[orders()], &(0..800).map(item).collect::<Vec<_>>());
    let _server = home.serve("a");
    // On a busy machine the change may come before the copy has read the item: then it is copied
    // as it is, and the next round waits longer.
    for patience in [1, 3, 9, 27] {
        let to = format!("embedded:b{patience}");
        let line = ["copy", "--tables", "orders", "--from", "embedded:a", "--to", &to];
        let slow = home
            .command()
            .args(line)
            .args(["--rate", &(400 / patience).to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        std::thread::sleep(Duration::from_secs(patience));
        let changed = format!(r#"{{"PK":"p","SK":"0000","changed":{patience}}}"#);
        home.weir(&format!("table put orders --data a --plain --item '{changed}'")).ok();
        let output = slow.unwrap().wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        if output.status.code() == Some(0) {
            continue;
        }
        assert_eq!(output.status.code(), Some(4), "{err}");
        assert!(err.contains("table \"orders\": the source has 800 items"), "{err}");
        assert!(String::from_utf8(output.stdout).unwrap().contains("┆ NO"));
        let again = verified(&home, &line.join(" "));
        assert_eq!(again[0]["copied"], 800);
        return;
    }
    panic!("no copy had read the item before it changed");
}

#[test]
fn what_is_at_the_destination_is_not_written_over_unasked() {
    let home = Home::new();
    fill(&home, "a", 10);
    fill(&home, "b", 12);
    let before = home.weir("table scan orders --json --data b").ok();
    let run = home.weir("copy --from embedded:a --to embedded:b");
    run.fails(3, &["table \"orders\" has other items", "10 items", "12 items", "--overwrite"]);
    assert_eq!(home.weir("table scan orders --json --data b").ok(), before);
    assert!(!home.weir("tables list --data b").ok().contains("weir-copy-position"));
    let run = home.weir("copy --from embedded:a --to embedded:b --overwrite");
    assert_eq!(run.code, Some(4), "two items are too many: {run:?}");
}

#[test]
fn another_shape_at_the_destination_is_refused() {
    let home = Home::new();
    fill(&home, "a", 10);
    home.fill("b", &[TableSpec::new("orders", "PK", Kind::S)], &[]);
    let says = ["table \"orders\" is not as the spec declares it", "sort: expected"];
    home.weir("copy --from embedded:a --to embedded:b").fails(4, &says);
}

#[test]
fn wrong_requests_are_told() {
    let home = Home::new();
    fill(&home, "a", 1);
    for (line, code, says) in [
        ("--from embedded:a --to embedded:./a", 2, "the same store"),
        ("--from embedded:a --to b", 2, "embedded:DIR"),
        ("--from embedded:none --to embedded:b", 3, "no store in"),
        (
            "--from embedded:a --to embedded:b --tables nothing",
            3,
            "no table \"nothing\" at the source",
        ),
        ("--from embedded:a --to 'dynamodb:?x=y'", 2, "is unknown"),
    ] {
        home.weir(&format!("copy {line}")).fails(code, &[says]);
    }
}

#[test]
fn items_whose_time_is_up_are_left_behind() {
    let home = Home::new();
    let now_s = i64::try_from(Clock::System.now_ms() / 1000).unwrap();
    let item = |sk: &str, expires: i64| {
        ("orders", Item::new().with("PK", "p").with("SK", sk).with("expires", expires))
    };
    let items =
        [item("past", now_s - 60), item("soon", now_s + 600), item("later", now_s + 86_400)];
    home.fill("a", &[orders()], &items);
    let reports = verified(&home, "copy --from embedded:a --to embedded:b");
    assert_eq!((&reports[0]["items"], &reports[0]["copied"]), (&json!(1), &json!(2)));
    home.weir("table get orders --pk p --sk soon --data b").ok();
    home.weir("table get orders --pk p --sk past --data b").fails(3, &["no item"]);
}

#[test]
fn a_token_that_was_revoked_is_refused_by_the_copy() {
    let home = Home::new();
    let key = [("WEIR_SIGNING_KEY", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")];
    let run = |line: &str| home.weir_in(&key, line);
    let token = |line: &str| {
        let issued = run(line);
        assert_eq!(issued.code, Some(0), "{issued:?}");
        issued.out.trim_end().to_owned()
    };
    let server = home.serve_in(&key, &["--data", "a"]);
    let admin_key = |data: &str| {
        let file = home.path(data).join("admin.key");
        std::fs::read_to_string(file).unwrap().trim().to_owned()
    };
    let revoked = token("token issue revoked --scope admin --data a");
    let listed = run("token list --json --data a").items();
    run(&format!("token revoke {} --data a", listed[0]["id"].as_str().unwrap())).ok();
    let valid = token("token issue valid --scope admin --data a");
    assert_eq!(server.stop(), Some(0));
    let copied = home.weir("copy --from embedded:a --to embedded:b");
    assert_eq!(copied.code, Some(0), "{copied:?}");
    let server = home.serve_in(&key, &["--data", "b"]);
    assert_eq!(server.get_as("/v1/jobs", &valid).0, 200, "the signing key is the same");
    assert_eq!(server.get_as("/v1/jobs", &revoked).0, 401);
    assert_eq!(server.get_with("/v1/jobs", &admin_key("b")).0, 200);
    assert_eq!(server.get_with("/v1/jobs", &admin_key("a")).0, 401, "each has its own");
    assert_eq!(server.stop(), Some(0));
    let listed = run("token list --json --data b").items();
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    // The admin key of the destination is no difference.
    let again = home.weir("copy --from embedded:a --to embedded:b --tables weir-edge");
    assert_eq!(again.code, Some(0), "{again:?}");
}
