//! Submissions of many processes of clients, with duplicates, retries, and kills of clients and servers: each is counted once.
//!
//! Clients go on until each of their submissions is acknowledged, and begin again where they were killed. So in the end every
//! submission was accepted, and what the counters hold is known to the micro-dollar beforehand.

mod books;
mod client;
mod load;

use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};

use self::books::{Books, day};
use self::client::Clients;
use self::load::{APPS, LABELS, Load, Org, SCOPES};
use crate::ground::Ground;

/// Processes of clients.
const PROCESSES: usize = 8;
/// How often a server or a process of clients is killed.
const KILLS: usize = 10;
/// How often totals are looked at until they are what they should be.
const LOOKS_MAX: u32 = 300;
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The labels with prices that leave fractions, and no bound on submissions.
pub(crate) fn config() -> String {
    let mut text = "[keeper]\nsubmission_rate = 0\naggregates_rate = 0\n".to_owned();
    for label in LABELS {
        let price = match label.price {
            Some((input, output)) => format!(
                "price = {{ input_price_usd_micros_per_1m = {input}, output_price_usd_micros_per_1m = {output} }}\n"
            ),
            None => String::new(),
        };
        text += &format!(
            "[keeper.labels.{}]\nbedrock_model_id = \"{}\"\ntier = \"t\"\nfamily = \"f\"\n{price}",
            label.name,
            label.model()
        );
    }
    text
}

/// As many submissions as are asked for at full length, and a twentieth of that usually.
fn count(whole: u64) -> u64 {
    let all = std::env::var_os("WEIR_TEST_ALL").is_some_and(|value| value == "1");
    if all { whole } else { whole / 20 }
}

fn prepare(ground: &Ground, orgs: &[Org]) {
    let quotas: serde_json::Map<String, Value> =
        LABELS.iter().map(|label| (label.name.to_owned(), json!(1_000_000_000_u64))).collect();
    let ordering: Vec<&str> = LABELS.iter().map(|label| label.name).collect();
    for org in orgs {
        let body = json!({"org_name": "exact", "timezone": org.zone, "quota_scope": org.scope,
            "model_ordering": ordering, "quotas": quotas,
            "overrides": {"agg_shard_count": org.shards}});
        ground.call(Method::PUT, &org.path(), Some(&body));
        for app in APPS {
            let body = json!({"app_name": app});
            ground.call(Method::PUT, &format!("{}/apps/{app}", org.path()), Some(&body));
        }
    }
}

fn spend(ground: &mut Ground, whole: u64, kills: usize) {
    let orgs: Vec<Org> = SCOPES.iter().map(|(scope, shards)| Org::new(scope, *shards)).collect();
    prepare(ground, &orgs);
    let load = Load::new(orgs, count(whole));
    // DynamoDB Local does one thing at a time, and those who wait for it too long are told that it does not answer.
    let tasks = if ground.is_sharded() { 1 } else { 8 };
    let mut clients = Clients::start(&load, ground.address_files(), PROCESSES, tasks);
    let mut killed = (0, 0);
    while killed.0 + killed.1 < kills && !clients.are_done() {
        // A server and a client while most of the work is still to be done, others at any time.
        let is_first = killed.0 + killed.1 < 2;
        let wait_ms = if is_first { 50 } else { fastrand::u64(200..900) };
        std::thread::sleep(Duration::from_millis(wait_ms));
        if (killed.0 + killed.1) % 2 == 0 {
            ground.restart(fastrand::usize(..ground.servers()));
            killed.0 += 1;
        } else if clients.kill_one() {
            killed.1 += 1;
        }
    }
    let counts = clients.end();
    let books = Books::of(&load);
    books.check_shards(ground);
    eventually(|| books.check_totals(ground));
    books.check_duplicates(ground);
    eprintln!(
        "{} submissions, {} micro-dollars: shards and totals agree; {} sent again and told so, {} retried, {} servers and {} \
         processes of clients killed",
        load.count(),
        books.cost_in_all(),
        counts.duplicates,
        counts.retries,
        killed.0,
        killed.1
    );
    assert_eq!(counts.odd, [""; 0]);
    assert!(kills == 0 || killed.0 > 0 && killed.1 > 0, "{killed:?} were killed");
    if kills == 0 && !ground.is_sharded() {
        assert_eq!(counts.retries, 0, "nobody was killed, so everybody is answered at once");
    }
    assert!(counts.duplicates * 10 >= load.count(), "{} duplicates", counts.duplicates);
}

/// Looks until what is looked for is there.
fn eventually(look: impl Fn() -> Result<(), String>) {
    let mut last = String::new();
    for _ in 0..LOOKS_MAX {
        match look() {
            Ok(()) => return,
            Err(problem) => last = problem,
        }
        std::thread::sleep(LOOK_EVERY);
    }
    panic!("{last}");
}

#[test]
fn every_submission_is_acknowledged_at_once_embedded() {
    spend(&mut Ground::embedded_with(&config()), 100_000, 0);
}

#[test]
fn every_submission_counts_once_through_kills_embedded() {
    spend(&mut Ground::embedded_with(&config()), 200_000, KILLS);
}

#[test]
fn every_submission_counts_once_through_kills_dynamodb_local() {
    spend(&mut Ground::dynamodb_local_with(3, &config()), 20_000, KILLS);
}

#[test]
fn the_day_of_a_run_does_not_end_in_it() {
    for (scope, shards) in SCOPES {
        let org = Org::new(scope, shards);
        let hour = day(&org).1;
        assert!((11..=13).contains(&hour), "it is {hour} o'clock there");
    }
}
