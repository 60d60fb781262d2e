//! Programs that know the layout of practice's table use it without Weir, and find what the API returns.
//!
//! `examples.md` has the examples of the document that describes the table, unchanged. They run with boto3 on a table that a
//! server wrote on DynamoDB Local. What they write, the API returns. A program that logs usage itself does not raise the
//! counter, so it does not count against the limit until a recount.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "these are tests, their helpers included"
)]

#[expect(dead_code, reason = "nothing is killed here")]
#[path = "../exact/instance.rs"]
mod instance;
#[expect(dead_code, reason = "nothing is asked of a namespace here")]
#[path = "../exact/wire.rs"]
mod wire;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::instance::Instance;
use crate::wire::{Answer, Wire};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/algoitny");

/// How often statistics are looked at until they are up to date.
const LOOKS_MAX: u32 = 600;

/// A server on a table of its own.
struct Server {
    runtime: tokio::runtime::Runtime,
    folder: TempDir,
    prefix: String,
    _instance: Instance,
}

impl Server {
    fn start() -> Server {
        let (folder, prefix) =
            (tempfile::tempdir().unwrap(), weir_testkit::unique_prefix("algoitny"));
        let endpoint = weir_testkit::dynamo_local_endpoint().unwrap();
        let flags = ["--store", "dynamodb", "--dynamodb-endpoint"];
        let flags = flags.into_iter().chain([endpoint, "--table-prefix", &prefix]);
        let flags: Vec<String> = flags.map(ToOwned::to_owned).collect();
        let instance = Instance::start(folder.path(), &flags, &folder.path().join("address"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Server { runtime, folder, prefix, _instance: instance }
    }

    #[track_caller]
    fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let address = std::fs::read_to_string(self.folder.path().join("address")).unwrap();
        let path = format!("/v1/practice{path}");
        let answer = self.runtime.block_on(async {
            Wire::connect(&address).await.unwrap().call(method, &path, None, body).await
        });
        match answer {
            Answer::Response(200..=299, response) => response,
            other => panic!("{path}: {other:?}"),
        }
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        self.call(Method::POST, path, Some(body))
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, None)
    }

    /// Runs the examples, and returns what they returned.
    fn examples(&self, input: &Value) -> Value {
        let bin = weir_testkit::installed("python/bin").unwrap();
        let output = Command::new(bin.join("python"))
            .arg(Path::new(FOLDER).join("examples.py"))
            .arg(weir_testkit::dynamo_local_endpoint().unwrap())
            .arg(format!("{}algoitny_main", self.prefix))
            .arg(Path::new(FOLDER).join("examples.md"))
            .arg(input.to_string())
            .envs(weir_testkit::dynamo_local_environment())
            .env("TZ", "UTC")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// What the server has: users of two plans, one of them inactive, a problem, runs and usage.
struct Data {
    user: String,
    users: Vec<Value>,
    problem: Value,
}

fn fill(server: &Server) -> Data {
    let user = |email: &str, plan: u64| {
        server.post("/users", &json!({"email": email, "name": "N", "plan_id": plan}))
    };
    let users =
        vec![user("user@example.com", 1), user("pro@example.com", 2), user("gone@example.com", 1)];
    let id = |user: &Value| user["id"].as_str().unwrap().to_owned();
    server.post(&format!("/users/{}/deactivate", id(&users[2])), &json!({}));
    let problem = server.post(
        "/problems",
        &json!({"platform": "baekjoon", "problem_id": "1000", "title": "A+B",
            "solution_code": "print(sum(map(int, input().split())))"}),
    );
    for number in 0..3 {
        let case = json!({"input": format!("{number} 1"), "output": format!("{}", number + 1)});
        server.post("/problems/baekjoon/1000/testcases", &case);
    }
    for number in 0..27 {
        let run = json!({"user_id": id(&users[0]), "platform": "baekjoon", "problem_number": "1000",
            "code": format!("print({number})"), "is_code_public": number % 9 != 8});
        server.post("/history", &run);
    }
    for action in ["hint", "hint", "execution"] {
        let path = format!("/users/{}/usage", id(&users[0]));
        server.post(&path, &json!({"action": action}));
    }
    Data { user: id(&users[0]), users, problem }
}

#[test]
fn documented_examples_return_what_the_api_returns_dynamodb_local() {
    let server = Server::start();
    let data = fill(&server);
    let input = json!({"user": data.user, "users": data.users, "problems": [data.problem]});
    let found = server.examples(&input);
    assert_eq!(found["printed"], "Problem: A+B, TestCases: 3\nValidation passed!\n");
    check_user(&server, &data, &found);
    check_problem(&server, &found["problem"]);
    check_feed(&server, &found);
    check_usage(&server, &data, &found);
}

fn check_user(server: &Server, data: &Data, found: &Value) {
    let user = server.get("/users?email=user@example.com")["items"][0].clone();
    let expected = json!({"id": user["id"], "email": user["email"], "name": user["name"],
        "picture": user["picture_url"], "subscription_plan": user["plan_id"].to_string(),
        "is_active": user["is_active"]});
    assert_eq!(found["user"], expected);
    let of_plan = server.get("/users?plan=1");
    let active = of_plan["items"].as_array().unwrap().iter().filter(|one| one["is_active"] == true);
    let active: BTreeSet<String> =
        active.map(|one| format!("USR#{}", one["id"].as_str().unwrap())).collect();
    let scanned = found["free_plan_users"].as_array().unwrap();
    let scanned: BTreeSet<String> =
        scanned.iter().map(|item| item["PK"].as_str().unwrap().to_owned()).collect();
    assert_eq!(scanned, active);
    assert_eq!(active, BTreeSet::from([format!("USR#{}", data.user)]));
}

fn check_problem(server: &Server, found: &Value) {
    let problem = server.get("/problems/baekjoon/1000?include=testcases");
    assert_eq!(found["tit"], problem["title"]);
    let cases = problem["test_cases"].as_array().unwrap().iter();
    let cases: Vec<Value> = cases
        .map(|one| json!({"id": one["id"], "input": one["input"], "output": one["output"]}))
        .collect();
    assert_eq!(found["test_cases"], json!(cases));
}

/// Each page has the same runs; items that were read by their keys have no order.
fn check_feed(server: &Server, found: &Value) {
    let first = server.get("/feed?limit=20");
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = server.get(&format!("/feed?limit=20&cursor={cursor}"));
    // The last example made one more, which is the newest.
    let ids: Vec<String> = [&first, &second]
        .into_iter()
        .flat_map(|page| page["items"].as_array().unwrap())
        .map(|run| run["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!((ids.len(), ids[0].as_str()), (25, "5000"));
    let own = |page: &Value| -> BTreeSet<String> {
        let items = page["results"].as_array().unwrap().iter();
        items.map(|item| item["PK"].as_str().unwrap()[5..].to_owned()).collect()
    };
    assert_eq!(own(&found["page1"]), ids[1..21].iter().cloned().collect());
    assert_eq!(own(&found["page2"]), ids[21..].iter().cloned().collect());
    assert_eq!(found["page2"]["next_key"], Value::Null);
    let theirs = server.get("/history/5000");
    assert_eq!(
        (&theirs["code"], &theirs["is_code_public"]),
        (&json!("def solution()..."), &json!(true))
    );
}

fn check_usage(server: &Server, data: &Data, found: &Value) {
    let path = format!("/users/{}/usage", data.user);
    let usage = server.get(&path);
    let count = |action: &str| {
        let actions = usage["actions"].as_array().unwrap();
        actions.iter().find(|one| one["action"] == action).unwrap()["count"].clone()
    };
    assert_eq!(found["hint_count"], 0, "of a user that there is not");
    assert_eq!(found["counts"], json!({"hint": count("hint"), "execution": count("execution")}));
    assert_eq!(found["counts"], json!({"hint": 2, "execution": 1}));
    assert_eq!(found["hints_after_log"], 3);
    // The entry is in the log, and a recount finds that the counter lacks it.
    let log = server.get(&format!("{path}/log"));
    assert_eq!(log["items"].as_array().unwrap().len(), 4, "{log}");
    let recount = server.post(&format!("{path}/recount"), &json!({"date": usage["date"]}));
    assert_eq!(recount["differences"], json!([{"action": "hint", "counted": 2, "logged": 3}]));
    // The example's own entry for a user that there is not is in the log only.
    let stats = &found["stats"];
    assert_eq!(stats, &json!({"hints_count": 3, "executions_count": 1}));
    check_stats(server, &usage["date"], [2, 1]);
    let repair = json!({"date": usage["date"], "repair": true});
    server.post(&format!("{path}/recount"), &repair);
    check_stats(server, &usage["date"], [3, 1]);
}

/// Statistics follow the counters once the job has rolled them up.
fn check_stats(server: &Server, date: &Value, expected: [u64; 2]) {
    let date = date.as_str().unwrap();
    for look in 0.. {
        let stats = server.get(&format!("/stats?from={date}&to={date}"));
        let found = ["hints", "executions"].map(|name| stats[name].as_u64().unwrap());
        if found == expected {
            return;
        }
        assert!(look < LOOKS_MAX, "{stats}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
