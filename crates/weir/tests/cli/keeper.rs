//! `weir keeper`: with a server and without one, good input and bad.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::home::{Home, Run};

pub(crate) const ORG: &str = "550e8400-e29b-41d4-a716-446655440000";
/// Base64 of 32 bytes.
const KEY: &str = "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IDMyYi4=";
const MODEL: &str = "amazon.nova-lite-v1:0";

const ORG_FILE: &str = "\
org_id: 550e8400-e29b-41d4-a716-446655440000
org_name: Acme
timezone: America/New_York
quota_scope: APP
model_ordering: [premium, standard, economy]
quotas: {premium: $1, standard: 500000, economy: $0.1}
";

/// A folder with a store, the files of an org and an app, and hashing that costs little.
pub(crate) fn home() -> Home {
    let home = Home::with_orders();
    home.configure("[keeper]\nbcrypt_cost = 4\n");
    write(&home, "org.yaml", ORG_FILE);
    write(&home, "app.yaml", &format!("org_id: {ORG}\napp_id: shop\napp_name: Shop\n"));
    home
}

fn write(home: &Home, name: &str, text: &str) {
    std::fs::write(home.path(name), text).unwrap();
}

/// The answer, whatever was noted beside it.
#[track_caller]
fn answer(run: Run) -> String {
    assert_eq!(run.code, Some(0), "{run:?}");
    run.out.trim_end().to_owned()
}

/// Runs `weir` with something to read.
#[track_caller]
fn fed(home: &Home, line: &str, input: &str) -> Run {
    let mut command = home.command();
    command.args(shlex::split(line).unwrap());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// An org and an app of it.
pub(crate) fn set_up(home: &Home) {
    home.weir("keeper org apply org.yaml").ok();
    home.weir("keeper app apply app.yaml").ok();
}

#[test]
fn orgs_and_apps_are_applied_listed_and_shown() {
    let home = home();
    let made = home.weir("keeper org apply org.yaml").ok();
    assert!(made.contains("$0.50") && made.contains("was created"), "{made}");
    assert!(made.contains(&format!("weir keeper secret {ORG} --token ")), "{made}");
    let again = home.weir("keeper org apply org.yaml --json").json();
    assert_eq!((&again["status"], again.get("credentials")), (&json!("updated"), None));
    let made = home.weir("keeper app apply app.yaml --json").json();
    assert_eq!((&made["status"], &made["app_id"]), (&json!("created"), &json!("shop")));
    assert_eq!(
        made["quotas"],
        json!({"premium": 1_000_000, "standard": 500_000, "economy": 100_000})
    );
    let own = "app_name: Chat\nquotas: {premium: 7, standard: 7, economy: 7}\n";
    let made = fed(&home, &format!("keeper app apply - --org-id {ORG} --app-id chat"), own).ok();
    assert!(made.contains("inherited from the org: model_ordering"), "{made}");

    let all = home.weir("keeper org list --json").items();
    assert_eq!((all.as_array().unwrap().len(), &all[0]["org_name"]), (1, &json!("Acme")));
    assert!(home.weir("keeper org list").ok().contains("premium → standard → economy"));
    assert!(home.weir(&format!("keeper org show {ORG}")).ok().contains("America/New_York"));
    let apps = home.weir(&format!("keeper app list {ORG} --json")).items();
    let ids: Vec<_> = apps.as_array().unwrap().iter().map(|app| &app["id"]).collect();
    assert_eq!(ids, ["chat", "shop"]);
    let shown = home.weir(&format!("keeper app show {ORG} chat")).ok();
    assert!(shown.contains("$0.000007"), "{shown}");
    // A new zone waits for midnight, and is shown meanwhile.
    write(&home, "moved.yaml", &ORG_FILE.replace("America/New_York", "Asia/Tokyo"));
    let moved = home.weir("keeper org apply moved.yaml").ok();
    assert!(moved.contains("days in America/New_York") && moved.contains(": days in Asia/Tokyo"));
    let shown = home.weir(&format!("keeper app show {ORG} chat --json")).json();
    assert_eq!(shown["pending"]["timezone"], "Asia/Tokyo");
}

#[test]
fn mistakes_in_files_are_reported_with_what_to_do() {
    let home = home();
    home.weir("keeper org apply none.yaml").fails(2, &["none.yaml"]);
    home.weir("keeper org apply app.yaml").fails(2, &["app apply"]);
    home.weir("keeper app apply org.yaml").fails(2, &["org.yaml", "--app-id"]);
    home.weir("keeper app apply app.yaml").fails(3, &[ORG, "weir keeper org list"]);
    home.weir("keeper org apply org.yaml --org-id 1").fails(2, &["--org-id names 1"]);
    home.weir("keeper org apply").fails(2, &["FILE"]);
    home.weir("keeper org show Acme").fails(2, &["Acme", "a UUID, or a name"]);
    home.weir(&format!("keeper org show {ORG}")).fails(3, &[ORG]);
    for (was, is, output) in [
        ("org_id: 550e8400-e29b-41d4-a716-446655440000\n", "", "put `org_id: "),
        ("America/New_York", "Mars/Olympus", "timezone: \"Mars/Olympus\" is not an IANA time zone"),
        ("quota_scope: APP", "quota_scope: ALL", "quota_scope: is \"ALL\", must be ORG or APP"),
        ("[premium, ", "[cheap, premium, ", "\"cheap\" is not a label; use one of economy"),
        ("economy: $0.1}", "premium2: 1}", "is not a label"),
        ("$1,", "-5,", "quotas.premium: is -5"),
        ("$1,", "one,", "quotas.premium: \"one\" is neither dollars"),
        ("org_name: Acme", "org_name: Acme\nextra: 1", "extra"),
        ("org_name: Acme", "org_name: [", "is neither YAML nor JSON"),
    ] {
        write(&home, "bad.yaml", &ORG_FILE.replace(was, is));
        home.weir("keeper org apply bad.yaml").fails(2, &[output]);
        // A simulation says the same, and needs no id.
        if !was.starts_with("org_id") {
            home.weir("keeper simulate --org bad.yaml").fails(2, &[output]);
        }
    }
    home.weir("keeper org list --json").ok();
}

#[test]
fn an_org_with_a_name_is_applied_deleted_and_restored() {
    let home = home();
    write(&home, "named.yaml", &ORG_FILE.replace(ORG, "acme"));
    write(&home, "shop.yaml", "org_id: acme\napp_id: shop\napp_name: Shop\n");
    let made = home.weir("keeper org apply named.yaml").ok();
    assert!(made.contains("org-acme was created"), "{made}");
    home.weir("keeper app apply shop.yaml").ok();
    let line =
        format!("keeper submit acme shop --model economy --model-id {MODEL} --input 1 --output 1");
    home.weir(&line).ok();
    home.weir("keeper select acme shop").ok();
    // Without a terminal nobody can be asked.
    home.weir("keeper app delete acme shop").fails(3, &["not confirmed", "--yes"]);
    let deleted = home.weir("keeper app delete acme shop --yes").ok();
    assert!(deleted.contains("`weir keeper app restore acme shop` restores it"), "{deleted}");
    home.weir("keeper select acme shop").fails(3, &["shop", "weir keeper app list"]);
    home.weir("keeper app apply shop.yaml").fails(3, &["is deleted", "weir keeper app restore"]);
    assert_eq!(home.weir("keeper app list acme --json").items(), json!([]));
    let listed = home.weir("keeper app list acme --deleted").ok();
    assert!(listed.contains("Shop (deleted "), "{listed}");
    let restored = home.weir("keeper app restore acme shop").ok();
    assert!(restored.contains("org-acme-app-shop was restored"), "{restored}");
    home.weir("keeper select acme shop").ok();
    let deleted = home.weir("keeper org delete acme --yes --json").json();
    assert_eq!(deleted["client_id"], "org-acme");
    home.weir("keeper select acme shop").fails(3, &[]);
    assert_eq!(home.weir("keeper org list --json").items(), json!([]));
    assert_eq!(home.weir("keeper org list --deleted --json").items()[0]["id"], "acme");
    home.weir("keeper org restore acme --json").json();
    home.weir("keeper select acme shop").ok();
    home.weir("keeper profiles delete acme shop none --yes").fails(3, &["none"]);
}

#[test]
fn a_rotation_is_cancelled() {
    let home = home();
    set_up(&home);
    let ticket = answer(home.weir(&format!("keeper rotate {ORG} shop")));
    let done = answer(home.weir(&format!("keeper rotate {ORG} shop --cancel")));
    assert_eq!(done, "the rotation was cancelled");
    let void = home.weir(&format!("keeper secret {ORG} shop --token {ticket}"));
    void.fails(3, &["its rotation was cancelled", "weir keeper rotate"]);
    home.weir(&format!("keeper rotate {ORG} shop --cancel")).fails(3, &["pending rotation"]);
}

#[test]
fn secrets_are_fetched_once_and_get_tokens() {
    let home = home();
    set_up(&home);
    let note = home.weir(&format!("keeper rotate {ORG} shop --grace-hours 1"));
    assert!(note.err.contains("works for 1 h after that"), "{note:?}");
    let ticket = answer(note);
    let fetched = home.weir(&format!("keeper secret {ORG} shop --token {ticket}"));
    assert!(fetched.err.contains("shown once") && fetched.err.contains("org-"), "{fetched:?}");
    let secret = answer(fetched);
    let again = home.weir(&format!("keeper secret {ORG} shop --token {ticket}"));
    again.fails(3, &["already used", &format!("weir keeper rotate {ORG} shop")]);
    home.weir(&format!("keeper secret {ORG} --token nonsense")).fails(3, &["weir keeper rotate"]);
    home.weir(&format!("keeper rotate {ORG} shop --grace-hours 169")).fails(2, &["169"]);
    home.weir(&format!("keeper rotate {ORG} nobody")).fails(3, &["nobody", "app list"]);

    write(&home, "secret.txt", &format!("{secret}\n"));
    let client = format!("org-{ORG}-app-shop");
    let get = format!("keeper token get {client}");
    let pair: Value = home.weir(&format!("{get} --secret-file secret.txt --json")).json();
    assert_eq!(pair["scope"], json!(format!("org:{ORG} app:shop")));
    let token = answer(fed(&home, &get, &secret));
    assert_eq!(token.split('.').count(), 3, "{token}");
    fed(&home, &get, "wrong").fails(3, &["the client id or the secret is wrong"]);
    fed(&home, &get, "").fails(2, &["standard input has no secret"]);
    let refresh = pair["refresh_token"].as_str().unwrap();
    let renewed = answer(fed(&home, "keeper token refresh", refresh));
    assert_eq!(renewed.split('.').count(), 3, "{renewed}");
    fed(&home, "keeper token refresh", &token).fails(3, &[]);
    let output = fed(&home, "keeper token revoke", refresh).ok();
    assert_eq!(output, "the token is revoked\n");
    fed(&home, "keeper token refresh", refresh).fails(3, &["revoked"]);
    home.weir(&format!("keeper token revoke --all-of {client} --json")).json();
    home.weir("keeper token revoke --token-file none.txt").fails(2, &["none.txt"]);
}

#[test]
fn costs_are_submitted_and_move_the_chain() {
    let home = home();
    set_up(&home);
    let server = home.serve_with(&["--data", "weir-data", "--aggregate-interval", "1"]);
    let shown = home.weir(&format!("keeper select {ORG} shop")).ok();
    assert!(shown.contains("use premium (") && shown.contains("NORMAL"), "{shown}");
    let place = |label: &str| shown.find(&format!("│ {label} ")).unwrap();
    assert!(
        place("premium") < place("standard") && place("standard") < place("economy"),
        "{shown}"
    );
    let id = "0e8e7a30-0000-4000-8000-000000000001";
    let submit = format!("keeper submit {ORG} shop --model premium --input 100000 --output 50000");
    let counted = home.weir(&format!("{submit} --request-id {id}")).ok();
    assert!(counted.starts_with(&format!("{id} was recorded: $1.05\n")), "{counted}");
    let again = home.weir(&format!("{submit} --request-id {id} --at 2026-01-01T00:00:00Z")).ok();
    assert!(again.starts_with(&format!("{id} was recorded before: $1.05\n")), "{again}");
    let other = home.weir(&format!("{submit} --request-id {id} --cached-read 1"));
    assert!(matches!(other.code, Some(2 | 3)), "{other:?}");
    let output = home.weir(&format!("keeper select {ORG} shop --force-check --json")).json();
    assert_eq!(output["recommended_model"]["label"], "standard");
    assert_eq!(output["quota_status"]["models_status"]["premium"]["status"], "EXCEEDED");

    home.weir("jobs run keeper-aggregate").ok();
    let day = home.weir(&format!("keeper totals {ORG} shop --json")).json();
    assert_eq!(day["models"]["premium"]["cost_usd_micros"], 1_050_000);
    assert_eq!(day["sticky"]["active_model_label"], "standard");
    let shown = home.weir(&format!("keeper totals {ORG}")).ok();
    assert!(shown.contains("$1.05") && shown.contains("for 1 request"), "{shown}");
    let drawn = home.weir(&format!("keeper totals {ORG} shop --plot")).ok();
    assert!(drawn.contains('█') && drawn.contains("$1.05 of $1.00"), "{drawn}");
    let date = day["date"].as_str().unwrap();
    let series = format!("keeper totals {ORG} shop --from {date} --to {date}");
    assert_eq!(home.weir(&format!("{series} --json")).items()[0]["date"], *date);
    assert!(home.weir(&format!("{series} --plot")).ok().contains("█ "));
    home.weir(&format!("keeper totals {ORG} --day 2020-01-01")).fails(3, &["2020-01-01"]);
    home.weir(&format!("keeper totals {ORG} --day 2999-01-01")).fails(2, &["2999-01-01"]);
    let days = home.weir(&format!("keeper totals {ORG} --from yesterday --json")).items();
    assert_eq!((days[1]["date"].as_str(), days[2].is_null()), (Some(date), true), "{days}");
    let yesterday = days[0]["date"].as_str().unwrap();
    home.weir(&format!("keeper totals {ORG} --day 1d")).fails(3, &[yesterday]);
    assert_eq!(home.weir(&format!("keeper totals {ORG} --day now --json")).json()["date"], *date);
    home.weir(&format!("keeper totals {ORG} --to {date}")).fails(2, &["--from"]);
    home.weir(&format!("keeper totals {ORG} --from 2020-01-01 --to {date}")).fails(2, &["92"]);

    let moved = home.weir(&format!("keeper sticky set {ORG} shop --to economy")).ok();
    assert!(moved.contains("economy for the rest of the day"), "{moved}");
    assert!(moved.contains("MANUAL_OVERRIDE"), "{moved}");
    home.weir(&format!("keeper sticky set {ORG} shop --to gold")).fails(2, &["gold"]);
    home.weir(&format!("keeper sticky reset {ORG} shop")).ok();
    home.weir(&format!("keeper sticky reset {ORG} nobody")).fails(3, &["nobody"]);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn changes_are_listed_with_who_made_them() {
    let home = home();
    set_up(&home);
    write(&home, "more.yaml", &ORG_FILE.replace("premium: $1", "premium: $2"));
    home.weir("keeper org apply more.yaml").ok();
    let all = home.weir(&format!("keeper audit {ORG} --json")).items();
    let acts: Vec<_> = all.as_array().unwrap().iter().map(|event| &event["action"]).collect();
    assert_eq!(acts, ["org_updated", "app_created", "org_created"]);
    assert_eq!((&all[0]["actor"], &all[0]["detail"]), (&json!("local"), &json!("quotas")));
    let shown = home.weir(&format!("keeper audit {ORG} --app shop")).ok();
    assert!(shown.contains("app_created") && !shown.contains("org_"), "{shown}");
    let newest = home.weir(&format!("keeper audit {ORG} --limit 1"));
    assert!(newest.out.contains("org_updated") && !newest.out.contains("app_"), "{newest:?}");
    assert!(newest.err.contains("more exist"), "{newest:?}");
    let none = home.weir(&format!("keeper audit {ORG} --from 2999-01-01T00:00:00Z --json")).items();
    assert_eq!(none, json!([]));
    let recent = home.weir(&format!("keeper audit {ORG} --from 1h --to now --json")).items();
    assert_eq!(recent, all);
    let recent = home.weir(&format!("keeper audit {ORG} --to yesterday --json")).items();
    assert_eq!(recent, json!([]));
    home.weir(&format!("keeper audit {ORG} --from yestreday")).fails(2, &["yestreday", "7d (ago)"]);
    home.weir(&format!("keeper audit {ORG} --app chat")).fails(3, &["chat", "app list"]);
    home.weir(&format!("keeper audit {ORG} --limit 0")).fails(2, &["--limit"]);
}

#[test]
fn wrong_submissions_are_refused() {
    let home = home();
    set_up(&home);
    let submit = |flags: &str| home.weir(&format!("keeper submit {ORG} shop {flags}"));
    submit("").fails(2, &["--model"]);
    submit("--model gold --input 1 --output 1").fails(2, &["\"gold\"", "economy", "--model-id"]);
    submit("--model economy --input 1 --output 1 --cost ten").fails(2, &["ten"]);
    submit("--model economy --input 1 --output 1 --request-id 7").fails(2, &["UUID"]);
    submit("--model economy --input 1 --output 1 --at 2020-01-01T00:00:00Z").fails(2, &["too old"]);
    submit("--model economy --input x --output 1").fails(2, &["--input"]);
    let stated = submit("--model economy --input 1 --output 1 --cost $0.5 --status error --json");
    let stated = stated.json();
    assert_eq!(stated["processing"]["cost_usd_micros"], 500_000);
    assert_eq!(stated["processing"]["computed_cost_usd_micros"], 1);
    assert!(stated["processing"]["org_day"].is_string(), "{stated}");
    home.weir(&format!("keeper submit {ORG} nobody --model economy --input 1 --output 1"))
        .fails(3, &["nobody"]);
    home.weir(&format!("keeper select {ORG} nobody")).fails(3, &["nobody"]);

    let line = |id: u32, label: &str| {
        json!({"request_id": format!("0e8e7a30-0000-4000-9000-{id:012}"), "model_label": label,
            "bedrock_model_id": MODEL, "input_tokens": 1000, "output_tokens": 100, "status": "OK",
            "timestamp": now(&home)})
    };
    let good: Vec<_> = (0..150).map(|id| line(id, "economy").to_string()).collect();
    write(&home, "good.jsonl", &good.join("\n"));
    let output = submit("--batch good.jsonl").ok();
    assert_eq!(output, "150 submissions recorded; 0 failed\n");
    let again = submit("--batch good.jsonl").ok();
    assert_eq!(again, "150 submissions recorded (150 of them before); 0 failed\n");
    write(&home, "some.jsonl", &format!("{}\n\n{}\n", line(900, "economy"), line(901, "gold")));
    let some = submit("--batch some.jsonl");
    assert_eq!((some.code, some.out.as_str()), (Some(3), "1 submission recorded; 1 failed\n"));
    assert!(some.err.contains("line 3: ") && some.err.contains("INVALID_MODEL_LABEL"), "{some:?}");
    write(&home, "bad.jsonl", "{}\n{\n");
    submit("--batch bad.jsonl").fails(2, &["bad.jsonl, line 2: is not JSON"]);
    submit("--batch none.jsonl").fails(2, &["none.jsonl"]);
    submit("--batch good.jsonl --model economy").fails(2, &["cannot be used with"]);
}

/// The time that the keeper goes by.
fn now(home: &Home) -> String {
    let output = home.weir(&format!("keeper select {ORG} shop --json")).json();
    output["checked_at"].as_str().unwrap().to_owned()
}

#[test]
fn prices_profiles_and_webhooks_are_kept() {
    let home = home();
    set_up(&home);
    let row = json!([{"model_id": MODEL, "input_price_usd_micros_per_1m": 50_000,
        "output_price_usd_micros_per_1m": 200_000}]);
    write(&home, "prices.json", &row.to_string());
    let differs = home.weir("keeper prices diff prices.json");
    assert_eq!(differs.code, Some(4), "{differs:?}");
    assert!(differs.out.starts_with(&format!("~ {MODEL}: $0.06 / $0.24")), "{differs:?}");
    let imported = home.weir("keeper prices import prices.json --json").json();
    assert_eq!((&imported["models"], &imported["open"]), (&json!(1), &json!(false)));
    assert_eq!(home.weir("keeper prices diff prices.json").ok(), "all prices match the file\n");
    let all = home.weir(&format!("keeper prices list {MODEL} --json")).items();
    assert_eq!(all[0]["input_price_usd_micros_per_1m"], 50_000);
    assert!(
        home.weir("keeper prices list nova-lite").ok().contains("prices are for a million tokens")
    );
    home.weir("keeper prices import prices.json --from 2020-01-01").fails(2, &["past"]);
    home.weir("keeper prices list --on someday").fails(2, &["someday"]);
    let id = imported["id"].as_str().unwrap();
    assert!(home.weir("keeper prices imports").ok().contains(id));
    assert!(home.weir(&format!("keeper prices remove {id}")).ok().contains("was removed"));
    home.weir(&format!("keeper prices remove {id}")).fails(3, &[id]);
    assert_eq!(home.weir("keeper prices diff prices.json").code, Some(4));
    assert_eq!(home.weir("keeper prices imports --json").items(), json!([]));
    write(&home, "bad.json", "[{}]");
    home.weir("keeper prices import bad.json").fails(2, &["model_id", "help: a file is"]);
    write(&home, "bad.json", "{\"units\": 1}");
    home.weir("keeper prices diff bad.json").fails(2, &["bad.json"]);

    let arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3";
    home.weir(&format!("keeper profiles register {ORG} shop ours {arn} --description Ours")).ok();
    let all = home.weir(&format!("keeper profiles list {ORG} shop --json")).items();
    assert_eq!(all[0]["profile_label"], "ours");
    assert!(home.weir(&format!("keeper profiles list {ORG} shop")).ok().contains("a1b2c3"));
    home.weir(&format!("keeper profiles register {ORG} shop ours claude")).fails(2, &["ARN"]);
    home.weir(&format!("keeper profiles register {ORG} shop premium {arn}")).fails(2, &["premium"]);

    let set = format!("keeper webhooks set {ORG} ops --url https://ops.example.com/weir");
    let secret = answer(home.weir(&format!("{set} --threshold 100 --no-flips")));
    assert!(secret.starts_with("whsec_"), "{secret}");
    let hook = home.weir(&format!("keeper webhooks show {ORG} ops --json")).json();
    assert_eq!((&hook["thresholds_pct"], &hook["flips"]), (&json!([100]), &json!(false)));
    assert_eq!(hook.get("secret"), None);
    assert!(home.weir(&set).ok().contains("50 % 80 % 95 % 100 %"));
    assert_ne!(answer(home.weir(&format!("{set} --rotate-secret"))), secret);
    assert!(home.weir(&format!("keeper webhooks list {ORG}")).ok().contains("ops.example.com"));
    home.weir(&format!("{set} --threshold 42")).fails(2, &["42"]);
    home.weir(&format!("keeper webhooks set {ORG} x --url ftp://x")).fails(2, &["ftp://x"]);
    let inside = format!("keeper webhooks set {ORG} x --url http://169.254.169.254/latest");
    home.weir(&inside).fails(2, &["169.254.169.254", "keeper.webhook_allowed_networks"]);
    home.weir(&format!("keeper sticky set {ORG} shop --to standard")).ok();
    let deliveries = format!("keeper webhooks deliveries {ORG} ops");
    let listed = home.weir(&format!("{deliveries} --json")).items();
    assert_eq!((&listed[0]["sequence"], &listed[0]["status"]), (&json!(1), &json!("queued")));
    assert!(home.weir(&deliveries).ok().contains("model.fallback"));
    let replay = format!("keeper webhooks replay {ORG} ops");
    home.weir(&format!("{replay} 2")).fails(3, &["delivery", "webhooks deliveries"]);
    home.weir(&format!("keeper webhooks remove {ORG} ops")).ok();
    home.weir(&format!("keeper webhooks show {ORG} ops")).fails(3, &["ops", "webhooks list"]);
}

#[test]
fn a_day_is_tried_out_with_nothing_stored() {
    let home = Home::new();
    write(&home, "org.yaml", ORG_FILE);
    let simulate = "keeper simulate --org org.yaml --day 2026-01-23";
    let shown = home.weir(&format!("{simulate} --requests 300 --plot")).ok();
    for output in
        ["premium is at 95 % of its quota", "premium → standard", "█ premium", "overshoot"]
    {
        assert!(shown.contains(output), "{output}: {shown}");
    }
    assert!(!home.path("weir-data").exists());
    let output = home.weir(&format!("{simulate} --requests 300 --lag 0 --json")).json();
    assert_eq!((&output["timezone"], &output["lag_ms"]), (&json!("America/New_York"), &json!(0)));
    let same = home.weir(&format!("{simulate} --requests 300 --lag 0 --json")).json();
    assert_eq!(output, same);
    let other = home.weir(&format!("{simulate} --requests 300 --lag 0 --seed 2 --json")).json();
    assert_ne!(output["report"]["cost_usd_micros"], other["report"]["cost_usd_micros"]);

    let day = "timestamp,input_tokens,output_tokens\n2026-01-23T14:00:00Z,100000,50000\n2026-01-23T15:00:00Z,1000,100\n";
    write(&home, "day.csv", day);
    let output = home.weir("keeper simulate --org org.yaml --csv day.csv --json").json();
    assert_eq!(output["cache_ms"], json!(null));
    assert_eq!(
        (&output["report"]["day"], &output["report"]["served"]),
        (&json!("2026-01-23"), &json!(2))
    );
    assert_eq!(output["report"]["models"][0]["exceeded_at_ms"], 1_769_176_800_000_i64);
    assert_eq!(output["report"]["models"][1]["requests"], 1);

    write(&home, "day.csv", &day.replace("15:00:00Z", "15h"));
    home.weir("keeper simulate --org org.yaml --csv day.csv")
        .fails(2, &["day.csv, line 3: timestamp"]);
    write(&home, "day.csv", &day.replace("input_", "in_"));
    home.weir("keeper simulate --org org.yaml --csv day.csv").fails(2, &["line 1", "in_tokens"]);
    home.weir("keeper simulate --org org.yaml --csv none.csv").fails(2, &["none.csv"]);
    home.weir("keeper simulate --org org.yaml --csv day.csv --seed 1").fails(2, &["--seed"]);
    home.weir("keeper simulate --org org.yaml --lag 3601").fails(2, &["3601"]);
    home.weir("keeper simulate --org org.yaml --day 2026-02-30").fails(2, &["2026-02-30"]);
    home.weir("keeper simulate --org org.yaml --requests 1000001")
        .fails(2, &["must be at most 1000000"]);
    home.weir("keeper simulate").fails(2, &["--org"]);
}

#[test]
fn a_day_of_several_apps_is_tried_out() {
    let home = Home::new();
    write(&home, "org.yaml", ORG_FILE);
    // Each app has its own quotas, and the app of a file has those of the file.
    let apps = "app_id,timestamp,input_tokens,output_tokens\n\
                shop,2026-01-23T14:00:00Z,100000,50000\n\
                shop,2026-01-23T14:01:00Z,1000,100\n\
                shop,2026-01-23T14:06:00Z,1000,100\n\
                chat,2026-01-23T14:06:00Z,1000,100\n";
    write(&home, "apps.csv", apps);
    write(
        &home,
        "chat.yaml",
        "app_id: chat\napp_name: Chat\nquotas: {premium: 7, standard: 7, economy: 7}\n",
    );
    let simulate_apps = "keeper simulate --org org.yaml --app chat.yaml --csv apps.csv --lag 10";
    let output = home.weir(&format!("{simulate_apps} --json")).json();
    let requests = |output: &Value, app: usize, model: usize| {
        output["reports"][app]["models"][model]["requests"].clone()
    };
    assert_eq!(
        (&output["reports"][0]["app_id"], &output["reports"][1]["app_id"]),
        (&json!("chat"), &json!("shop"))
    );
    assert_eq!(
        (requests(&output, 0, 0), &output["reports"][0]["models"][0]["quota_usd_micros"]),
        (json!(1), &json!(7))
    );
    // The shop uses its first selection for five minutes, though its quota is spent.
    assert_eq!((requests(&output, 1, 0), requests(&output, 1, 1)), (json!(2), json!(1)));
    let output = home.weir(&format!("{simulate_apps} --cache 0 --json")).json();
    assert_eq!((requests(&output, 1, 0), requests(&output, 1, 1)), (json!(1), json!(2)));
    let shown = home.weir(simulate_apps).ok();
    assert!(shown.contains("chat:\n") && shown.contains("shop:\n"), "{shown}");
    home.weir(&format!("{simulate_apps} --cache 86401")).fails(2, &["86401"]);
    home.weir(&format!("{simulate_apps} --app chat.yaml")).fails(2, &["chat is in another file"]);
    // On a day of 25 hours the hour that occurs twice has two lines.
    let long =
        home.weir("keeper simulate --org org.yaml --day 2026-11-01 --requests 2000 --plot").ok();
    assert!(long.contains("  01-04:00") && long.contains("  01-05:00"), "{long}");
    let short =
        home.weir("keeper simulate --org org.yaml --day 2026-03-08 --requests 2000 --plot").ok();
    assert!(!short.contains("  02-0") && short.contains("  23-04:00"), "{short}");
}

#[test]
fn a_stored_configuration_is_tried_out() {
    let home = home();
    set_up(&home);
    let day = "--day 2026-01-23 --requests 100 --lag 30 --json";
    let proposed = home.weir(&format!("keeper simulate --org org.yaml {day}")).json();
    let stored = home.weir(&format!("keeper simulate --org-id {ORG} {day}")).json();
    assert_eq!(proposed, stored);
    let app = home.weir(&format!("keeper simulate --org-id {ORG} --app-id shop {day}")).json();
    assert_eq!(app["report"]["app_id"], "shop");
    assert_eq!(proposed["report"]["models"], app["report"]["models"]);
    // What was imported counts here too, for files as for what is stored.
    let row = json!([{"model_id": "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "input_price_usd_micros_per_1m": 1, "output_price_usd_micros_per_1m": 1}]);
    write(&home, "prices.json", &row.to_string());
    let import = home.weir("keeper prices import prices.json --json").json();
    let today = day.replace("2026-01-23", import["from"].as_str().unwrap());
    let stored = home.weir(&format!("keeper simulate --org-id {ORG} {today}")).json();
    assert_eq!(stored, home.weir(&format!("keeper simulate --org org.yaml {today}")).json());
    assert_eq!(
        stored["report"]["models"][0]["cost_usd_micros"], 100,
        "a micro-dollar for each of 100"
    );
    let nobody = "00000000-0000-4000-8000-000000000000";
    home.weir(&format!("keeper simulate --org-id {nobody} {day}")).fails(3, &[nobody, "org list"]);
    home.weir(&format!("keeper simulate --org-id {ORG} --app-id chat {day}")).fails(3, &["chat"]);
    home.weir(&format!("keeper simulate --org org.yaml --org-id {ORG}")).fails(2, &["--org-id"]);
}

#[test]
fn the_same_commands_work_on_dynamodb_local() {
    let endpoint = weir_testkit::dynamo_local_endpoint().unwrap();
    let prefix = weir_testkit::unique_prefix("cli-keeper");
    let home = home();
    // Instances on one DynamoDB share their keys, so they are configured.
    home.configure(&format!("[auth]\nsigning_key = \"{KEY}\"\ncursor_key = \"{KEY}\"\n"));
    let store = format!("--store dynamodb --dynamodb-endpoint {endpoint} --table-prefix {prefix}");
    let weir = |line: &str| home.weir(&format!("keeper {line} {store}"));
    assert!(weir("org apply org.yaml").ok().contains("was created"));
    weir("app apply app.yaml").ok();
    let spend = format!("submit {ORG} shop --model premium --input 100000 --output 50000");
    assert!(weir(&spend).ok().contains("was recorded: $1.05"));
    let output = weir(&format!("select {ORG} shop --force-check --json")).json();
    assert_eq!(output["recommended_model"]["label"], "standard");
    weir(&format!("totals {ORG} shop")).fails(3, &["not found"]);
}
