//! A limit of n actions a day: of 200 requests at once exactly n are allowed, whoever is killed, repeated or past midnight.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use axum::http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{PRACTICE, address_files_of, call, list, sign_up};
use crate::Kills;
use crate::ground::{Ground, PROCESSES};
use crate::patient::Client;
use crate::process::{self, Process, print_line};

const CHILD: &str = "practice::usage::the_process_of_users";
/// Requests of all processes, each with a key of its own.
const REQUESTS: usize = 200;
const LIMIT: u64 = 37;
/// How often a request is sent after it was answered.
const REPEATS: usize = 2;
const DAY_S: i64 = 86_400;

/// What a process of users is to do.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    address_files: Vec<PathBuf>,
    user: String,
    /// Numbers of the requests, which name their keys.
    keys: std::ops::Range<usize>,
    /// Send new requests until one is refused on a day later than this one.
    until_after: Option<String>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Taken {
    key: String,
    is_allowed: bool,
    date: String,
}

/// Requests to take usage of one user.
struct Taker {
    client: Client,
    path: String,
}

impl Taker {
    async fn take(&mut self, key: &str) -> Taken {
        let body = || Some(json!({"action": "hint", "idempotency_key": key}));
        let (status, answer, _) = self.client.send(Method::POST, &self.path, body).await;
        assert!(status == 200 || status == 429, "{status} {answer}");
        let details = if status == 200 { &answer } else { details_of(&answer) };
        assert_eq!(details["limit"], LIMIT, "{answer}");
        let date = details["date"].as_str().unwrap().to_owned();
        Taken { key: key.to_owned(), is_allowed: status == 200, date }
    }
}

/// A refusal has the fields of a grant, wherever its form of an error puts them.
fn details_of(answer: &Value) -> &Value {
    if answer["limit"].is_u64() { answer } else { &answer["details"] }
}

/// Not a test: what the processes of users do.
#[test]
#[ignore = "a process of the tests here"]
fn the_process_of_users() {
    let plan: Plan = process::plan();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for number in plan.keys.clone() {
            let client = Client::new(&plan.address_files, 0);
            let path = format!("{PRACTICE}/users/{}/usage", plan.user);
            let taker = Taker { client, path };
            match plan.until_after.clone() {
                None => tasks.spawn(repeat(taker, number)),
                Some(date) => tasks.spawn(take_until(taker, number, date)),
            };
        }
        tasks.join_all().await;
    });
    print_line("end");
}

/// One request, sent again after its answer: what was allowed stays allowed.
async fn repeat(mut taker: Taker, number: usize) {
    let key = format!("key-{number}");
    let first = taker.take(&key).await;
    for _ in 0..REPEATS {
        let again = taker.take(&key).await;
        assert!(!first.is_allowed || again == first, "{first:?}, then {again:?}");
    }
    print_line(&serde_json::to_string(&first).unwrap());
}

/// Requests until one is refused on a later day than `date`.
async fn take_until(mut taker: Taker, number: usize, date: String) {
    for attempt in 0.. {
        let taken = taker.take(&format!("key-{number}-{attempt}")).await;
        print_line(&serde_json::to_string(&taken).unwrap());
        if !taken.is_allowed && taken.date > date {
            return;
        }
    }
}

/// Starts all processes, and lets `meanwhile` happen until they have ended.
fn run(
    ground: &mut Ground,
    user: &str,
    until_after: Option<String>,
    mut meanwhile: impl FnMut(&mut Ground),
) -> BTreeSet<Taken> {
    let share = REQUESTS / PROCESSES;
    let mut processes: Vec<Process> = (0..PROCESSES)
        .map(|number| {
            let keys = number * share..(number + 1) * share;
            let (address_files, user) = (address_files_of(ground, number), user.to_owned());
            let plan = Plan { address_files, user, keys, until_after: until_after.clone() };
            Process::start(CHILD, &plan)
        })
        .collect();
    while !processes.iter_mut().all(Process::has_ended) {
        meanwhile(ground);
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut taken = BTreeSet::new();
    for process in processes {
        let mut lines = process.end();
        assert_eq!(lines.pop().as_deref(), Some("end"), "a process of users failed");
        taken.extend(lines.iter().map(|line| serde_json::from_str::<Taken>(line).unwrap()));
    }
    taken
}

/// How many distinct requests were allowed on each day.
fn allowed(taken: &BTreeSet<Taken>) -> BTreeMap<String, u64> {
    let mut days = BTreeMap::new();
    for taken in taken.iter().filter(|taken| taken.is_allowed) {
        *days.entry(taken.date.clone()).or_default() += 1;
    }
    days
}

fn count(ground: &Ground, user: &str, query: &str) -> (String, u64) {
    let usage = call(ground, Method::GET, &format!("/users/{user}/usage{query}"), None);
    let actions = usage["actions"].as_array().unwrap();
    let hints = actions.iter().find(|one| one["action"] == "hint").unwrap();
    (usage["date"].as_str().unwrap().to_owned(), hints["count"].as_u64().unwrap())
}

/// The counter of a day, its log and a recount say the same.
fn check_day(ground: &Ground, user: &str, date: &str, expected: u64) {
    let counted = count(ground, user, &format!("?date={date}"));
    assert_eq!(counted, (date.to_owned(), expected));
    let log = list(ground, &format!("/users/{user}/usage/log?date={date}"));
    assert_eq!(log.len() as u64, expected);
    let recount = json!({"date": date});
    let recount =
        call(ground, Method::POST, &format!("/users/{user}/usage/recount"), Some(&recount));
    assert_eq!(recount["differences"], json!([]), "{recount}");
}

fn check(ground: &Ground, user: &str, taken: &BTreeSet<Taken>) {
    let days = allowed(taken);
    assert_eq!(days.len(), 1, "midnight came between: {days:?}");
    for (date, allowed) in days {
        assert_eq!(allowed, LIMIT);
        check_day(ground, user, &date, LIMIT);
    }
}

/// Keeps the servers' clocks at noon, so that no run meets midnight by chance.
fn noon(ground: &mut Ground) -> i64 {
    let now_s = i64::try_from(weir_table::clock::Clock::System.now_ms() / 1000).unwrap();
    let ahead_s = DAY_S + DAY_S / 2 - now_s % DAY_S;
    ground.take_clock(ahead_s);
    ahead_s
}

fn exactly(ground: &mut Ground, kills: Kills) {
    noon(ground);
    let user = sign_up(ground, LIMIT);
    let mut left = if kills == Kills::Some { 4 } else { 0 };
    let taken = run(ground, &user, None, |ground| {
        if left > 0 {
            left -= 1;
            ground.restart(fastrand::usize(..ground.servers()));
        }
    });
    eprintln!(
        "{REQUESTS} requests, each sent {} times: {:?} allowed",
        1 + REPEATS,
        allowed(&taken)
    );
    check(ground, &user, &taken);
}

fn across_midnight(ground: &mut Ground) {
    let ahead_s = noon(ground);
    let user = sign_up(ground, LIMIT);
    let (today, _) = count(ground, &user, "");
    let mut has_moved = false;
    let taken = run(ground, &user, Some(today.clone()), |ground| {
        if !has_moved && count(ground, &user, &format!("?date={today}")).1 > LIMIT / 2 {
            ground.set_clock(ahead_s + DAY_S);
            has_moved = true;
        }
    });
    let days = allowed(&taken);
    let (first, second) = (days[&today], days.iter().next_back().unwrap());
    eprintln!("{} requests over midnight: {days:?} allowed", taken.len());
    assert_eq!((days.len(), *second.1), (2, LIMIT));
    assert!(first > LIMIT / 2 && first <= LIMIT, "{days:?}");
    check_day(ground, &user, &today, first);
    check_day(ground, &user, second.0, LIMIT);
    // What was allowed yesterday is answered alike today.
    let old = taken.iter().find(|taken| taken.is_allowed && taken.date == today).unwrap();
    assert_eq!(&take(ground, &user, &old.key), old);
    // A clock that jumps back does not open yesterday again.
    ground.take_clock(ahead_s);
    let late = take(ground, &user, "late");
    assert_eq!((late.is_allowed, &late.date), (false, second.0));
    check_day(ground, &user, &today, first);
    check_day(ground, &user, second.0, LIMIT);
}

fn take(ground: &Ground, user: &str, key: &str) -> Taken {
    let client = Client::new(&ground.address_files(), 0);
    let mut taker = Taker { client, path: format!("{PRACTICE}/users/{user}/usage") };
    ground.runtime.block_on(taker.take(key))
}

#[test]
fn exactly_the_limit_is_allowed_embedded() {
    exactly(&mut Ground::embedded(), Kills::None);
}

#[test]
fn exactly_the_limit_is_allowed_through_kills_embedded() {
    exactly(&mut Ground::embedded(), Kills::Some);
}

#[test]
fn exactly_the_limit_is_allowed_dynamodb_local() {
    exactly(&mut Ground::dynamodb_local_with(2, ""), Kills::None);
}

#[test]
fn exactly_the_limit_is_allowed_through_kills_dynamodb_local() {
    exactly(&mut Ground::dynamodb_local_with(2, ""), Kills::Some);
}

#[test]
fn exactly_the_limit_is_allowed_across_midnight_embedded() {
    across_midnight(&mut Ground::embedded());
}

#[test]
fn exactly_the_limit_is_allowed_across_midnight_dynamodb_local() {
    across_midnight(&mut Ground::dynamodb_local_with(2, ""));
}
