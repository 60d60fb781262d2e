//! `weir practice`: with a server and without one.

use std::fmt::Write as _;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::home::{self, Home, Run};

/// Output of `weir practice` without its last line break: an id.
fn id(home: &Home, line: &str) -> String {
    home.weir(&format!("practice {line}")).ok().trim_end().to_owned()
}

fn practice(home: &Home, line: &str) -> Run {
    home.weir(&format!("practice {line}"))
}

fn ok(home: &Home, line: &str) -> String {
    practice(home, line).ok()
}

fn json_of(home: &Home, line: &str) -> Value {
    practice(home, &format!("{line} --json")).json()
}

/// The items of a list.
fn items_of(home: &Home, line: &str) -> Value {
    practice(home, &format!("{line} --json")).items()
}

fn count(list: &Value) -> usize {
    list.as_array().unwrap().len()
}

/// Runs `weir practice` with a text as its standard input.
fn piped(home: &Home, line: &str, input: &str) -> Run {
    let mut command = home.command();
    command.arg("practice").args(shlex::split(line).unwrap());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, input.as_bytes()).unwrap();
    drop(stdin);
    ended(child)
}

fn ended(child: Child) -> Run {
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Starts a command that goes on.
fn started(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A folder with a store, the code of a solution and test cases.
fn home() -> Home {
    let home = Home::with_orders();
    std::fs::write(home.path("sum.py"), "a, b = map(int, input().split())\nprint(a + b)\n")
        .unwrap();
    let cases =
        json!([{"input": "1 2", "output": "3", "sample": true}, {"input": "5 6", "output": "11"}]);
    std::fs::write(home.path("cases.json"), cases.to_string()).unwrap();
    home
}

#[test]
fn a_user_does_what_the_plan_allows() {
    let home = home();
    let plan =
        id(&home, "plans create Trial --hints 2 --executions unlimited --description 'for a week'");
    let user = id(&home, &format!("users create Ann@Example.com --name 'Ann Lee' --plan {plan}"));
    let taken = json_of(&home, &format!("usage take {user} hint --idempotency-key k1"));
    assert_eq!(
        (&taken["count"], &taken["limit"], &taken["remaining"]),
        (&json!(1), &json!(2), &json!(1))
    );
    let again = ok(&home, &format!("usage take {user} hint --idempotency-key k1"));
    assert!(again.starts_with("hint 1 of 2 on ") && again.contains("(counted before)"), "{again}");
    ok(&home, &format!("usage take {user} hint"));
    let refused = practice(&home, &format!("usage take {user} hint"));
    refused.fails(3, &["all 2 hints of the day", "try again in"]);
    let execution = format!("usage take {user} execution --problem 1000 --metadata '{{\"a\": 1}}'");
    assert!(ok(&home, &execution).contains("unlimited left"), "staff and unlimited plans go on");
    let usage = json_of(&home, &format!("usage show {user}"));
    assert_eq!(
        usage["actions"][0],
        json!({"action": "hint", "count": 2, "limit": 2, "remaining": 0})
    );
    let log = items_of(&home, &format!("usage log {user}"));
    assert_eq!((count(&log), &log[0]["metadata"]), (3, &json!({"a": 1})));
    assert!(ok(&home, &format!("usage recount {user}")).contains("agree with the log"));
    assert!(ok(&home, &format!("usage reset-day {user}")).contains("nothing was changed"));

    ok(&home, &format!("users move {user} 2"));
    assert!(ok(&home, &format!("usage take {user} hint")).starts_with("hint 3 of 50 "));
    practice(&home, "plans delete 2 --yes").fails(3, &["plan 2 has users"]);
    ok(&home, &format!("users deactivate {user}"));
    practice(&home, &format!("usage take {user} hint")).fails(3, &["inactive"]);
    ok(&home, &format!("users reactivate {user}"));
    assert_eq!(
        ok(&home, &format!("plans delete {plan} --yes")),
        format!("plan {plan} was deleted\n")
    );
    let recounted = json_of(&home, "plans recount");
    let users = recounted["counters"].as_array().unwrap();
    let pro = users.iter().find(|one| one["counter"] == "users of plan 2").unwrap();
    assert_eq!((&pro["counted"], &pro["found"]), (&json!(1), &json!(1)));
    let audit = items_of(&home, &format!("audit --subject 'user {user}'"));
    assert!(count(&audit) >= 4, "{audit}");
}

#[test]
fn users_are_found_changed_and_erased() {
    let home = home();
    let user = id(&home, "users create ann@example.com --name Ann --google-id g1");
    practice(&home, "users create ANN@example.com --name Other").fails(3, &["email"]);
    practice(&home, "users create bob@example.com --name Bob --google-id g1").fails(3, &["google"]);
    let found = items_of(&home, "users list --email ANN@EXAMPLE.COM");
    assert_eq!((count(&found), &found[0]["id"]), (1, &json!(user)));
    assert_eq!(items_of(&home, "users list --google-id g1"), found);
    let changed = json_of(
        &home,
        &format!("users update {user} --name 'Ann Kim' --no-google-id --staff true"),
    );
    assert_eq!((&changed["name"], &changed["google_id"]), (&json!("Ann Kim"), &Value::Null));
    assert_eq!(changed["is_staff"], true);
    assert_eq!(items_of(&home, "users list --google-id g1"), json!([]));
    let plan = json_of(&home, "plans show 1");
    assert_eq!((&plan["name"], &plan["users"]), (&json!("Free"), &json!(1)));

    practice(&home, &format!("users erase {user}")).fails(3, &["was not confirmed", "--yes"]);
    assert_eq!(count(&items_of(&home, "users list")), 1, "nothing happens without a confirmation");
    ok(&home, &format!("users erase {user} --yes"));
    practice(&home, &format!("users show {user}"))
        .fails(3, &["not found", "weir practice users list"]);
    id(&home, "users create ann@example.com --name Ann");
}

#[test]
fn wrong_input_is_refused_by_its_name_and_nothing_is_written() {
    let home = home();
    std::fs::write(home.path("unknown.json"), r#"[{"input": "1", "output": "2", "colour": 1}]"#)
        .unwrap();
    std::fs::write(home.path("half.json"), r#"[{"input": "1","#).unwrap();
    for (line, says) in [
        ("users create ann --name Ann", &["email"][..]),
        ("users create ann@example.com", &["--name"]),
        ("users create ann@example.com --name Ann --plan many", &["--plan"]),
        ("users list --email a@b.c --plan 1", &["--email", "--plan"]),
        (
            "plans create Trial --hints many --executions 1",
            &["--hints", "neither a number nor unlimited"],
        ),
        ("plans create Trial --hints -2 --executions 1", &["max_hints_per_day"]),
        ("usage take 42 dance", &["hint", "execution"]),
        ("usage take 42 hint --metadata '{'", &["--metadata"]),
        ("problems create baek/joon 1000 --title A", &["platform"]),
        ("problems create baekjoon 1000 --title A --solution-file missing.py", &["missing.py"]),
        ("problems create baekjoon 1000 --title A --metadata '[1]'", &["--metadata"]),
        (
            "problems create baekjoon 1000 --title A --test-cases unknown.json",
            &["unknown.json: [0].colour"],
        ),
        ("problems create baekjoon 1000 --title A --test-cases half.json", &["half.json"]),
        (
            "problems create baekjoon 1000 --title A --solution-file - --constraints -",
            &["both be standard input"],
        ),
        ("problems list --status good", &["needs_review"]),
        ("problems update baekjoon 1000", &["nothing to change"]),
        ("problems delete baekjoon 1000 --hard --reason old", &["--reason"]),
        ("test-cases upload baekjoon 1000 sum.py", &["neither .json, .jsonl nor .zip", "--format"]),
        ("test-cases upload baekjoon 1000 -", &["standard input", "--format"]),
        ("test-cases upload baekjoon 1000 missing.zip", &["cannot read missing.zip"]),
        ("history record baekjoon 1000", &["--code-file"]),
        ("history record baekjoon 1000 --code-file sum.py --results '{}'", &["--results"]),
        ("history visibility 1 secret", &["public", "private"]),
        ("jobs submit painting", &["script-generation"]),
        ("jobs submit script-generation --platform baekjoon", &["problem_id"]),
        ("jobs submit problem-extraction --url nowhere", &["problem_url"]),
        ("jobs claim script-generation", &["--worker"]),
        ("jobs claim script-generation --worker w --lease-secs 0", &["--lease-secs"]),
        ("jobs progress script-generation 1 --fence 1 --step a --status done", &["in_progress"]),
        ("jobs complete problem-extraction 1 --fence 1 --platform baekjoon", &["--problem"]),
        ("tasks put t1 --status done", &["status"]),
        ("stats --from yestreday", &["from"]),
        ("stats --from 2026-01-02 --to 2026-01-01", &["to: the range"]),
        ("usage show 42 --date 2026-13-01", &["date"]),
    ] {
        practice(&home, line).fails(2, says);
    }
    for (line, says) in [
        ("users show 42", &["user \"42\" not found", "weir practice users list"][..]),
        ("plans show 99", &["plan \"99\" not found", "weir practice plans list"]),
        ("users create ann@example.com --name Ann --plan 99", &["99"]),
        ("problems show baekjoon 1000", &["not found", "weir practice problems list"]),
        ("test-cases upload baekjoon 1000 cases.json", &["not found"]),
        ("history show 1", &["not found"]),
        ("jobs show script-generation 1", &["not found", "weir practice jobs list TYPE"]),
        ("jobs claim script-generation --worker w", &["no script-generation job waits"]),
        ("tasks show t1", &["not found"]),
    ] {
        practice(&home, line).fails(3, says);
    }
    for list in ["users list", "problems list", "feed", "jobs list script-generation"] {
        assert_eq!(items_of(&home, list), json!([]), "{list}");
    }
    assert_eq!(count(&items_of(&home, "plans list")), 3, "the plans that every store has");
}

#[test]
fn problems_go_from_draft_to_verified_and_away() {
    let home = home();
    let create = "problems create baekjoon 1000 --title A+B --tag math --solution-file sum.py --language python";
    let created =
        json_of(&home, &format!("{create} --test-cases cases.json --metadata '{{\"level\": 1}}'"));
    assert_eq!(
        (&created["id"], &created["is_completed"]),
        (&json!("baekjoon/1000"), &json!(false))
    );
    practice(&home, create).fails(3, &["1000"]);
    let solution = ok(&home, "problems show baekjoon 1000 --print solution");
    assert_eq!(solution, std::fs::read_to_string(home.path("sum.py")).unwrap());
    practice(&home, "problems show baekjoon 1000 --print constraints")
        .fails(3, &["has no constraints"]);
    let shown = json_of(&home, "problems show baekjoon 1000 --test-cases");
    assert_eq!((count(&shown["test_cases"]), &shown["metadata"]), (2, &json!({"level": 1})));

    let update =
        "problems update baekjoon 1000 --title 'A + B' --tag easy --no-language --constraints -";
    let updated = piped(&home, update, "0 < A, B < 10\n");
    assert_eq!(updated.code, Some(0), "{updated:?}");
    let shown = json_of(&home, "problems show baekjoon 1000");
    assert_eq!((&shown["tags"], &shown["language"]), (&json!(["easy"]), &Value::Null));
    assert_eq!(shown["constraints"], "0 < A, B < 10\n");
    practice(&home, "problems update baekjoon 1000 --title C --version 1").fails(3, &["version"]);
    assert_eq!(json_of(&home, "problems show baekjoon 1000")["title"], "A + B");

    ok(&home, "problems publish baekjoon 1000");
    ok(&home, "problems review baekjoon 1000 --notes 'look twice'");
    let review = items_of(&home, "problems list --status needs_review");
    assert_eq!((count(&review), &review[0]["review_notes"]), (1, &json!("look twice")));
    assert!(ok(&home, "problems verify baekjoon 1000").contains("published, verified"));
    for by in ["--platform baekjoon", "--tag easy", "--status published", "--status verified"] {
        assert_eq!(count(&items_of(&home, &format!("problems list {by}"))), 1, "{by}");
    }
    assert_eq!(count(&items_of(&home, "problems list --tag math")), 0);

    ok(&home, "problems delete baekjoon 1000 --reason duplicate");
    assert_eq!(items_of(&home, "problems list"), json!([]));
    assert_eq!(items_of(&home, "problems list --status deleted")[0]["deleted_reason"], "duplicate");
    ok(&home, "problems restore baekjoon 1000");
    practice(&home, "problems delete baekjoon 1000 --hard").fails(3, &["was not confirmed"]);
    assert_eq!(count(&items_of(&home, "problems list")), 1);
    ok(&home, "problems delete baekjoon 1000 --hard --yes");
    practice(&home, "problems show baekjoon 1000").fails(3, &["not found"]);
}

#[test]
fn test_cases_are_added_one_by_one_and_in_uploads() {
    let home = home();
    let server = home.serve("weir-data");
    ok(&home, "problems create baekjoon 1000 --title A+B");
    let added =
        json_of(&home, "test-cases add baekjoon 1000 --input '-1 2' --output @sum.py --sample");
    assert_eq!((&added["input"], &added["sample"]), (&json!("-1 2"), &json!(true)));
    let upload = "test-cases upload baekjoon 1000";
    assert_eq!(
        json_of(&home, &format!("{upload} cases.json")),
        json!({"added": 2, "unchanged": 0})
    );
    assert_eq!(
        json_of(&home, &format!("{upload} cases.json")),
        json!({"added": 0, "unchanged": 2})
    );
    let lines = "{\"input\": \"7\", \"output\": \"8\"}\n{\"input\": \"9\", \"output\": \"10\"}\n";
    assert_eq!(
        piped(&home, &format!("{upload} - --format jsonl"), lines).ok(),
        "2 test cases added to baekjoon/1000\n"
    );
    let wrong = piped(
        &home,
        &format!("{upload} - --format jsonl"),
        "{\"input\": \"1\", \"output\": \"1\"}\n{\"input\": 3}\n",
    );
    wrong.fails(2, &["line 2"]);
    piped(&home, &format!("{upload} - --format zip"), "not an archive").fails(2, &["zip"]);
    let mut many = String::new();
    for number in 0..3_000 {
        writeln!(many, "{}", json!({"input": number.to_string(), "output": "x".repeat(100)}))
            .unwrap();
    }
    std::fs::write(home.path("many.jsonl"), many).unwrap();
    assert_eq!(json_of(&home, &format!("{upload} many.jsonl"))["added"], 3_000);
    let all = items_of(&home, "test-cases list baekjoon 1000 --limit 10000");
    assert_eq!(count(&all), 3_005, "and nothing of the wrong uploads");

    let id = added["id"].as_str().unwrap();
    let replaced =
        json_of(&home, &format!("test-cases replace baekjoon 1000 {id} --input 1 --output 2"));
    assert_eq!((&replaced["input"], &replaced["sample"]), (&json!("1"), &json!(false)));
    practice(&home, &format!("test-cases delete baekjoon 1000 {id}")).fails(3, &["--yes"]);
    ok(&home, &format!("test-cases delete baekjoon 1000 {id} --yes"));
    practice(&home, &format!("test-cases delete baekjoon 1000 {id} --yes"))
        .fails(3, &["not found"]);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn runs_are_recorded_once_and_shown_to_those_who_may_see_them() {
    let home = home();
    let user = id(&home, "users create ann@example.com --name Ann");
    let record = format!(
        "history record baekjoon 1000 --user {user} --language python --passed 3 --failed 1"
    );
    let run = id(
        &home,
        &format!("{record} --code-file sum.py --idempotency-key s1 --results '[{{\"ok\": true}}]'"),
    );
    assert_eq!(
        id(
            &home,
            &format!(
                "{record} --code-file sum.py --idempotency-key s1 --results '[{{\"ok\": true}}]'"
            )
        ),
        run
    );
    let other =
        piped(&home, &format!("{record} --code-file - --public --hint one"), "print(3)").ok();
    let shown = json_of(&home, &format!("history show {run}"));
    assert_eq!((&shown["total_count"], &shown["passed_count"]), (&json!(4), &json!(3)));
    assert_eq!(ok(&home, &format!("history show {} --print code", other.trim_end())), "print(3)\n");
    assert!(ok(&home, &format!("history show {run} --print results")).contains("\"ok\": true"));
    let results = home.weir(&format!("practice history show {run} --print results --json")).items();
    assert_eq!(results[0]["ok"], true);
    assert_eq!(count(&items_of(&home, &format!("history list {user}"))), 2);
    assert_eq!(count(&items_of(&home, "feed")), 1);
    ok(&home, &format!("history visibility {run} public"));
    assert_eq!(count(&items_of(&home, "feed")), 2);
    ok(&home, &format!("history visibility {run} private"));
    assert_eq!(items_of(&home, "feed")[0]["hints"], json!(["one"]));
    let hinted = piped(&home, &format!("history hints {run} 'think of overflow' -"), "and of zero");
    assert!(hinted.ok().contains("hint: and of zero"));
    assert_eq!(
        json_of(&home, &format!("history show {run}"))["hints"],
        json!(["think of overflow", "and of zero"])
    );
}

/// Submits a job, and returns its id.
fn submit(home: &Home, title: &str) -> String {
    let flags = "--platform baekjoon --problem 1000 --solution-file sum.py";
    id(home, &format!("jobs submit script-generation {flags} --title '{title}'"))
}

#[test]
fn a_worker_claims_reports_and_completes_a_job() {
    let home = home();
    let job = submit(&home, "A+B");
    let claimed = json_of(&home, "jobs claim script-generation --worker w1 --lease-secs 60");
    assert_eq!((&claimed["job"]["id"], &claimed["fence"]), (&json!(job), &json!(1)));
    practice(&home, &format!("jobs claim script-generation {job} --worker w2"))
        .fails(3, &["another worker"]);
    let at = format!("script-generation {job} --fence");
    let step =
        format!("jobs progress {at} 1 --step parsing --status completed --message 'all read'");
    assert!(ok(&home, &step).contains("parsing completed: all read"));
    practice(&home, &format!("jobs heartbeat {at} 7")).fails(3, &["fenc"]);
    assert!(ok(&home, &format!("jobs heartbeat {at} 1")).starts_with("the lease ends at "));
    assert_eq!(items_of(&home, "jobs stalled script-generation"), json!([]));
    practice(&home, &format!("jobs complete {at} 1")).fails(2, &["generator_code"]);
    practice(&home, &format!("jobs watch script-generation {job}"))
        .code
        .filter(|code| *code == 3)
        .unwrap();
    let failed = json_of(&home, &format!("jobs fail {at} 1 --error 'it does not compile'"));
    assert_eq!(
        (&failed["status"], &failed["error_message"]),
        (&json!("FAILED"), &json!("it does not compile"))
    );
    let retried = json_of(&home, &format!("jobs retry script-generation {job}"));
    assert_eq!(retried["status"], "PENDING");
    let fence = ok(&home, "jobs claim script-generation --worker w2 --print-fence");
    practice(&home, &format!("jobs complete {at} 1 --generator-file sum.py")).fails(3, &["job"]);
    let fence = fence.trim_end();
    assert!(
        ok(&home, &format!("jobs complete {at} {fence} --generator-file sum.py"))
            .contains("COMPLETED")
    );
    let code = ok(&home, &format!("jobs show script-generation {job} --print generator"));
    assert_eq!(code, std::fs::read_to_string(home.path("sum.py")).unwrap());
    let steps = items_of(&home, &format!("jobs show script-generation {job} --steps"));
    assert_eq!((count(&steps), &steps[0]["message"]), (1, &json!("all read")));
    practice(&home, &format!("jobs cancel script-generation {job} --yes")).fails(3, &["COMPLETED"]);

    let page = "jobs submit problem-extraction --url https://example.com/1 --idempotency-key p1";
    let page = (id(&home, page), id(&home, page));
    assert_eq!(page.0, page.1);
    practice(&home, &format!("jobs cancel problem-extraction {}", page.0)).fails(3, &["--yes"]);
    assert!(
        ok(&home, &format!("jobs cancel problem-extraction {} --yes", page.0))
            .contains("CANCELLED")
    );
    assert_eq!(count(&items_of(&home, "jobs list problem-extraction --status CANCELLED")), 1);
}

#[test]
fn watching_a_job_prints_every_step_and_exits_by_its_status() {
    let home = home();
    let server = home.serve("weir-data");
    for (end, code, says) in
        [("complete", 0, ""), ("fail", 4, "failed"), ("cancel", 3, "was cancelled")]
    {
        let job = submit(&home, end);
        let fence =
            id(&home, &format!("jobs claim script-generation {job} --worker w --print-fence"));
        let at = format!("script-generation {job}");
        let mut command = home.command();
        command.args(["practice", "jobs", "watch", "script-generation", &job]);
        let watching = started(command);
        for number in 0..3 {
            let step = format!("--step s{number} --status started --message 'a\u{1b}b'");
            ok(&home, &format!("jobs progress {at} --fence {fence} {step}"));
        }
        ok(
            &home,
            &match end {
                "complete" => format!("jobs complete {at} --fence {fence} --generator-file sum.py"),
                "fail" => format!("jobs fail {at} --fence {fence} --error broken"),
                _ => format!("jobs cancel {at} --yes"),
            },
        );
        let watched = ended(watching);
        assert_eq!(watched.code, Some(code), "{watched:?}");
        assert!(watched.err.contains(says), "{watched:?}");
        for number in 0..3 {
            let step = format!("  s{number} started: a\\u{{1b}}b\n");
            assert_eq!(watched.out.matches(&step).count(), 1, "{watched:?}");
        }
        // A job that has ended has all its steps at once, as JSON lines.
        let lines = practice(&home, &format!("jobs watch {at} --json")).out;
        let lines: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((lines.len(), &lines[3]["id"]), (4, &json!(job)));
    }
    practice(&home, "jobs watch script-generation 77").fails(3, &["not found"]);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn watching_goes_on_after_the_server_has_started_again() {
    let home = home();
    let server = home.serve("weir-data");
    let job = submit(&home, "A+B");
    let fence = id(
        &home,
        &format!("jobs claim script-generation {job} --worker w --lease-secs 600 --print-fence"),
    );
    let report = |step: &str| {
        let step = format!("--step {step} --status started");
        ok(&home, &format!("jobs progress script-generation {job} --fence {fence} {step}"));
    };
    report("first");
    let mut command = home.command();
    command.args(["practice", "jobs", "watch", "script-generation", &job]);
    let mut watching = started(command);
    let mut out = std::io::BufReader::new(watching.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    assert!(line.ends_with("  first started\n"), "{line}");
    assert_eq!(server.stop(), Some(0));
    report("second");
    let server = home.serve("weir-data");
    report("third");
    ok(
        &home,
        &format!("jobs complete script-generation {job} --fence {fence} --generator-file sum.py"),
    );
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
    assert_eq!(home::wait(&mut watching), Some(0), "{rest}");
    for step in ["second", "third"] {
        assert_eq!(rest.matches(&format!("  {step} started\n")).count(), 1, "{rest}");
    }
    assert!(!rest.contains("first started\n") && rest.contains("COMPLETED"), "{rest}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn statistics_come_from_sums_that_can_be_verified() {
    let home = home();
    let server = home.serve_with(&["--data", "weir-data", "--aggregate-interval", "600"]);
    // A job that never ran is due; the next run is due much later.
    home.weir("jobs run practice-rollup").ok();
    let user = id(&home, "users create ann@example.com --name Ann");
    for action in ["hint", "execution", "execution"] {
        ok(&home, &format!("usage take {user} {action}"));
    }
    let day = json_of(&home, &format!("usage show {user}"))["date"].as_str().unwrap().to_owned();
    let early = practice(&home, &format!("stats verify --date {day}"));
    assert_eq!(early.code, Some(4), "{early:?}");
    assert!(early.err.contains("weir jobs run practice-rollup"), "{early:?}");
    home.weir("jobs run practice-rollup").ok();
    let stats = json_of(&home, &format!("stats --from {day} --to {day}"));
    let same = json_of(&home, "stats --from 1d --to now");
    assert_eq!((&same["hints"], &same["to"]), (&stats["hints"], &json!(day)), "{same}");
    let before = json_of(&home, &format!("usage show {user} --date yesterday"));
    assert_eq!(before["date"], same["from"]);
    practice(&home, &format!("usage show {user} --date 2h")).fails(2, &["time zone", "yesterday"]);
    assert_eq!((&stats["hints"], &stats["executions"]), (&json!(1), &json!(2)));
    assert_eq!(stats["top_users"], json!([{"user_id": user, "total": 3}]));
    let shown = ok(&home, "stats");
    for text in ["┆ hint ", "┆ execution ", "████████████████████", "1 hint and 2 executions from "]
    {
        assert!(shown.contains(text), "{text:?} is missing in {shown}");
    }
    let top = ok(&home, "stats top");
    for text in ["│ Ann ", "┆ 1 of 5 ", "┆ 2 of 50 "] {
        assert!(top.contains(text), "{text:?} is missing in {top}");
    }
    assert!(ok(&home, "stats top --date yesterday").starts_with("nobody did anything on 20"));
    practice(&home, "stats top --users 101").fails(2, &["limit"]);
    assert!(ok(&home, &format!("stats verify --date {day}")).contains("the sums agree"));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn results_of_tasks_are_stored() {
    let home = home();
    let put = json_of(&home, "tasks put t1 --status STARTED");
    assert_eq!((&put["status"], &put["result"]), (&json!("STARTED"), &Value::Null));
    let traced =
        piped(&home, "tasks put t1 --status FAILURE --traceback - --result '[1]'", "line 1\n");
    assert!(traced.ok().contains("result: [1]"));
    assert_eq!(json_of(&home, "tasks show t1")["traceback"], "line 1\n");
    practice(&home, "tasks put t1 --status STARTED").fails(3, &["has ended"]);
}

#[test]
fn help_teaches_with_an_example_in_each_command() {
    let home = Home::new();
    let main = home.weir("--help").ok();
    assert!(
        main.contains("weir practice usage take 42 hint") && main.contains("`practice jobs watch`"),
        "{main}"
    );
    let mut missing = String::new();
    for (group, verbs) in [
        ("", "feed stats audit"),
        ("users ", "create list show update deactivate reactivate move erase"),
        ("plans ", "create list show put delete recount"),
        ("usage ", "take show log recount reset-day"),
        ("problems ", "create list show update publish delete restore review verify"),
        ("test-cases ", "add upload list replace delete"),
        ("history ", "record show list visibility hints"),
        (
            "jobs ",
            "submit list show claim heartbeat progress complete fail retry cancel stalled watch",
        ),
        ("tasks ", "put show"),
        ("stats ", "verify"),
    ] {
        for verb in verbs.split(' ') {
            let help = practice(&home, &format!("{group}{verb} --help")).ok();
            if !help.contains(&format!("weir practice {group}{verb}"))
                || !help.contains("Examples:")
            {
                writeln!(missing, "{group}{verb}").unwrap();
            }
        }
    }
    assert_eq!(missing, "");
}
