//! Jobs and workers for scenarios.

use std::sync::Arc;

use weir_practice::ids::{JobId, Platform, ProblemId, Tag, WorkerId};
use weir_practice::jobs::{Claim, Completion, JobFields, JobRef, NewJob, NewStep};
use weir_practice::keys::{GSI2, List};
use weir_practice::kinds::{JobStatus, JobType, StepStatus};
use weir_practice::objects::Objects;
use weir_practice::{Practice, Settings};
use weir_table::clock::Clock;
use weir_table::{Query, Write};
use weir_testkit::eventually_eq;

use crate::scene::{MORNING_MS, Scene, Watched};

pub(crate) const SCRIPT: JobType = JobType::ScriptGeneration;
pub(super) const EXTRACTION: JobType = JobType::ProblemExtraction;
/// Length of a lease in scenarios: the default.
pub(super) const LEASE_MS: u64 = 60_000;
pub(super) const YEAR_MS: i64 = 365 * 86_400_000;

pub(crate) fn script(id: &str) -> JobRef {
    JobRef { job_type: SCRIPT, id: JobId::new(id).unwrap() }
}

pub(crate) fn new_script(id: &str) -> NewJob {
    let fields = JobFields {
        platform: Some(Platform::new("baekjoon").unwrap()),
        problem_id: Some(ProblemId::new("1000").unwrap()),
        title: Some("A+B".to_owned()),
        tags: vec![Tag::new("math").unwrap()],
        language: Some("python".to_owned()),
        ..JobFields::default()
    };
    NewJob {
        id: Some(JobId::new(id).unwrap()),
        fields,
        solution_code: Some("print(sum(map(int, input().split())))\n".repeat(200)),
        ..NewJob::default()
    }
}

pub(super) fn new_extraction() -> NewJob {
    let problem_url = Some("https://www.acmicpc.net/problem/1000".to_owned());
    NewJob { fields: JobFields { problem_url, ..JobFields::default() }, ..NewJob::default() }
}

pub(crate) fn worker(name: &str) -> Claim {
    Claim { worker: WorkerId::new(name).unwrap(), lease_ms: None }
}

pub(crate) fn generated() -> Completion {
    Completion { generator_code: Some("print(1, 2)".to_owned()), problem: None }
}

pub(crate) fn step(name: &str) -> NewStep {
    NewStep {
        step: name.to_owned(),
        message: format!("{name} goes on"),
        status: StepStatus::InProgress,
    }
}

impl Scene {
    pub(super) async fn submit(&self, id: &str) -> JobRef {
        self.practice.submit_job(SCRIPT, &new_script(id)).await.unwrap();
        script(id)
    }

    /// Changes the status as the program of the source does: of the item alone.
    pub(super) async fn set_status(&self, job: &JobRef, status: JobStatus) {
        let key = weir_practice::keys::job(job.job_type, &job.id);
        let update = weir_table::expr::set(weir_practice::item::field("sts"), status.as_str());
        let table = self.practice.table().clone();
        self.store.write(Write::update(table, key, update)).await.unwrap();
    }

    /// Another process on the same table, whose clock differs by so much.
    pub(super) fn process(&self, differs_ms: i64) -> (Practice<Watched>, Clock) {
        self.process_with(differs_ms, Settings::default())
    }

    /// The same, with settings of its own.
    pub(super) fn process_with(
        &self,
        differs_ms: i64,
        settings: Settings,
    ) -> (Practice<Watched>, Clock) {
        let clock = Clock::manual(MORNING_MS.checked_add_signed(differs_ms).unwrap());
        let (store, none) = (self.store.clone(), Objects::unavailable());
        (Practice::new(store, none, clock.clone(), settings).unwrap(), clock)
    }

    /// Waits until a list has so many entries.
    pub(super) async fn listed(&self, list: List, count: usize) {
        let partition = list.partition();
        let query = Query::partition(self.practice.table().clone(), partition).index(GSI2);
        eventually_eq(count, async || self.all(query.clone()).await.len()).await;
    }

    pub(super) async fn status(&self, job: &JobRef) -> JobStatus {
        self.practice.job(job).await.unwrap().summary.status
    }

    /// Every item of the table but the plans, which are there from the start.
    pub(super) async fn items(&self) -> usize {
        let items = self.all(Query::scan(self.practice.table().clone())).await;
        items.iter().filter(|item| !item.s("PK").unwrap().starts_with("PLAN")).count()
    }

    pub(super) async fn put_one(&self, item: weir_table::Item) {
        let write = Write::put(self.practice.table().clone(), item);
        assert!(self.practice.write(write).await.unwrap().is_applied());
    }
}

/// Runs a function so many times at once.
pub(super) async fn at_once<T, F>(count: usize, run: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let start = Arc::new(tokio::sync::Barrier::new(count));
    let tasks: Vec<_> = (0..count)
        .map(|number| {
            let (start, run) = (Arc::clone(&start), run(number));
            tokio::spawn(async move {
                start.wait().await;
                run.await
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await.unwrap());
    }
    all
}
