//! `weir serve --demo`.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::home::{Home, signal, wait};

/// Days of history: enough for closed days, few enough to be quick.
const DAYS: &str = "--demo-days=2";
/// A first start writes thousands of items, on a machine that may be busy.
const START_MAX: Duration = Duration::from_secs(240);
const PAUSE: Duration = Duration::from_millis(20);

fn demo(home: &Home) -> Command {
    let mut command = home.command();
    command.args(["serve", "--demo", DAYS, "--listen", "127.0.0.1:0"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Waits until `is_done`.
fn wait_until(what: &str, mut is_done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_done() {
        assert!(started.elapsed() < START_MAX, "{what} took too long");
        std::thread::sleep(PAUSE);
    }
}

/// A demo that is stopped when the test ends.
struct Demo(Child);

impl Demo {
    fn start(home: &Home) -> Demo {
        let mut demo = Demo(demo(home).spawn().unwrap());
        wait_until("the first start", || {
            assert_eq!(demo.0.try_wait().unwrap(), None, "the demo has ended");
            home.path("weir-demo/weir.sock").exists()
        });
        demo
    }

    fn stop(mut self) {
        signal(self.0.id(), "TERM");
        assert_eq!(wait(&mut self.0), Some(0));
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn json(home: &Home, line: &str) -> Value {
    // A list that goes on says so on stderr.
    let run = home.weir_in(&[("WEIR_DATA", "weir-demo")], &format!("{line} --json"));
    assert_eq!(run.code, Some(0), "{run:?}");
    serde_json::from_str(&run.out).unwrap()
}

fn count(home: &Home, line: &str) -> usize {
    json(home, line)["items"].as_array().unwrap().len()
}

#[test]
fn an_existing_folder_that_is_no_demo_is_left_alone() {
    let home = Home::with_orders();
    let before = std::fs::read_dir(home.path("weir-data")).unwrap().count();
    let run = home.weir("serve --demo --data weir-data --listen 127.0.0.1:0");
    run.fails(3, &["weir-data exists and is not a folder of a demo", "--data"]);
    assert_eq!(std::fs::read_dir(home.path("weir-data")).unwrap().count(), before);
    home.weir("serve --demo --store dynamodb").fails(2, &["embedded store"]);
}

#[test]
fn a_load_that_was_killed_is_done_again_and_every_service_has_data() {
    let home = Home::new();
    let mut killed = Demo(demo(&home).spawn().unwrap());
    let is_complete = || home.path("weir-demo/demo.json").exists();
    wait_until("the store", || home.path("weir-demo/store").exists());
    killed.0.kill().unwrap();
    killed.0.wait().unwrap();
    assert!(!is_complete(), "it was killed too late");

    let server = Demo::start(&home);
    assert!(is_complete());
    let reviews = home.weir_in(&[("WEIR_DATA", "weir-demo")], "reviews rollups verify").ok();
    assert!(reviews.contains("0 sums differ"), "{reviews}");
    limits_and_budgets(&home);
    let compared = json(&home, "reviews compare");
    assert_eq!(compared["models"].as_array().unwrap().len(), 5, "{compared}");
    assert!(count(&home, "practice jobs list script-generation") > 0);
    assert!(count(&home, "practice users list") > 0);
    assert!(json(&home, "practice stats")["executions"].as_u64().unwrap() > 0);
    server.stop();

    // A later start has the same data.
    let written = std::fs::metadata(home.path("weir-demo/demo.json")).unwrap().modified().unwrap();
    Demo::start(&home).stop();
    let later = std::fs::metadata(home.path("weir-demo/demo.json")).unwrap().modified().unwrap();
    assert_eq!(written, later);
}

fn limits_and_budgets(home: &Home) {
    assert!(count(home, "limiter entity list") > 30);
    assert!(count(home, "limiter usage --entity team-search --window daily") > 0);
    let orgs = json(home, "keeper org list");
    let orgs = orgs["items"].as_array().unwrap();
    assert_eq!(orgs.len(), 6);
    // The zones differ, so it is not just after midnight in all of them.
    let spent = orgs.iter().map(|org| spent_of(home, org["id"].as_str().unwrap())).sum::<u64>();
    assert!(spent > 0);
    // All quotas of this org are spent, so it stands still.
    let apps = ["fraud-explainer", "kyc-summaries", "advisor-notes"];
    let of_apps = || apps.map(|app| spent_of(home, &format!("banyan-bank {app}"))).iter().sum();
    let (before, sum): (u64, u64) = (spent_of(home, "banyan-bank"), of_apps());
    assert!(before == sum || spent_of(home, "banyan-bank") != before, "{before} is not {sum}");
}

/// Micro-USD that an org or an app spent today.
fn spent_of(home: &Home, scope: &str) -> u64 {
    let run = home.weir_in(&[("WEIR_DATA", "weir-demo")], &format!("keeper totals {scope} --json"));
    // Just after midnight there is nothing yet.
    if run.code == Some(3) && run.err.contains("usage on") {
        return 0;
    }
    let totals: Value = serde_json::from_str(&run.ok()).unwrap();
    let models = totals["models"].as_object().unwrap().values();
    models.map(|model| model["cost_usd_micros"].as_u64().unwrap()).sum()
}
