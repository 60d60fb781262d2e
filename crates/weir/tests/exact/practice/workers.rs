//! Workers and servers are killed, and every job is completed exactly once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{PRACTICE, address_files_of, call, list};
use crate::ground::{Ground, PROCESSES};
use crate::patient::Client;
use crate::process::{self, Process, print_line};

const CHILD: &str = "practice::workers::the_process_of_a_worker";
const JOBS: usize = 40;
/// How often a worker is killed, and a server.
const KILLS: usize = 8;
const LEASE_MS: i64 = 1_000;
/// No job fails because too many of its workers were killed.
const CONFIG: &str = "[practice]\njob_attempts_max = 100\n";

/// What a process of a worker is to do.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    address_files: Vec<PathBuf>,
    worker: String,
}

/// What a worker was answered.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    Claimed(String, u64),
    Completed(String, u64),
    Lost(String, u64),
}

/// Not a test: what the processes of workers do.
#[test]
#[ignore = "a process of the tests here"]
fn the_process_of_a_worker() {
    let plan: Plan = process::plan();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work(Client::new(&plan.address_files, 0), &plan.worker));
    print_line("end");
}

/// Claims and completes jobs until all are completed.
async fn work(mut client: Client, worker: &str) {
    let say = |said: Said| print_line(&serde_json::to_string(&said).unwrap());
    let jobs = format!("{PRACTICE}/jobs/script-generation");
    let claim = || Some(json!({"worker_id": worker, "lease_ms": LEASE_MS}));
    loop {
        let (status, claimed, _) =
            client.send(Method::POST, &format!("{jobs}/claim-next"), claim).await;
        if status == 204 {
            let (_, done) = client.get(&format!("{jobs}?status=COMPLETED&limit=100")).await;
            if done["items"].as_array().unwrap().len() == JOBS {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        }
        assert_eq!(status, 200, "{claimed}");
        let id = claimed["job"]["id"].as_str().unwrap().to_owned();
        let fence = claimed["fence"].as_u64().unwrap();
        say(Said::Claimed(id.clone(), fence));
        tokio::time::sleep(Duration::from_millis(fastrand::u64(0..100))).await;
        let done = || Some(json!({"fence": fence, "generator_code": format!("print({fence})")}));
        let path = format!("{jobs}/{id}/complete");
        let (status, answer, _) = client.send(Method::POST, &path, done).await;
        match status {
            200 => say(Said::Completed(id, fence)),
            409 => say(Said::Lost(id, fence)),
            _ => panic!("{status} {answer}"),
        }
    }
}

fn submit(ground: &Ground) {
    for number in 0..JOBS {
        let job = json!({"job_id": format!("job-{number}"), "platform": "baekjoon",
            "problem_id": "1000", "title": "A+B", "language": "python"});
        call(ground, Method::POST, "/jobs/script-generation", Some(&job));
    }
}

fn start(ground: &Ground, number: usize) -> Process {
    let (address_files, worker) = (address_files_of(ground, number), format!("worker-{number}"));
    Process::start(CHILD, &Plan { address_files, worker })
}

fn complete_all(ground: &mut Ground) {
    submit(ground);
    let mut workers: Vec<Process> = (0..PROCESSES).map(|number| start(ground, number)).collect();
    let (mut dead, mut started) = (Vec::new(), PROCESSES);
    for kill in 0..KILLS {
        std::thread::sleep(Duration::from_millis(fastrand::u64(100..600)));
        let mut worker = std::mem::replace(&mut workers[kill % PROCESSES], start(ground, started));
        started += 1;
        worker.kill();
        dead.push(worker);
        if kill.is_multiple_of(2) {
            ground.restart(kill / 2 % ground.servers());
        }
    }
    let mut said = Vec::new();
    for worker in workers {
        let mut lines = worker.end();
        assert_eq!(lines.pop().as_deref(), Some("end"), "a worker failed");
        said.extend(lines);
    }
    said.extend(dead.into_iter().flat_map(Process::end));
    said.retain(|line| line != "end");
    check(ground, &said.iter().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>());
}

/// Each job was completed by its last claim, and no claim happened twice.
fn check(ground: &Ground, said: &[Said]) {
    let (mut claims, mut completed) = (BTreeMap::new(), BTreeMap::new());
    let mut lost = 0;
    for said in said {
        match said {
            Said::Claimed(job, fence) => {
                let times = claims.entry((job.clone(), *fence)).or_insert(0);
                *times += 1;
                assert_eq!(*times, 1, "{job} was claimed twice with {fence}");
            }
            Said::Completed(job, fence) => {
                assert_eq!(completed.insert(job.clone(), *fence), None, "{job} twice");
            }
            Said::Lost(..) => lost += 1,
        }
    }
    let jobs: Vec<Value> = list(ground, "/jobs/script-generation?status=COMPLETED");
    assert_eq!(jobs.len(), JOBS);
    for job in &jobs {
        let id = job["id"].as_str().unwrap();
        let whole = call(ground, Method::GET, &format!("/jobs/script-generation/{id}"), None);
        let fence = whole["attempts"].as_u64().unwrap();
        assert_eq!(whole["generator_code"], format!("print({fence})"), "{whole}");
        if let Some(acknowledged) = completed.get(id) {
            assert_eq!(*acknowledged, fence, "{id}");
        }
    }
    for status in ["PENDING", "PROCESSING", "FAILED"] {
        assert_eq!(list(ground, &format!("/jobs/script-generation?status={status}")).len(), 0);
    }
    eprintln!(
        "{JOBS} jobs, {} claims and {lost} late completions refused; {KILLS} workers were killed",
        claims.len()
    );
}

#[test]
fn every_job_is_completed_once_embedded() {
    complete_all(&mut Ground::embedded_with(CONFIG));
}

#[test]
fn every_job_is_completed_once_dynamodb_local() {
    complete_all(&mut Ground::dynamodb_local_with(2, CONFIG));
}
