//! `weir reviews`: with a server and without one.

use std::fmt::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::home::{Home, Run};

/// A finding about `query` in `src/login.py`, in the words of a model.
fn injection(id: &str, severity: &str, title: &str) -> Value {
    json!({"finding_id": id, "severity": severity, "category": "security", "file_path": "src/login.py",
        "line_start": 12, "line_end": 14, "title": title,
        "description": "User input goes into the SQL text of `query` without escaping."})
}

fn response(model: &str, cost: &str, findings: &[Value]) -> Value {
    json!({"model_id": model, "status": "success", "input_tokens": 1_200, "output_tokens": 300,
        "latency_ms": 2_100, "cost_usd": cost, "findings": findings})
}

/// A review in which two of three models agree on one issue.
fn review(id: &str) -> Value {
    let other = json!({"finding_id": "f2", "severity": "critical", "file_path": "src/db.py", "line_start": 3,
        "line_end": 3, "title": "Password in clear text", "description": "The password is stored as it is."});
    json!({"review_id": id, "owner": "acme", "repo": "shop", "pr_number": 42, "pr_title": "Add login",
    "pr_url": "https://github.com/acme/shop/pull/42", "files": ["src/login.py", "src/db.py"],
    "requested_by": "octocat",
    "responses": [
        response("gpt-5", "0.0100", &[injection("f1", "high", "SQL injection in `query`"), other]),
        response("claude", "0.0200", &[injection("f1", "high", "SQL injection through `query`")]),
        response("meta/llama-3", "0.0030", &[]),
    ]})
}

/// A SARIF file with results of the given levels.
fn sarif(tool: &str, results: &[(&str, &str)]) -> Value {
    let result = |(number, (level, text)): (usize, &(&str, &str))| {
        json!({"ruleId": "R1", "level": level, "message": {"text": text}, "locations": [{"physicalLocation":
            {"artifactLocation": {"uri": "src/login.py"}, "region": {"startLine": number + 1}}}]})
    };
    let results: Vec<Value> = results.iter().enumerate().map(result).collect();
    json!({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": tool}}, "results": results}]})
}

fn write(home: &Home, name: &str, content: &Value) {
    std::fs::write(home.path(name), content.to_string()).unwrap();
}

/// A folder with a store and the JSON of a review.
fn home() -> Home {
    let home = Home::with_orders();
    write(&home, "review.json", &review("r1"));
    home
}

/// Runs `weir` with a text as its standard input.
fn piped(home: &Home, arguments: &[&str], input: &str) -> Run {
    let mut command = home.command();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

const SUMMARY: &str = "\
review r1 of acme/shop#42
1 issue that several models found, high; 3 findings of 3 models, $0.033
";

#[test]
fn a_review_is_recorded_once_and_replaced_on_request() {
    let home = home();
    assert_eq!(home.weir("reviews record review.json").ok(), SUMMARY);
    assert_eq!(home.weir("reviews record review.json").ok(), SUMMARY, "the same changes nothing");
    let mut changed = review("r1");
    changed["responses"][2]["cost_usd"] = json!("0.0040");
    write(&home, "changed.json", &changed);
    home.weir("reviews record changed.json").fails(3, &["r1", "content"]);
    let replaced = home.weir("reviews record changed.json --replace").ok();
    assert!(replaced.contains("$0.034"), "{replaced}");
    let recorded = home.weir("reviews record review.json --id r2 --pr 43 --json").json();
    assert_eq!((&recorded["review_id"], &recorded["pr_number"]), (&json!("r2"), &json!(43)));
    assert_eq!(recorded["consensus"][0]["agreeing_models"], json!(["claude", "gpt-5"]));
    let list = home.weir("reviews list --json").items();
    assert_eq!(list.as_array().unwrap().len(), 2);
}

#[test]
fn an_id_is_made_and_responses_come_from_standard_input() {
    let home = home();
    let mut unnamed = review("r1");
    unnamed.as_object_mut().unwrap().remove("review_id");
    let recorded = piped(&home, &["reviews", "record", "-", "--json"], &unnamed.to_string()).json();
    let id = recorded["review_id"].as_str().unwrap();
    assert_eq!(id.len(), 36, "{id}");
    home.weir(&format!("reviews show {id}")).ok();
    let sarif = sarif("lint", &[("error", "bad")]).to_string();
    let flags = ["reviews", "record", "-", "--owner", "a", "--repo", "b", "--pr", "1", "--json"];
    let recorded = piped(&home, &flags, &sarif).json();
    assert_eq!((&recorded["owner"], &recorded["models_used"]), (&json!("a"), &json!(["lint"])));
}

#[test]
fn thresholds_decide_the_exit_code() {
    let home = home();
    home.weir("reviews record review.json --fail-on critical").ok();
    let failed = home.weir("reviews record review.json --fail-on high");
    assert_eq!((failed.code, failed.out.as_str()), (Some(4), SUMMARY), "{failed:?}");
    for text in ["1 issue is high or worse", "src/login.py:12-14", "(claude, gpt-5)"] {
        assert!(failed.err.contains(text), "{text:?} is missing in {:?}", failed.err);
    }
    let any = home.weir("reviews record review.json --fail-on critical --agreement any");
    assert_eq!(any.code, Some(4), "{any:?}");
    assert!(any.err.contains("critical src/db.py:3 Password in clear text (gpt-5)"), "{any:?}");
    let two = home.weir("reviews record review.json --fail-on info --agreement any");
    assert!(two.err.contains("2 issues are info or worse"), "{two:?}");
    home.weir("reviews record review.json --fail-on bad").fails(2, &["critical", "info"]);

    let mut alone = review("r2");
    alone["responses"].as_array_mut().unwrap().truncate(1);
    write(&home, "alone.json", &alone);
    let noted = home.weir("reviews record alone.json --fail-on info");
    assert_eq!(noted.code, Some(0), "{noted:?}");
    assert!(noted.err.contains("only one model responded"), "{noted:?}");
    let error = json!({"model_id": "gpt-5", "status": "error", "input_tokens": 0, "output_tokens": 0,
        "latency_ms": 0, "cost_usd": "0"});
    alone["responses"] = json!([error]);
    alone["review_id"] = json!("r3");
    write(&home, "none.json", &alone);
    let none = home.weir("reviews record none.json --fail-on critical");
    assert_eq!(none.code, Some(4), "{none:?}");
    assert!(none.err.contains("no model responded"), "{none:?}");
}

#[test]
fn sarif_of_several_tools_becomes_one_review() {
    let home = home();
    write(&home, "a.sarif", &sarif("first", &[("error", "one"), ("note", "two")]));
    let suppressed = json!([{"kind": "inSource"}]);
    let mut second = sarif("second tool", &[("warning", "one"), ("error", "three")]);
    second["runs"][0]["results"][1]["suppressions"] = suppressed;
    write(&home, "b.json", &second);
    let pull_request = "--owner acme --repo shop --pr 7 --title 'Add login'";
    let recorded = home.weir(&format!("reviews record a.sarif b.json --id s1 {pull_request}"));
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    assert_eq!(recorded.err, "b.json: skipped 1 result: 1 suppressed\n");
    assert!(recorded.out.starts_with("review s1 of acme/shop#7\n"), "{recorded:?}");
    let shown = home.weir("reviews show s1 --json").json();
    assert_eq!(shown["models_used"], json!(["first", "second-tool"]));

    let named = "--model gpt-5 --model claude --cost-usd 0.5 --cost-usd 0.25 --latency-ms 10 --latency-ms 20";
    let line = format!("reviews record a.sarif b.json --id s2 {pull_request} {named} --json");
    let run = home.weir(&line);
    let shown: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(shown["models_used"], json!(["claude", "gpt-5"]));
    assert_eq!(shown["total_cost_usd"], "0.750000");
    let both = home.weir("reviews record review.json a.sarif --id s3 --json").json();
    assert_eq!(both["models_used"], json!(["claude", "first", "gpt-5", "meta/llama-3"]));
}

#[test]
fn wrong_input_is_refused_by_its_name_and_nothing_is_written() {
    let home = home();
    let flags = "--owner acme --repo shop --pr 1";
    let half = review("w").to_string();
    std::fs::write(home.path("half.json"), &half[..half.len() / 2]).unwrap();
    let mut unknown = review("w");
    unknown["responses"][0]["findings"][0]["colour"] = json!("red");
    write(&home, "unknown.json", &unknown);
    let mut severity = review("w");
    severity["responses"][1]["findings"][0]["severity"] = json!("bad");
    write(&home, "severity.json", &severity);
    let mut no_owner = review("w");
    no_owner.as_object_mut().unwrap().remove("owner");
    write(&home, "no-owner.json", &no_owner);
    let mut lines = review("w");
    lines["responses"][0]["findings"][0]["line_end"] = json!(1);
    write(&home, "lines.json", &lines);
    let mut version = sarif("lint", &[]);
    version["version"] = json!("2.0.0");
    write(&home, "version.sarif", &version);
    write(&home, "good.sarif", &sarif("lint", &[("error", "one")]));
    std::fs::write(home.path("list.json"), "[1]").unwrap();
    std::fs::write(home.path("binary.json"), b"{\"owner\": \"\xff\"}").unwrap();
    for (input, says) in [
        ("half.json", &["half.json", "is not JSON"][..]),
        ("unknown.json", &["unknown.json: responses[0].findings[0].colour", "unknown field"]),
        ("severity.json", &["severity.json: responses[1].findings[0].severity", "bad"]),
        ("no-owner.json", &["no-owner.json: owner is missing", "--owner"]),
        ("lines.json", &["responses[0].findings[0].line_end"]),
        ("version.sarif", &["version.sarif: version: is \"2.0.0\"; only 2.1.0 is supported"]),
        ("good.sarif", &["owner is missing", "--owner"]),
        ("list.json", &["list.json: a review is a JSON object"]),
        ("binary.json", &["cannot read binary.json"]),
        ("missing.json", &["cannot read missing.json"]),
        (".", &["cannot read ."]),
        ("review.json review.json", &["both the JSON of a review"]),
        ("review.json --model gpt-5", &["--model is for SARIF files"]),
        ("review.json --created-at someday", &["--created-at", "someday"]),
        ("review.json --id a#b", &["review_id"]),
    ] {
        home.weir(&format!("reviews record {input}")).fails(2, says);
    }
    let twice = format!("reviews record good.sarif {flags} --model a --model b");
    home.weir(&twice).fails(2, &["--model is given 2 times for 1 SARIF file"]);
    home.weir(&format!("reviews record good.sarif {flags} --model 'a b'")).fails(2, &["--model"]);
    home.weir("reviews record").fails(2, &["FILE"]);
    piped(&home, &["reviews", "record", "-"], "").fails(2, &["standard input: is not JSON"]);
    assert_eq!(home.weir("reviews list --json").items(), json!([]));
}

#[test]
fn too_many_findings_are_refused_or_cut_to_the_worst() {
    let home = home();
    let mut results = vec![("note", "small"); 2_000];
    results.push(("error", "large"));
    write(&home, "many.sarif", &sarif("lint", &results));
    let flags = "--owner acme --repo shop --pr 1 --id m1";
    let refused = home.weir(&format!("reviews record many.sarif {flags}"));
    refused.fails(2, &["many.sarif", "2000", "--keep-worst"]);
    let kept = home.weir(&format!("reviews record many.sarif {flags} --keep-worst"));
    assert_eq!(kept.code, Some(0), "{kept:?}");
    assert!(kept.err.contains("skipped 1 result: 1 less severe than those that fit"), "{kept:?}");
    assert!(kept.out.contains("2,000 findings"), "{kept:?}");
    let high = home.weir("reviews findings --severity high --json").items();
    assert_eq!(high.as_array().unwrap().len(), 1, "the worst is among those kept");

    let mut many = review("m2");
    let finding = |number: usize| injection(&format!("f{number}"), "low", "x");
    many["responses"][0]["findings"] = (0..2_001).map(finding).collect();
    many["responses"][1]["findings"] = json!([]);
    write(&home, "many.json", &many);
    let says = ["the review has 2,001 findings; at most 2,000 are allowed", "--keep-worst"];
    home.weir("reviews record many.json").fails(2, &says);
    let kept = home.weir("reviews record many.json --keep-worst");
    assert_eq!(kept.code, Some(0), "{kept:?}");
    assert!(kept.err.contains("skipped 1 finding"), "{kept:?}");
}

#[test]
fn a_large_review_is_sent_response_by_response() {
    let home = home();
    let mut large = review("l1");
    let raw = json!({"text": "x".repeat(4 * 1024 * 1024)});
    for response in large["responses"].as_array_mut().unwrap() {
        response["raw"] = raw.clone();
    }
    write(&home, "large.json", &large);
    let recorded = home.weir("reviews record large.json --json").json();
    assert_eq!(
        (&recorded["status"], &recorded["consensus_findings"]),
        (&json!("completed"), &json!(1))
    );
    home.weir("reviews record large.json").ok();
    home.weir("reviews record large.json --replace")
        .fails(2, &["10485760", "weir reviews delete l1"]);
    let raw_output = home.weir("reviews raw l1 meta/llama-3").ok();
    assert_eq!(serde_json::from_str::<Value>(&raw_output).unwrap(), raw);
    let description = "y".repeat(60_000);
    let finding = |number: usize| {
        let mut finding = injection(&format!("f{number}"), "low", "x");
        finding["description"] = json!(description);
        finding
    };
    large["review_id"] = json!("l2");
    large["responses"][1]["findings"] = (0..200).map(finding).collect();
    write(&home, "large.json", &large);
    let says = ["the response of model \"claude\" has", "at most 10485760 are allowed"];
    home.weir("reviews record large.json").fails(2, &says);
    home.weir("reviews show l2").fails(3, &["l2", "weir reviews list"]);
}

#[test]
fn reports_have_four_formats() {
    let home = home();
    home.weir("reviews record review.json").ok();
    let markdown = home.weir("reviews report r1").ok();
    assert_eq!(markdown, home.weir("reviews report r1 --format markdown").ok());
    assert!(markdown.starts_with("##") && markdown.contains("SQL injection"), "{markdown}");
    let text = home.weir("reviews report r1 --format text").ok();
    assert!(text.starts_with("1 issue that models agree on, high\nacme/shop#42"), "{text}");
    let json = home.weir("reviews report r1 --format json").json();
    assert_eq!(json, home.weir("reviews report r1 --json").json());
    assert_eq!(json["findings"].as_array().unwrap().len(), 3);
    let sarif = home.weir("reviews report r1 --format sarif").json();
    assert_eq!(sarif["runs"].as_array().unwrap().len(), 1);
    let findings = home.weir("reviews report r1 --format sarif --findings").ok();
    std::fs::write(home.path("back.sarif"), &findings).unwrap();
    let back = "reviews record back.sarif --owner acme --repo shop --pr 42 --id r2 --json";
    assert_eq!(home.weir(back).json()["total_findings"], 3, "SARIF reads back");
    home.weir("reviews report r1 --findings").fails(2, &["--format sarif"]);
    home.weir("reviews report r1 --format pdf").fails(2, &["markdown", "sarif"]);
    home.weir("reviews report nothing").fails(3, &["nothing", "weir reviews list"]);
}

#[test]
fn reviews_are_listed_by_everything_that_they_have() {
    let home = home();
    home.weir("reviews record review.json").ok();
    home.weir("reviews record review.json --id r2 --repo other --requested-by ada").ok();
    let ids = |line: &str| -> Vec<String> {
        let found = home.weir(&format!("reviews {line} --json")).items();
        let id = |one: &Value| one["review_id"].as_str().unwrap().to_owned();
        found.as_array().unwrap().iter().map(id).collect()
    };
    assert_eq!(ids("list"), ["r2", "r1"], "the newest is the first");
    let first = home.weir("reviews list --limit 1");
    assert_eq!((first.code, first.err.as_str()), (Some(0), "more exist; show more with --limit\n"));
    assert!(first.out.contains("r2") && !first.out.contains("r1"), "{first:?}");
    assert_eq!(ids("list --repo acme/shop"), ["r1"]);
    assert_eq!(ids("list --user ada"), ["r2"]);
    assert_eq!(ids("list --model meta/llama-3"), ["r2", "r1"]);
    assert_eq!(ids("list --model nobody"), [""; 0]);
    let shown = home.weir("reviews show r1 --json").json();
    let day = shown["created_at"].as_str().unwrap()[..10].to_owned();
    assert_eq!(ids(&format!("list --date {day}")), ["r2", "r1"]);
    assert_eq!(ids("list --from 1h --to now"), ["r2", "r1"]);
    assert_eq!(ids("list --to yesterday"), [""; 0]);
    assert_eq!(ids("list --date 9w"), [""; 0]);
    assert_eq!(ids("list --to 2020-01-01T00:00:00Z"), [""; 0]);
    assert_eq!(ids("findings --severity critical"), ["r2", "r1"]);
    assert_eq!(ids("findings --category security").len(), 4);
    assert_eq!(ids("consensus"), ["r2", "r1"]);
    assert_eq!(home.weir("reviews findings r1 --json").items().as_array().unwrap().len(), 3);
    assert_eq!(home.weir("reviews consensus r1 --json").items().as_array().unwrap().len(), 1);

    let table = home.weir("reviews list").ok();
    assert!(table.contains("acme/other#42") && table.contains("$0.033"), "{table}");
    assert!(home.weir("reviews list --model gpt-5").ok().contains("2.1 s"));
    let findings = home.weir("reviews findings r1").ok();
    assert!(findings.contains("src/login.py:12-14") && findings.contains("yes"), "{findings}");
    assert!(home.weir("reviews findings --severity high").ok().contains("acme/shop#42"));
    assert!(home.weir("reviews consensus").ok().contains("2 of 3"));
    let costs = home.weir("reviews costs acme/shop").ok();
    assert!(costs.ends_with("$0.033 for 3 responses\n"), "{costs}");
    let shown = home.weir("reviews show r1").ok();
    assert!(shown.contains("requested by octocat") && shown.ends_with(SUMMARY), "{shown}");
    home.weir("reviews list --repo acme").fails(2, &["OWNER/REPO"]);
    home.weir("reviews list --repo a/b --model c").fails(2, &["cannot be used with"]);
    home.weir("reviews list --date 2026-13-01").fails(2, &["2026-13-01"]);
    home.weir("reviews findings").fails(2, &["--severity"]);
    home.weir("reviews costs acme/none --json").ok();
}

#[test]
fn a_review_is_recorded_step_by_step() {
    let home = home();
    std::fs::write(home.path("changed.txt"), "src/login.py\nsrc/db.py\n\n").unwrap();
    let open =
        "reviews open --owner acme --repo shop --pr 42 --title 'Add login' --files changed.txt";
    let id = home.weir(open).ok().trim().to_owned();
    let whole = review("x");
    write(&home, "gpt.json", &whole["responses"][0]);
    write(&home, "claude.json", &whole["responses"][1]);
    write(&home, "lint.sarif", &sarif("lint", &[("note", "one")]));
    let added = home.weir(&format!("reviews add-response {id} gpt.json")).ok();
    assert_eq!(added, "gpt-5 added with 2 findings\n");
    home.weir(&format!("reviews add-response {id} gpt.json")).ok();
    let open = home.weir(&format!("reviews show {id}")).ok();
    assert!(open.contains("(in progress)"), "{open}");
    home.weir(&format!("reviews add-response {id} claude.json --json")).json();
    home.weir(&format!("reviews add-response {id} lint.sarif --model linter --cost-usd 0.5")).ok();
    let failed = home.weir(&format!("reviews complete {id} --fail-on high"));
    assert_eq!(failed.code, Some(4), "{failed:?}");
    assert!(failed.out.contains("4 findings of 3 models, $0.53"), "{failed:?}");
    let shown = home.weir(&format!("reviews show {id} --json")).json();
    assert_eq!(
        (&shown["status"], shown["files"].as_array().unwrap().len()),
        (&json!("completed"), 2)
    );
    let late = home.weir(&format!("reviews add-response {id} lint.sarif --model late"));
    late.fails(3, &["is not in progress"]);
    write(&home, "wrong.json", &json!({"model_id": "x", "status": "odd"}));
    home.weir(&format!("reviews add-response {id} wrong.json")).fails(2, &["wrong.json: status"]);
    home.weir("reviews add-response nothing gpt.json").fails(3, &["nothing"]);
    home.weir("reviews open --owner acme").fails(2, &["repo is missing", "--repo"]);
    home.weir("reviews open --owner acme --repo shop --pr 1 --id gone").ok();
    let given_up = home.weir("reviews complete gone --failed").ok();
    assert!(given_up.starts_with("review gone of acme/shop#1 (failed)\n"), "{given_up}");
}

#[test]
fn findings_are_judged_and_reviews_deleted() {
    let home = home();
    home.weir("reviews record review.json").ok();
    let judged = home.weir("reviews feedback r1 gpt-5 f1 --accept --by ada").ok();
    assert_eq!(judged, "finding f1 of gpt-5 was accepted by ada\n");
    let json = home.weir("reviews feedback r1 gpt-5 f2 --dismiss --by ada --json").json();
    assert_eq!(json["feedback"]["verdict"], "dismissed");
    assert!(home.weir("reviews findings r1").ok().contains("accepted by ada"));
    home.weir("reviews feedback r1 gpt-5 f1 --by ada").fails(2, &["--accept"]);
    home.weir("reviews feedback r1 gpt-5 f1 --accept --dismiss --by ada").fails(2, &["cannot"]);
    home.weir("reviews feedback r1 gpt-5 f9 --accept --by ada").fails(3, &["f9"]);
    home.weir("reviews raw r1 gpt-5").fails(3, &["gpt-5"]);
    home.weir("reviews delete r1").fails(3, &["--yes"]);
    assert_eq!(home.weir("reviews delete r1 --yes").ok(), "review r1 was deleted\n");
    home.weir("reviews show r1").fails(3, &["r1", "weir reviews list"]);
    home.weir("reviews delete r1 --yes").fails(3, &["r1"]);
}

#[test]
fn models_are_compared_after_the_rollup() {
    let home = home();
    let server = home.serve_with(&["--data", "weir-data", "--aggregate-interval", "600"]);
    // A job that never ran is due; the next run is due much later.
    home.weir("jobs run reviews-rollup").ok();
    let empty = home.weir("reviews compare").ok();
    assert!(empty.starts_with("no reviews from "), "{empty}");
    home.weir("reviews record review.json").ok();
    home.weir("reviews feedback r1 gpt-5 f1 --accept --by ada").ok();
    let pending = home.weir("reviews rollups verify");
    assert_eq!(pending.code, Some(4), "{pending:?}");
    assert!(pending.err.contains("weir jobs run reviews-rollup"), "{pending:?}");
    home.weir("jobs run reviews-rollup").ok();
    let verified = home.weir("reviews rollups verify --repo acme/shop").ok();
    assert!(verified.ends_with("0 sums differ\n"), "{verified}");

    let compared = home.weir("reviews compare").ok();
    for text in [
        "claude and gpt-5",
        "cost per consensus finding\n",
        "  claude  ████████████████████████████████████████ $0.02\n",
        "  gpt-5   ████████████████████",
        "50.0 %",
        "1 day with reviews from ",
    ] {
        assert!(compared.contains(text), "{text:?} is missing in\n{compared}");
    }
    let json = home.weir("reviews compare --repo acme/shop --models gpt-5,claude --json").json();
    let models = json["models"].as_array().unwrap();
    let ids: Vec<&Value> = models.iter().map(|model| &model["model_id"]).collect();
    assert_eq!(ids, ["claude", "gpt-5"]);
    assert_eq!(models[1]["cost_per_consensus_finding_usd"]["value"], 0.01);
    assert_eq!(json["pairs"][0]["shared"], 1);
    home.weir("reviews compare --from someday").fails(2, &["from"]);
    home.weir("reviews compare --repo acme").fails(2, &["OWNER/REPO"]);
    home.weir("reviews rollups verify --from 2026-01-01 --to 2026-06-01").fails(2, &["31 days"]);
    home.weir("reviews rollups verify --from someday").fails(2, &["2026-01-31"]);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn help_teaches_with_examples() {
    let home = Home::new();
    let main = home.weir("--help").ok();
    assert!(main.contains("reviews") && main.contains("`reviews record --fail-on`"), "{main}");
    let mut missing = String::new();
    for (verb, text) in [
        ("", "weir reviews record review.json --fail-on high"),
        ("record", "\"cost_usd\": \"0.0123\""),
        ("record", "Exit code 4"),
        ("open", "weir reviews complete $ID --fail-on high"),
        ("add-response", "weir reviews add-response 7f3a gpt.json"),
        ("report", "gh pr comment 42 --body-file comment.md"),
        ("list", "weir reviews list --repo acme/shop"),
        ("findings", "weir reviews findings --severity critical"),
        ("costs", "weir reviews costs acme/shop"),
        ("feedback", "--accept --by octocat"),
        ("compare", "Cohen's kappa"),
        ("rollups verify", "--recompute"),
    ] {
        if !home.weir(&format!("reviews {verb} --help")).ok().contains(text) {
            writeln!(missing, "{verb}: {text}").unwrap();
        }
    }
    assert_eq!(missing, "");
}

/// The steps of the workflow in the documentation that are scripts.
fn workflow_scripts() -> Vec<String> {
    let text = include_str!("../../../../docs/github-actions.md");
    let yaml =
        text.split("<!-- workflow -->\n```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let workflow: Value = serde_saphyr::from_str(yaml).unwrap();
    let steps = workflow["jobs"]["review"]["steps"].as_array().unwrap();
    steps.iter().filter_map(|step| Some(step["run"].as_str()?.to_owned())).collect()
}

#[test]
fn the_workflow_of_the_documentation_records_comments_and_fails() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = home();
    std::fs::create_dir(home.path("bin")).unwrap();
    let text = "SQL injection: `query` is built from user input.";
    write(&home, "found.sarif", &sarif("model", &[("error", text)]));
    for (name, script) in [
        ("bin/git", "echo src/login.py"),
        ("bin/gh", "echo \"$@\" > gh.txt; cat comment.md > posted.md"),
        ("review.sh", "cat found.sarif"),
    ] {
        std::fs::write(home.path(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(home.path(name), executable).unwrap();
    }
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_weir")).parent().unwrap().display();
    let path =
        format!("{}:{binary}:{}", home.path("bin").display(), std::env::var("PATH").unwrap());
    let variables = [
        ("REVIEW_ID", "gh-1-1"),
        ("BASE", "origin/main"),
        ("OWNER", "acme"),
        ("REPO", "shop"),
        ("PR", "42"),
        ("TITLE", "Add $(login) \"now\""),
        ("URL", "https://github.com/acme/shop/pull/42"),
        ("ACTOR", "octocat"),
    ];
    let scripts = workflow_scripts();
    let codes = scripts.iter().map(|script| {
        let mut shell = std::process::Command::new("bash");
        crate::home::clean(&mut shell, &home.path("."));
        shell.args(["-e", "-c", script]).env("PATH", &path).envs(variables);
        shell.output().unwrap().status.code()
    });
    assert_eq!(codes.collect::<Vec<_>>(), [Some(0), Some(4), Some(0), Some(0)]);
    let shown = home.weir("reviews show gh-1-1 --json").json();
    assert_eq!(shown["models_used"], json!(["claude-sonnet-4", "gpt-5"]));
    assert_eq!(
        (&shown["pr_title"], &shown["files"]),
        (&json!(variables[5].1), &json!(["src/login.py"]))
    );
    let posted = std::fs::read_to_string(home.path("posted.md")).unwrap();
    assert!(posted.contains("SQL injection"), "{posted}");
    let called = std::fs::read_to_string(home.path("gh.txt")).unwrap();
    assert_eq!(called, "pr comment 42 --body-file comment.md --edit-last --create-if-none\n");
    let sarif: Value =
        serde_json::from_slice(&std::fs::read(home.path("agreed.sarif")).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 1);
}
