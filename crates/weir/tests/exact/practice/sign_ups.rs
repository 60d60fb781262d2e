//! Many sign up at once with one email address or one Google account: exactly one gets it.

use std::path::PathBuf;

use axum::http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{PRACTICE, address_files_of, call, list};
use crate::ground::{Ground, PROCESSES};
use crate::patient::Client;
use crate::process::{self, Process, print_line};

const CHILD: &str = "practice::sign_ups::the_process_of_newcomers";
/// Requests of all processes at once.
const REQUESTS: usize = 52;

/// One request, sent once: a second try of a request that came through would be refused by the first.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Attempt {
    method: String,
    path: String,
    body: Value,
}

#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    address_files: Vec<PathBuf>,
    attempts: Vec<Attempt>,
}

/// Not a test: what the processes do.
#[test]
#[ignore = "a process of the tests here"]
fn the_process_of_newcomers() {
    let plan: Plan = process::plan();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for attempt in plan.attempts {
            let mut client = Client::new(&plan.address_files, 0);
            tasks.spawn(async move {
                let method = attempt.method.parse::<Method>().unwrap();
                let path = format!("{PRACTICE}{}", attempt.path);
                let body = || Some(attempt.body.clone());
                let (status, answer, _) = client.send(method, &path, body).await;
                assert!(matches!(status, 200 | 201 | 409), "{status} {answer}");
                print_line(&status.to_string());
            });
        }
        tasks.join_all().await;
    });
    print_line("end");
}

/// Sends all at once from several processes; returns how many succeeded.
fn succeeded(ground: &Ground, attempts: &[Attempt]) -> usize {
    let share = attempts.len().div_ceil(PROCESSES);
    let processes: Vec<Process> = attempts
        .chunks(share)
        .enumerate()
        .map(|(number, attempts)| {
            let plan = Plan {
                address_files: address_files_of(ground, number),
                attempts: attempts.to_vec(),
            };
            Process::start(CHILD, &plan)
        })
        .collect();
    let mut statuses = Vec::new();
    for process in processes {
        let mut lines = process.end();
        assert_eq!(lines.pop().as_deref(), Some("end"), "a process failed");
        statuses.extend(lines);
    }
    assert_eq!(statuses.len(), attempts.len());
    statuses.iter().filter(|status| *status != "409").count()
}

fn sign_up(number: usize, email: &str, google_id: &str) -> Attempt {
    let body = json!({"email": email, "name": format!("N. {number}"), "google_id": google_id});
    Attempt { method: "POST".to_owned(), path: "/users".to_owned(), body }
}

fn one_each(ground: &Ground) {
    let mixed = |number: usize| {
        if number.is_multiple_of(2) { "Ann@Example.com" } else { "ann@example.com" }
    };
    let one_email: Vec<Attempt> =
        (0..REQUESTS).map(|n| sign_up(n, mixed(n), &format!("10{n:04}"))).collect();
    assert_eq!(succeeded(ground, &one_email), 1);
    assert_eq!(list(ground, "/users?email=ann@example.com").len(), 1);
    assert_eq!(list(ground, "/users").len(), 1, "the others left nothing");

    let one_google: Vec<Attempt> =
        (0..REQUESTS).map(|n| sign_up(n, &format!("u{n}@example.com"), "777")).collect();
    assert_eq!(succeeded(ground, &one_google), 1);
    assert_eq!(list(ground, "/users?google_id=777").len(), 1);
    assert_eq!(list(ground, "/users").len(), 2);

    // Half of them want to sign up with an address, the others change theirs to it.
    let change = |number: usize| {
        let user = json!({"email": format!("old{number}@example.com"), "name": "Old"});
        let user = call(ground, Method::POST, "/users", Some(&user));
        let path = format!("/users/{}", user["id"].as_str().unwrap());
        let body = json!({"email": "wanted@example.com"});
        Attempt { method: "PATCH".to_owned(), path, body }
    };
    let wanted: Vec<Attempt> = (0..REQUESTS)
        .map(|number| match number % 2 {
            0 => change(number),
            _ => sign_up(number, "wanted@example.com", &format!("20{number:04}")),
        })
        .collect();
    assert_eq!(succeeded(ground, &wanted), 1);
    let owners = list(ground, "/users");
    let owners: Vec<&Value> =
        owners.iter().filter(|user| user["email"] == "wanted@example.com").collect();
    assert_eq!(owners.len(), 1);
    let found = list(ground, "/users?email=wanted@example.com");
    assert_eq!(found, [owners[0].clone()]);
}

#[test]
fn one_of_many_gets_an_email_or_google_id_embedded() {
    one_each(&Ground::embedded());
}

#[test]
fn one_of_many_gets_an_email_or_google_id_dynamodb_local() {
    one_each(&Ground::dynamodb_local_with(2, ""));
}
