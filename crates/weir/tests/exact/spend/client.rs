//! Processes that submit a load, and do so until each submission is acknowledged.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::load::{Job, Load, Submission};
use crate::client::pause;
use crate::process::{Process, plan, print_line};
use crate::wire::{Answer, Wire};

const CHILD: &str = "spend::client::the_process_that_submits";
/// How many jobs a process that was killed does again though they were done.
const AGAIN: u64 = 5;
/// Of how many submissions one is sent again after it was acknowledged, and one is also another process's.
const AGAIN_EVERY: u64 = 12;

/// What a process submits: every `processes`th job, from `from` on.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Plan {
    load: Load,
    address_files: Vec<PathBuf>,
    process: u64,
    processes: u64,
    /// Connections of the process.
    tasks: usize,
    from: u64,
}

/// What clients met with.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Submissions that were told to be duplicates.
    pub(crate) duplicates: u64,
    /// Requests that were sent again because nobody knew what became of them.
    pub(crate) retries: u64,
    /// Answers that nobody expects.
    pub(crate) odd: Vec<String>,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.duplicates += other.duplicates;
        self.retries += other.retries;
        self.odd.extend(other.odd);
    }
}

#[test]
#[ignore = "not a test of its own: the others start it as a process"]
fn the_process_that_submits() {
    let plan = Arc::new(plan::<Plan>());
    let next = Arc::new(AtomicU64::new(plan.from));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..plan.tasks)
            .map(|number| tokio::spawn(Task::new(&plan, number).run(Arc::clone(&next))))
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    print_line("end");
}

struct Task {
    plan: Arc<Plan>,
    server_index: usize,
    wire: Option<Wire>,
    counts: Counts,
}

impl Task {
    fn new(plan: &Arc<Plan>, number: usize) -> Task {
        let server_index = number % plan.address_files.len();
        Task { plan: Arc::clone(plan), server_index, wire: None, counts: Counts::default() }
    }

    async fn run(mut self, next: Arc<AtomicU64>) {
        loop {
            let own = next.fetch_add(1, Ordering::SeqCst);
            let job = own * self.plan.processes + self.plan.process;
            if job >= self.plan.load.jobs() {
                return;
            }
            match self.plan.load.job(job) {
                Job::Singly(numbers) => self.submit(&numbers).await,
                Job::AtOnce(numbers) => self.submit_batch(&numbers).await,
            }
            let counts = std::mem::take(&mut self.counts);
            print_line(&format!("done {own} {}", serde_json::to_string(&counts).unwrap()));
        }
    }

    async fn submit(&mut self, numbers: &[u64]) {
        for number in numbers {
            let load = &self.plan.load;
            let neighbour = (number + load.count() / 2) % load.count();
            let one = load.submission(*number);
            let again = number.is_multiple_of(AGAIN_EVERY);
            // Another process's: whoever of the two comes first counts it.
            let foreign = (number % AGAIN_EVERY == 7).then(|| load.submission(neighbour));
            self.send(&one, false).await;
            if again {
                self.send(&one, true).await;
            }
            if let Some(foreign) = foreign {
                self.send(&foreign, false).await;
            }
        }
    }

    /// Sends a submission until it is acknowledged. One that was before must be told so.
    async fn send(&mut self, submission: &Submission, before: bool) {
        let (path, body) = (self.plan.load.path(submission), self.plan.load.body(submission));
        let response = self.until(202, &path, &body).await;
        self.check(submission, &response, before);
    }

    /// The same for many at once; those that were not counted are sent again with the others.
    async fn submit_batch(&mut self, numbers: &[u64]) {
        let load = &self.plan.load;
        let all: Vec<Submission> = numbers.iter().map(|number| load.submission(*number)).collect();
        // The first comes twice in the batch.
        let sent = || all.iter().chain(all.first());
        let Some(first) = all.first() else { return };
        let path = format!("{}/batch", load.path(first));
        let bodies: Vec<Value> = sent().map(|one| load.body(one)).collect();
        let body = json!({ "requests": bodies });
        loop {
            let response = self.until(207, &path, &body).await;
            let results = response["results"].as_array().unwrap().clone();
            if response["failed"] == 0 {
                let twice = results.len() - 1;
                for (place, (one, response)) in sent().zip(&results).enumerate() {
                    self.check(one, response, place == twice);
                }
                return;
            }
            let odd = |result: &&Value| {
                result["error"].is_string() && result["error"] != "SERVICE_UNAVAILABLE"
            };
            if let Some(odd) = results.iter().find(odd) {
                self.counts.odd.push(odd.to_string());
                return;
            }
            self.counts.retries += 1;
            pause().await;
        }
    }

    fn check(&mut self, submission: &Submission, response: &Value, before: bool) {
        let is_duplicate = response["duplicate"] == true;
        let cost = &response["processing"]["cost_usd_micros"];
        if *cost != submission.cost() || (before && !is_duplicate) {
            self.counts.odd.push(format!("{submission:?}, again: {before}: {response}"));
        }
        self.counts.duplicates += u64::from(is_duplicate);
    }

    /// Asks until the answer has this status. What nobody knows of is asked again, of another server.
    async fn until(&mut self, status: u16, path: &str, body: &Value) -> Value {
        loop {
            match self.ask(path, body).await {
                Answer::Response(response, answer) if response == status => return answer,
                Answer::Response(503, _) | Answer::Lost => self.counts.retries += 1,
                Answer::Unsent => {}
                Answer::Response(other, answer) => {
                    print_line(&format!("odd {other} {answer}"));
                    panic!("{other} {answer}");
                }
            }
            self.server_index = (self.server_index + 1) % self.plan.address_files.len();
            self.wire = None;
            pause().await;
        }
    }

    async fn ask(&mut self, path: &str, body: &Value) -> Answer {
        let mut wire = match self.wire.take() {
            Some(wire) => wire,
            None => {
                let address =
                    std::fs::read_to_string(&self.plan.address_files[self.server_index]).unwrap();
                let Some(wire) = Wire::connect(&address).await else { return Answer::Unsent };
                wire
            }
        };
        let answer = wire.call(Method::POST, path, None, Some(body)).await;
        if matches!(answer, Answer::Response(..)) {
            self.wire = Some(wire);
        }
        answer
    }
}

/// All processes of a run.
pub(crate) struct Clients {
    members: Vec<Member>,
    counts: Counts,
}

struct Member {
    plan: Plan,
    process: Process,
}

impl Clients {
    pub(crate) fn start(
        load: &Load,
        address_files: Vec<PathBuf>,
        processes: usize,
        tasks: usize,
    ) -> Clients {
        let plan = |process| Plan {
            load: load.clone(),
            address_files: address_files.clone(),
            process,
            processes: processes as u64,
            tasks,
            from: 0,
        };
        let members = (0..processes as u64).map(|process| Member::start(plan(process)));
        Clients { members: members.collect(), counts: Counts::default() }
    }

    /// Whether all have ended.
    pub(crate) fn are_done(&mut self) -> bool {
        self.members.iter_mut().all(|member| member.process.has_ended())
    }

    /// Kills one that has not ended, and starts another that goes on a little before where it was.
    pub(crate) fn kill_one(&mut self) -> bool {
        let running = |member: &mut Member| !member.process.has_ended();
        let Some(place) = self.members.iter_mut().position(running) else { return false };
        let Member { plan, mut process } = self.members.remove(place);
        process.kill();
        let (done, _) = collect(process, &mut self.counts);
        let first_open = (plan.from..).find(|job| !done.contains(job)).unwrap();
        let plan = Plan { from: first_open.saturating_sub(AGAIN), ..plan };
        self.members.push(Member::start(plan));
        true
    }

    /// Waits for all, and adds up what they say.
    pub(crate) fn end(mut self) -> Counts {
        for member in self.members {
            let (_, ended) = collect(member.process, &mut self.counts);
            assert!(ended, "a process of clients failed: {:?}", self.counts);
        }
        self.counts
    }
}

impl Member {
    fn start(plan: Plan) -> Member {
        Member { process: Process::start(CHILD, &plan), plan }
    }
}

/// Waits for the end of a process. Tells which jobs it has done, and whether it did all.
fn collect(process: Process, counts: &mut Counts) -> (BTreeSet<u64>, bool) {
    let (lines, mut done) = (process.end(), BTreeSet::new());
    for line in &lines {
        if let Some((job, response)) = line.strip_prefix("done ").and_then(|it| it.split_once(' '))
        {
            done.insert(job.parse().unwrap());
            counts.add(serde_json::from_str(response).unwrap());
        } else if let Some(odd) = line.strip_prefix("odd ") {
            counts.odd.push(odd.to_owned());
        }
    }
    (done, lines.last().is_some_and(|line| line == "end"))
}
