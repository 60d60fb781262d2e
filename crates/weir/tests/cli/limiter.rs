//! `weir limiter`: with a server and without one.

use serde_json::{Value, json};

use crate::home::{Home, Run, items};

const FILE: &str = "\
system:
  limits: {rpm: 100/min}
resources:
  gpt-4:
    limits: {rpm: 50/min, tpm: \"10000/min,burst=20000\"}
    on_unavailable: allow
entities:
  user-1:
    _default_: {limits: {rpm: 500/min}}
";

/// A folder with a store and a file of limits.
fn home() -> Home {
    let home = Home::with_orders();
    std::fs::write(home.path("limits.yaml"), FILE).unwrap();
    home
}

/// The standard output of a command that succeeded.
fn output(run: Run) -> String {
    assert_eq!(run.code, Some(0), "{run:?}");
    run.out.trim_end().to_owned()
}

#[test]
fn limits_are_set_shown_and_removed() {
    let home = home();
    let set = "limiter limits set --system --limit rpm=100/min --limit tpm=10_000/min,burst=20000";
    let shown = home.weir(set).ok();
    assert!(shown.contains("10000/min,burst=20000") && shown.contains("20,000"), "{shown}");
    let body = home.weir("limiter limits get --system --json").json();
    assert_eq!(
        body["limits"][0],
        json!({"name": "rpm", "capacity": 100, "refill_amount": 100,
        "refill_period_seconds": 60})
    );
    let own =
        "limiter limits set --entity user-1 --resource a/b --limit rpm=5/s --on-unavailable allow";
    home.weir(own).ok();
    let body = home.weir("limiter limits resolve user-1 a/b --json").json();
    assert_eq!(
        (&body["limits_from"], &body["on_unavailable"]),
        (&json!("entity"), &json!("allow"))
    );
    assert!(home.weir("limiter limits resolve user-2 a/b").ok().contains("limits from system"));
    assert_eq!(
        home.weir("limiter limits entities --resource a/b --json").items(),
        json!(["user-1"])
    );
    home.weir("limiter limits delete --entity user-1 --resource a/b").ok();
    home.weir("limiter limits get --entity user-1 --resource a/b").fails(3, &["user-1", "a/b"]);
    for (wrong, expected) in [
        ("limits set --system --limit rpm=100", "AMOUNT/PERIOD"),
        ("limits set --system --limit rpm=0/min", "from 1 to"),
        ("limits set --limit rpm=1/min", "--system"),
        ("limits set --system --resource x --limit rpm=1/min", "cannot be used with"),
        ("limits set --system", "limits"),
        ("limits set --resource 1x --limit rpm=1/min", "1x"),
        ("limits get --system --namespace nowhere", "nowhere"),
    ] {
        let run = home.weir(&format!("limiter {wrong}"));
        assert!(matches!(run.code, Some(2 | 3)) && run.err.contains(expected), "{wrong}: {run:?}");
    }
}

#[test]
fn a_file_of_limits_is_planned_applied_and_compared() {
    let home = home();
    home.weir("limiter limits set --resource old --limit rpm=1/min").ok();
    home.weir("limiter limits set --resource gpt-4 --limit rpm=40/min").ok();
    let planned = "\
+ system: rpm=100/min
~ resource gpt-4: rpm=40/min → rpm=50/min tpm=10000/min,burst=20000 on_unavailable=allow
  resource old: rpm=1/min (not in the file; --prune removes it)
+ entity user-1: rpm=500/min
3 changes
";
    assert_eq!(home.weir("limiter limits plan limits.yaml").ok(), planned);
    let differs = home.weir("limiter limits diff limits.yaml");
    assert_eq!((differs.code, differs.out.as_str()), (Some(4), planned));
    let unconfirmed = home.weir("limiter limits apply limits.yaml");
    assert_eq!(unconfirmed.code, Some(3), "{unconfirmed:?}");
    assert!(unconfirmed.err.contains("--yes"), "{unconfirmed:?}");
    home.weir("limiter limits get --system").fails(3, &["system"]);

    let applied = home.weir("limiter limits apply limits.yaml --yes").ok();
    assert_eq!(applied, format!("{planned}3 changes applied\n"));
    let again = home.weir("limiter limits plan limits.yaml").ok();
    assert!(again.ends_with("no changes\n"), "{again}");
    home.weir("limiter limits diff limits.yaml").ok();
    let pruned = home.weir("limiter limits apply limits.yaml --prune --yes --json").items();
    assert_eq!(pruned[0]["do"], "remove");
    let all = home.weir("limiter limits diff limits.yaml --prune").ok();
    assert_eq!(all, "the limits are those of the file\n");
    std::fs::write(home.path("bad.yaml"), "system: {limits: {rpm: 5/week}}").unwrap();
    home.weir("limiter limits plan bad.yaml").fails(2, &["bad.yaml", "5/week"]);
    home.weir("limiter limits plan none.yaml").fails(2, &["none.yaml"]);
}

#[test]
fn a_file_can_configure_all_four_levels() {
    let home = home();
    home.weir("limiter limits set --system --limit rpm=1/min --strict-version true").ok();
    home.weir("limiter limits set --entity user-1 --limit rpm=5/min --limit tpm=5/min").ok();
    home.weir("limiter limits set --entity user-1 --resource own --limit rpm=6/min").ok();
    home.weir("limiter limits set --entity user-2 --resource own --on-unavailable allow").ok();
    home.weir("limiter limits set --entity user-3 --limit rpm=7/min").ok();
    let body = home.weir("limiter limits resources --of-entities --json").items();
    assert_eq!(body, json!(["own"]), "a resource without limits for every entity is listed too");
    let planned = "\
~ system: rpm=1/min strict_version=true → rpm=100/min strict_version=true
+ resource gpt-4: rpm=50/min tpm=10000/min,burst=20000 on_unavailable=allow
~ entity user-1: rpm=5/min tpm=5/min → rpm=500/min
  entity user-1 on own: rpm=6/min (not in the file; --prune removes it)
  entity user-2 on own: on_unavailable=allow (not in the file; --prune removes it)
  entity user-3: rpm=7/min (not in the file; --prune removes it)
3 changes
";
    assert_eq!(home.weir("limiter limits plan limits.yaml").ok(), planned);
    let resolved = |entity: &str, resource: &str| {
        let body = home.weir(&format!("limiter limits resolve {entity} {resource} --json")).json();
        let capacity = body["limits"][0]["capacity"].as_u64().unwrap();
        (body["limits_from"].as_str().unwrap().to_owned(), capacity)
    };
    let from = |source: &str, capacity: u64| (source.to_owned(), capacity);
    home.weir("limiter limits apply limits.yaml --yes").ok();
    assert_eq!(resolved("user-1", "own"), from("entity", 6), "levels outside the file stay");
    assert_eq!(resolved("user-1", "gpt-4"), from("entity_default", 500));
    assert_eq!(resolved("user-3", "gpt-4"), from("entity_default", 7));
    let differs = home.weir("limiter limits diff limits.yaml --prune");
    assert_eq!(differs.code, Some(4), "{differs:?}");
    home.weir("limiter limits apply limits.yaml --prune --yes").ok();
    let all = home.weir("limiter limits diff limits.yaml --prune").ok();
    assert_eq!(all, "the limits are those of the file\n");
    assert_eq!(resolved("user-1", "own"), from("entity_default", 500), "the next level applies");
    assert_eq!(resolved("user-3", "gpt-4"), from("resource", 50));
    assert_eq!(resolved("user-3", "own"), from("system", 100));
    let body = home.weir("limiter limits get --system --json").json();
    assert_eq!(body["strict_version"], true, "the file leaves it out");
    assert_eq!(home.weir("limiter limits resources --of-entities --json").items(), json!([]));
}

#[test]
fn tokens_are_taken_and_settled_and_buckets_shown() {
    let home = home();
    let server = home.serve("weir-data");
    home.weir("limiter limits set --system --limit rpm=100/min --limit tpm=1000/min").ok();
    let lease = output(home.weir("limiter acquire user-1 gpt-4 --take rpm=90 --take tpm=10"));
    let refused = home.weir("limiter acquire user-1 gpt-4 --take rpm=80");
    refused.fails(3, &["of limit rpm", "try again in"]);
    let shown = home.weir("limiter check user-1 gpt-4").ok();
    assert!(shown.contains("rpm") && shown.contains("tpm"), "{shown}");
    let body = home.weir("limiter check user-1 gpt-4 --amount rpm=100 --json").json();
    assert!(body["limits"][0]["retry_after_ms"].as_i64().unwrap() > 0, "{body}");
    let shown = home.weir(&format!("limiter lease adjust {lease} --by tpm=-5")).ok();
    assert_eq!(shown, "the lease is open and holds rpm=90 tpm=5\n");
    let body = home.weir(&format!("limiter lease rollback {lease} --json")).json();
    assert_eq!(body["state"], "rolled_back");
    home.weir(&format!("limiter lease commit {lease}")).fails(3, &["rolled"]);
    home.weir("limiter lease commit nonsense").fails(3, &["not a lease"]);
    let dry = home.weir("limiter acquire user-1 gpt-4 --take rpm=1 --dry-run --json").json();
    assert_eq!(dry.get("lease"), None);
    home.weir("limiter acquire user-1 gpt-4 --take rpm=0").fails(2, &["rpm"]);
    home.weir("limiter acquire user-1 gpt-4 --take rpm").fails(2, &["LIMIT=AMOUNT"]);

    let body = home.weir("limiter bucket list user-1 --json").items();
    assert_eq!(body[0]["resource"], "gpt-4");
    home.weir("limiter acquire user-1 gpt-4 --take tpm=500").code.unwrap();
    let body = home.weir("limiter bucket top-up user-1 gpt-4 --amount tpm=100 --json").json();
    assert!(body["limits"][1]["available"].as_i64().unwrap() >= 600, "{body}");
    let body = home.weir("limiter bucket reset user-1 gpt-4 --json").json();
    assert_eq!(body["limits"][1]["available"], 1_000);
    assert!(home.weir("limiter bucket capacity gpt-4").ok().contains("rpm: 100 of 100 available"));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_request_with_an_idempotency_key_takes_effect_once() {
    let home = home();
    home.weir("limiter limits set --system --limit tpd=1000/day").ok();
    let acquire = "limiter acquire user-1 gpt-4 --idempotency-key z --take";
    let lease = output(home.weir(&format!("{acquire} tpd=600")));
    assert_eq!(output(home.weir(&format!("{acquire} tpd=600"))), lease);
    home.weir(&format!("{acquire} tpd=601")).fails(3, &["key"]);
    let settle = |line: String| home.weir(&format!("limiter lease {line}"));
    let holds = |tokens: u64| format!("the lease is open and holds tpd={tokens}\n");
    let adjust = format!("adjust {lease} --by tpd=-100");
    assert_eq!(settle(format!("{adjust} --idempotency-key a")).ok(), holds(500));
    assert_eq!(settle(format!("{adjust} --idempotency-key a")).ok(), holds(500));
    assert_eq!(settle(format!("{adjust} --idempotency-key b")).ok(), holds(400));
    assert_eq!(settle(adjust).ok(), holds(300), "without a key, every request takes effect");
    let release = format!("release {lease} --amount tpd=50 --idempotency-key");
    assert_eq!(settle(format!("{release} c")).ok(), holds(250));
    assert_eq!(settle(format!("{release} c")).ok(), holds(250));
    settle(format!("{release} a")).fails(3, &["key"]);
    for wrong in ["''", "'two words'", "ä", &"k".repeat(65)] {
        settle(format!("{release} {wrong}")).fails(2, &["--idempotency-key", "visible ASCII"]);
    }
    let commit =
        |tokens: u64| settle(format!("commit {lease} --actual tpd={tokens} --idempotency-key d"));
    assert_eq!(commit(150).ok(), "the lease is committed and holds tpd=150\n");
    assert_eq!(commit(150).ok(), "the lease is committed and holds tpd=150\n");
    commit(151).fails(3, &["already committed"]);

    let top_up = |key: &str| {
        let line = "limiter bucket top-up user-1 gpt-4 --amount tpd=100 --json --idempotency-key";
        let body = home.weir(&format!("{line} {key}")).json();
        body["limits"][0]["available"].as_i64().unwrap()
    };
    assert_eq!((top_up("a"), top_up("a"), top_up("b")), (950, 950, 1_000));
    home.weir("limiter bucket reset user-1 gpt-4 --idempotency-key e").ok();
    home.weir("limiter bucket top-up user-1 gpt-4 --amount tpd=1 --idempotency-key e")
        .fails(3, &["key"]);
}

#[test]
fn entities_and_their_audit_log_are_stored() {
    let home = home();
    home.weir("limiter entity put team --name 'The team' --meta plan=pro").ok();
    home.weir("limiter entity put user-1 --parent team --cascade").ok();
    let body = home.weir("limiter entity get user-1 --json").json();
    assert_eq!((&body["parent"], &body["cascade"]), (&json!("team"), &json!(true)));
    assert!(home.weir("limiter entity list").ok().contains("The team"));
    assert_eq!(home.weir("limiter entity children team --json").items()[0]["id"], "user-1");
    home.weir("limiter entity put x --cascade").fails(2, &["--parent"]);
    home.weir("limiter entity put x --parent nobody").code.filter(|code| *code != 0).unwrap();
    home.weir("limiter entity parent user-1 --none").ok();
    assert_eq!(home.weir("limiter entity children team --json").items(), json!([]));
    home.weir("limiter entity delete user-1").ok();
    home.weir("limiter entity get user-1").fails(3, &["user-1"]);
    let trail = home.weir("limiter audit --entity user-1 --json").items();
    let actions: Vec<_> = trail.as_array().unwrap().iter().map(|one| &one["action"]).collect();
    assert_eq!(actions, ["entity_deleted", "entity_parent_changed", "entity_created"]);
    assert_eq!(trail[0]["principal"], "local");
    assert!(home.weir("limiter audit --entity user-1").ok().contains("entity_deleted"));
}

#[test]
fn the_audit_log_shows_the_whole_namespace_up_to_a_limit() {
    let home = home();
    home.weir("limiter entity put user-1").ok();
    home.weir("limiter limits set --system --limit rpm=1/min").ok();
    home.weir("limiter limits set --resource gpt-4 --limit rpm=1/min").ok();
    // A note about older events goes to the standard error.
    let subjects = |flags: &str| {
        let trail = output(home.weir(&format!("limiter audit --json {flags}")));
        let trail: Value = serde_json::from_str(&trail).unwrap();
        let trail = items(&trail).as_array().unwrap();
        trail.iter().map(|one| one["subject"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = ["$RESOURCE:gpt-4", "$SYSTEM", "user-1", "default"];
    assert_eq!(subjects(""), all);
    assert_eq!(subjects("--limit 2"), all[..2]);
    assert_eq!(subjects("--system"), ["$SYSTEM"]);
    assert_eq!(subjects("--resource gpt-4"), ["$RESOURCE:gpt-4"]);
    let cut = home.weir("limiter audit --limit 2");
    assert!(cut.err.contains("more exist; show more with --limit"), "{cut:?}");
    assert!(!home.weir("limiter audit --limit 5").err.contains("more"));
    home.weir("limiter audit --limit 0").fails(2, &["--limit"]);
}

#[test]
fn namespaces_are_isolated() {
    let home = home();
    home.weir("limiter namespace create shop").ok();
    home.weir("limiter limits set --namespace shop --system --limit rpm=1/min").ok();
    home.weir("limiter limits get --system").fails(3, &["system"]);
    home.weir("limiter namespace purge shop --yes").fails(3, &["delete it first"]);
    assert!(home.weir("limiter namespace delete shop").ok().contains("deleted"));
    home.weir("limiter limits get --system --namespace shop").fails(3, &["shop"]);
    home.weir("limiter namespace recover shop").ok();
    home.weir("limiter limits get --system --namespace shop").ok();
    let all = home.weir("limiter namespace list --json").items();
    assert_eq!(all.as_array().unwrap().len(), 2, "{all}");
    home.weir("limiter namespace delete shop").ok();
    home.weir("limiter namespace purge shop").fails(3, &["--yes"]);
    assert!(home.weir("limiter namespace purge shop --yes").ok().contains("purging"));
}

#[test]
fn usage_is_listed_summed_and_drawn() {
    let home = home();
    home.weir("limiter usage").fails(2, &["--entity"]);
    let flags = ["--data", "weir-data", "--aggregate-interval", "1"];
    let server = home.serve_with(&flags);
    home.weir("limiter limits set --system --limit rpm=100/min").ok();
    output(home.weir("limiter acquire user-1 gpt-4 --take rpm=7"));
    home.weir("jobs run limiter-usage").ok();
    let body = home.weir("limiter usage --entity user-1 --json").items();
    assert_eq!(body[0]["used"], json!({"rpm": 7}), "{body}");
    assert!(home.weir("limiter usage --resource gpt-4").ok().contains("rpm=7"));
    let drawn = home.weir("limiter usage --entity user-1 --window daily --plot").ok();
    assert!(drawn.starts_with("rpm\n") && drawn.contains('█'), "{drawn}");
    let body = home.weir("limiter usage summary --entity user-1 --json").json();
    assert_eq!(body["total"], json!({"rpm": 7}));
    assert!(home.weir("limiter usage summary --entity user-1").ok().contains("1 hourly window"));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_list_says_that_more_exists_only_if_it_does() {
    let home = Home::with_orders();
    for rpm in [10, 20] {
        home.weir(&format!("limiter limits set --system --limit rpm={rpm}/min")).ok();
    }
    let events = home.weir("limiter audit --system --json").items().as_array().unwrap().len();
    assert_eq!(events, 2);
    home.weir("limiter audit --system --limit 2").ok();
    let first = home.weir("limiter audit --system --limit 1");
    assert!(first.err.contains("more exist"), "{first:?}");
}
