//! `weir practice migrate`: a copy that is killed continues, differences are named, and PostgreSQL gets back what it missed.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_testkit::practice_rows::{Size, practice_rows};
use weir_testkit::{Database, postgres_database};

use crate::home::{Home, Run};

const SCHEMA: &str = include_str!("../../../weir-practice/schema.sql");
const MIGRATE: &str = "practice migrate";
/// How long a copy may take until it connects.
const CONNECT_MAX: Duration = Duration::from_secs(30);

/// The volumes of the source with `WEIR_TEST_ALL=1`, else a fiftieth, and the records a second of a copy that is killed: it would
/// take at least 20 s, so that a slow machine kills it in time.
fn size() -> (Size, u32) {
    if std::env::var_os("WEIR_TEST_ALL").is_some_and(|value| value == "1") {
        let size = Size {
            users: 10_000,
            problems: 5_000,
            test_cases: 25_000,
            history: 100_000,
            usage: 200_000,
        };
        return (size, 5_000);
    }
    let size = Size { users: 200, problems: 100, test_cases: 500, history: 1_000, usage: 2_000 };
    (size, 200)
}

struct Stage {
    home: Home,
    database: Database,
    url: String,
}

impl Stage {
    fn new(size: Size) -> Stage {
        let database = postgres_database("cli").unwrap();
        database.run(SCHEMA).unwrap();
        let now = database.run("SELECT now()").unwrap();
        database.run(&practice_rows(size, &now)).unwrap();
        let url = database.url();
        Stage { home: Home::new(), database, url }
    }

    #[track_caller]
    fn migrate(&self, line: &str) -> Run {
        let variables = [("WEIR_MIGRATE_FROM", self.url.as_str())];
        self.home.weir_in(&variables, &format!("{MIGRATE} {line}"))
    }

    #[track_caller]
    fn json(&self, line: &str, code: i32) -> Value {
        let run = self.migrate(&format!("{line} --json"));
        assert_eq!(run.code, Some(code), "{run:?}");
        serde_json::from_str(&run.out).unwrap()
    }

    fn copy(&self, rate: u32) -> Child {
        let mut command = self.home.command();
        command.env("WEIR_MIGRATE_FROM", &self.url);
        command.args(["practice", "migrate", "backfill", "--rate", &rate.to_string()]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Waits until a copy is connected and has had some time, and kills it.
    fn kill(&self, mut copy: Child) {
        let text = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                    AND application_name = 'weir practice migrate'";
        let started = Instant::now();
        while self.database.run(text).unwrap() == "0" {
            assert!(started.elapsed() < CONNECT_MAX, "the copy does not connect");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(1_500));
        assert_eq!(copy.try_wait().unwrap(), None, "the copy ended before it was killed");
        copy.kill().unwrap();
        copy.wait().unwrap();
    }
}

fn differences(report: &Value) -> &Vec<Value> {
    report["differences"].as_array().unwrap()
}

#[test]
fn a_copy_that_is_killed_twice_continues_and_equals_its_source() {
    let (size, rate) = size();
    let stage = Stage::new(size);
    let checked = stage.json("backfill --dry-run", 0);
    assert_eq!(checked["tables"]["users"]["unchanged"], size.users);
    for _ in 0..2 {
        stage.kill(stage.copy(rate));
        let status = stage.json("status", 0);
        assert_eq!(status["tables"]["usage_logs"]["done"], false, "{status}");
    }
    let copied = stage.json("backfill", 0);
    assert_eq!(copied["bad_rows"], json!([]));
    let again = stage.json("backfill", 0);
    assert_eq!(again["tables"]["usage_logs"]["created"], 0);
    let compared = stage.json("validate --all", 0);
    assert_eq!(differences(&compared).len(), 0, "{compared}");
    for (name, count) in [
        ("users", size.users),
        ("problems", size.problems),
        ("test_cases", size.test_cases),
        ("search_history", size.history),
    ] {
        let table = &compared["tables"][name];
        assert_eq!((&table["rows"], &table["records"]), (&json!(count), &json!(count)), "{name}");
    }
    let usage = &compared["tables"]["usage_logs"];
    assert_eq!(usage["rows"], usage["records"]);

    // A row that changes behind its back is found and named.
    stage.database.run("UPDATE search_history SET passed_count = 77 WHERE id = 42").unwrap();
    let compared = stage.json("validate --all", 4);
    let [found] = &differences(&compared)[..] else { panic!("{compared}") };
    let named = ["kind", "table", "id", "field", "postgres"].map(|name| found[name].clone());
    assert_eq!(named, ["field", "search_history", "42", "passed_count", "77"].map(Value::from));
    let shown = stage.migrate("validate --all");
    assert!(shown.out.contains("passed_count") && shown.err.contains("1 difference"), "{shown:?}");
}

#[test]
fn postgresql_gets_back_what_it_missed() {
    let size = Size { users: 10, problems: 5, test_cases: 10, history: 20, usage: 30 };
    let stage = Stage::new(size);
    stage.migrate("backfill").ok();
    stage
        .database
        .run("DELETE FROM search_history WHERE id <= 3; DELETE FROM usage_logs WHERE id = 5")
        .unwrap();
    let dry = stage.json("rollback --dry-run", 0);
    assert_eq!(dry["tables"]["search_history"]["inserted"], 3);
    assert_eq!(stage.database.run("SELECT count(*) FROM search_history").unwrap(), "17");
    let done = stage.json("rollback", 0);
    assert_eq!(done["tables"], dry["tables"]);
    assert_eq!(stage.json("rollback", 0)["tables"]["search_history"]["inserted"], 0);
    assert_eq!(differences(&stage.json("validate --all", 0)).len(), 0);

    // Dual-write moves a change of PostgreSQL, and is off afterwards.
    stage.json("dual-write --once", 0);
    stage.database.run("UPDATE users SET name = 'Later', updated_at = now() WHERE id = 4").unwrap();
    assert_eq!(stage.json("status", 0)["dual_write"]["waiting"], 1);
    assert_eq!(stage.json("dual-write --once", 0)["to_weir"], 1);
    assert_eq!(differences(&stage.json("validate --sample 50 --seed 7", 0)).len(), 0);
    stage.migrate("dual-write --stop");
    assert_eq!(stage.json("status", 0)["dual_write"], Value::Null);
}

#[test]
fn bad_rows_are_listed_and_a_password_is_not() {
    let size = Size { users: 3, problems: 1, test_cases: 1, history: 1, usage: 1 };
    let stage = Stage::new(size);
    stage.database.run("UPDATE users SET email = 'nobody' WHERE id = 2").unwrap();
    let run = stage.migrate("backfill --dry-run");
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.out.contains("users") && run.out.contains("email"), "{run:?}");
    assert!(run.err.contains("1 row cannot be copied"), "{run:?}");
    let file = stage.home.path("url");
    for url in [
        "postgres://app:hunter2@127.0.0.1:1/x?sslmode=disable",
        "postgres://app:hunter2@127.0.0.1:port/x",
        "postgres://app:hunter2@[/x",
    ] {
        std::fs::write(&file, url).unwrap();
        for line in [
            format!("{MIGRATE} --from '{url}' status"),
            format!("{MIGRATE} --from-file url status"),
        ] {
            let run = stage.home.weir(&line);
            assert_ne!(run.code, Some(0));
            assert!(!format!("{run:?}").contains("hunter2"), "{run:?}");
        }
    }
    stage.home.weir(&format!("{MIGRATE} status")).fails(2, &["WEIR_MIGRATE_FROM"]);
}
