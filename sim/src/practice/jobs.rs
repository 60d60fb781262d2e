//! Requests about jobs: workers that work, die, and come back late; administrators who cancel and retry.

use weir_practice::ids::{JobId, Platform, ProblemId, WorkerId};
use weir_practice::jobs::{Claim, Completion, JobFields, JobRef, NewJob, NewStep};
use weir_practice::kinds::{JobStatus, StepStatus};

use super::{Op, Outcome, SCRIPT, Simulation, Worker};
use crate::check::Violation;
use crate::run::Simulated as _;

/// The longest lease of a worker.
const LEASE_MS: i64 = 60_000;
/// Jobs that are under way at once.
const JOBS_MAX: usize = 4;
/// Workers that may still report.
const WORKERS_MAX: usize = 8;

impl Simulation {
    pub(super) async fn submit(&mut self, instance: usize) -> Result<(), Violation> {
        if self.open_jobs() >= JOBS_MAX {
            return Ok(());
        }
        let is_again = self.next_job > 1 && self.run.random.percent(20);
        let number = if is_again { self.next_job - 1 } else { self.next_job };
        self.next_job = self.next_job.max(number + 1);
        let id = JobId::new(number.to_string()).expect("an id");
        let fields = JobFields {
            platform: Some(Platform::new("sim").expect("a platform")),
            problem_id: Some(ProblemId::new("1").expect("an id")),
            title: Some("A+B".to_owned()),
            ..JobFields::default()
        };
        let new = NewJob { id: Some(id.clone()), fields, ..NewJob::default() };
        self.say_start(instance, format_args!("job {id} is submitted"));
        let practice = self.instances[instance].clone();
        let work = Box::pin(async move {
            Outcome::Changed(practice.submit_job(SCRIPT, &new).await.map(|_| ()))
        });
        self.start(instance, Op::Submit, work).await
    }

    /// How many jobs have not ended.
    pub(super) fn open_jobs(&self) -> usize {
        let open = [JobStatus::Pending, JobStatus::Processing];
        open.iter().map(|status| self.model.jobs_in(*status)).sum()
    }

    fn any_job(&mut self) -> Option<JobRef> {
        // Jobs that ended long ago are of no interest.
        let newest = self.model.jobs.len().saturating_sub(2 * JOBS_MAX);
        let jobs: Vec<JobRef> = self.model.jobs.keys().skip(newest).cloned().collect();
        (!jobs.is_empty()).then(|| self.run.random.pick(&jobs).clone())
    }

    pub(super) async fn claim(&mut self, instance: usize) -> Result<(), Violation> {
        let job = self.any_job().filter(|_| self.run.random.percent(60));
        self.claim_one(instance, job).await
    }

    async fn claim_one(&mut self, instance: usize, job: Option<JobRef>) -> Result<(), Violation> {
        let lease_ms = *self.run.random.pick(&[Some(1_000), Some(10_000), None]);
        let worker = WorkerId::new(format!("w{}", self.run.next_task)).expect("an id");
        let claim = Claim { worker, lease_ms };
        self.say_start(instance, format_args!("{} claims {job:?}", claim.worker));
        let practice = self.instances[instance].clone();
        let work = Box::pin(async move {
            Outcome::Claimed(Box::new(match job {
                Some(job) => practice.claim_job(&job, &claim).await.map(Some),
                None => practice.claim_next_job(SCRIPT, &claim).await,
            }))
        });
        self.start(instance, Op::Claim { took: None }, work).await
    }

    pub(super) async fn observe(&mut self, instance: usize) -> Result<(), Violation> {
        self.say_start(instance, format_args!("leases are observed"));
        let practice = self.instances[instance].clone();
        let work =
            Box::pin(
                async move { Outcome::Changed(practice.observe_leases(SCRIPT).await.map(|_| ())) },
            );
        self.start(instance, Op::Observe, work).await
    }

    /// An instance watches a lease until it is over, and claims the job. Its worker may come back at the same moment.
    pub(super) async fn outlive(&mut self, instance: usize) -> Result<(), Violation> {
        let Some(job) = self.any_job() else { return Ok(()) };
        if self.model.jobs[&job].status != JobStatus::Processing {
            return Ok(());
        }
        for _ in 0..3 {
            let count = self.run.tasks.len();
            self.observe(instance).await?;
            while self.run.tasks.len() > count {
                self.go_on(count).await?;
            }
            let ms = self.run.random.number(LEASE_MS / 2..=LEASE_MS);
            self.run.pass(ms, |op| matches!(op, Op::ResetDay));
        }
        self.claim_one(instance, Some(job.clone())).await?;
        match self.workers.iter().position(|worker| worker.job == job) {
            Some(worker) if self.run.random.percent(50) => {
                let instance = self.run.random.index(self.instances.len());
                self.end(instance, worker).await
            }
            _ => Ok(()),
        }
    }

    /// Remembers a worker that has claimed a job.
    pub(super) fn hire(&mut self, worker: Worker) {
        if self.workers.len() == WORKERS_MAX {
            self.workers.swap_remove(self.run.random.index(WORKERS_MAX));
        }
        self.workers.push(worker);
    }

    /// A worker reports, in time or late, or dies. One that has ended its job may do so again.
    pub(super) async fn work(&mut self, instance: usize) -> Result<(), Violation> {
        if self.workers.is_empty() {
            return Ok(());
        }
        let index = self.run.random.index(self.workers.len());
        let Worker { job, fence } = self.workers[index].clone();
        let practice = self.instances[instance].clone();
        match self.run.random.number(0..=9) {
            0..=3 => {
                let is_step = self.run.random.percent(40);
                self.say_start(instance, format_args!("{fence} of {job} lives: {is_step}"));
                let op = Op::Beat { job: job.clone(), fence };
                let work = Box::pin(async move {
                    Outcome::Changed(match is_step {
                        true => practice.report_progress(&job, fence, &step()).await.map(|_| ()),
                        false => practice.heartbeat_job(&job, fence, None).await.map(|_| ()),
                    })
                });
                self.start(instance, op, work).await
            }
            4..=7 => self.end(instance, index).await,
            _ => {
                self.workers.swap_remove(index);
                self.run.trace.say(format_args!("{fence} of {job} dies"));
                Ok(())
            }
        }
    }

    async fn end(&mut self, instance: usize, worker: usize) -> Result<(), Violation> {
        let Worker { job, fence } = self.workers[worker].clone();
        let completes = self.run.random.percent(60);
        if self.run.random.percent(60) {
            self.workers.swap_remove(worker);
        }
        self.say_start(instance, format_args!("{fence} ends {job}: {completes}"));
        let op = Op::End { job: job.clone(), fence, completes };
        let code = Some("print(2)".to_owned());
        let completion = Completion { generator_code: code, problem: None };
        let practice = self.instances[instance].clone();
        let work = Box::pin(async move {
            Outcome::Ended(Box::new(match completes {
                true => practice.complete_job(&job, fence, &completion).await,
                false => practice.fail_job(&job, fence, "it broke").await,
            }))
        });
        self.start(instance, op, work).await
    }

    pub(super) async fn administer(&mut self, instance: usize) -> Result<(), Violation> {
        let Some(job) = self.any_job() else { return Ok(()) };
        let is_retry = self.run.random.percent(70);
        self.say_start(instance, format_args!("{job} is administered, retry: {is_retry}"));
        let op = if is_retry { Op::Retry } else { Op::Cancel };
        let practice = self.instances[instance].clone();
        let work = Box::pin(async move {
            Outcome::Ended(Box::new(match is_retry {
                true => practice.retry_job(&job, "sim").await,
                false => practice.cancel_job(&job, "sim").await,
            }))
        });
        self.start(instance, op, work).await
    }
}

fn step() -> NewStep {
    let (step, message) = ("parse".to_owned(), "goes on".to_owned());
    NewStep { step, message, status: StepStatus::InProgress }
}
