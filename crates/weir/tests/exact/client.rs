//! A process of clients: tasks that take tokens as fast as they are answered, each with a connection of its own.
//!
//! Grants and losses are printed line by line as they happen, so that they are known when the process is killed; a task has
//! one request under way at most. The other counts are printed at the end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use weir_table::clock::Clock;

use crate::ground::RESOURCE;
use crate::lease_client;
use crate::process::{plan, print_line};
use crate::wire::{Answer, Wire};

/// The longest pause of a client that was refused, or whose server is gone.
const PAUSE_MAX_MS: u64 = 10;

/// What a process of clients does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Files with the addresses of servers.
    pub(crate) address_files: Vec<PathBuf>,
    /// The one it goes to.
    pub(crate) server_index: usize,
    pub(crate) tasks: usize,
    pub(crate) span: Duration,
    pub(crate) work: Work,
    /// Whose tokens are taken: each task has one of them.
    pub(crate) entities: Vec<String>,
    /// What one acquire takes.
    pub(crate) consume: Value,
}

/// What its tasks do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Work {
    /// They take.
    Take,
    /// They take, and settle what they took in all ways there are.
    Lease,
}

/// What happened to the requests of a process, grants aside.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) refused: u64,
    /// When the last request that was refused had not been sent yet.
    pub(crate) last_refusal_ms: i64,
    /// Refused because too many wrote at once: nothing was taken.
    pub(crate) contended: u64,
    /// Settles that were answered, repeats included.
    pub(crate) settles: u64,
    /// Answers that nobody expects.
    pub(crate) odd: Vec<String>,
}

impl Counts {
    pub(crate) fn add(&mut self, other: Counts) {
        self.refused += other.refused;
        self.last_refusal_ms = self.last_refusal_ms.max(other.last_refusal_ms);
        self.contended += other.contended;
        self.settles += other.settles;
        self.odd.extend(other.odd);
    }
}

#[test]
#[ignore = "not a test of its own: the others start it as a process"]
fn the_process_of_clients() {
    let plan = Arc::new(plan::<Plan>());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let all = runtime.block_on(async {
        let tasks: Vec<_> = (0..plan.tasks)
            .map(|number| tokio::spawn(Task::new(Arc::clone(&plan), number).run()))
            .collect();
        let mut all = Counts::default();
        for task in tasks {
            all.add(task.await.unwrap());
        }
        all
    });
    print_line(&format!("end {}", serde_json::to_string(&all).unwrap()));
}

/// A client.
pub(crate) struct Task {
    pub(crate) plan: Arc<Plan>,
    pub(crate) counts: Counts,
    entity: String,
    server_index: usize,
    wire: Option<Wire>,
}

impl Task {
    fn new(plan: Arc<Plan>, number: usize) -> Task {
        let entity = plan.entities[number % plan.entities.len()].clone();
        Task {
            server_index: plan.server_index,
            entity,
            plan,
            counts: Counts::default(),
            wire: None,
        }
    }

    async fn run(mut self) -> Counts {
        let began = Instant::now();
        while began.elapsed() < self.plan.span {
            let Some(granted) = self.acquire().await else { continue };
            match self.plan.work {
                Work::Take => print_line(&format!("granted {}", self.entity)),
                Work::Lease => {
                    let net = lease_client::settle(&mut self, &granted).await;
                    print_line(&format!("settled {net}"));
                }
            }
        }
        self.counts
    }

    /// Takes; the lease if it was granted.
    async fn acquire(&mut self) -> Option<String> {
        let before_ms = i64::try_from(Clock::System.now_ms()).unwrap();
        let consume = &self.plan.consume;
        let body = json!({"entity": self.entity, "resource": RESOURCE, "consume": consume});
        match self.ask("acquire", None, Some(&body)).await {
            Answer::Response(200, response) if response["degraded"] == false => {
                return Some(response["lease"].as_str().unwrap().to_owned());
            }
            Answer::Response(429, _) => {
                self.counts.refused += 1;
                self.counts.last_refusal_ms = self.counts.last_refusal_ms.max(before_ms);
                pause().await;
            }
            Answer::Response(503, response) if response["details"]["kind"] == "contended" => {
                self.counts.contended += 1;
            }
            // The store did not answer the server, or not in time.
            Answer::Response(408 | 503, _) => print_line("lost unknown"),
            Answer::Lost => print_line("lost unanswered"),
            Answer::Response(status, response) => {
                self.counts.odd.push(format!("{status} {response}"))
            }
            Answer::Unsent => pause().await,
        }
        None
    }

    /// Asks the server, on the connection there is or a new one.
    pub(crate) async fn ask(
        &mut self,
        tail: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Answer {
        let mut wire = match self.wire.take() {
            Some(wire) => wire,
            None => {
                let address =
                    std::fs::read_to_string(&self.plan.address_files[self.server_index]).unwrap();
                let Some(wire) = Wire::connect(&address).await else { return Answer::Unsent };
                wire
            }
        };
        let answer = wire.ask(Method::POST, tail, key, body).await;
        if matches!(answer, Answer::Response(..)) {
            self.wire = Some(wire);
        }
        answer
    }

    /// Goes to the next server, if there are several.
    pub(crate) fn next_server(&mut self) {
        self.server_index = (self.server_index + 1) % self.plan.address_files.len();
        self.wire = None;
    }
}

/// Waits a moment, each client another one.
pub(crate) async fn pause() {
    tokio::time::sleep(Duration::from_millis(fastrand::u64(1..=PAUSE_MAX_MS))).await;
}
