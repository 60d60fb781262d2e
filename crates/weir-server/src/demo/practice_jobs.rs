//! Jobs of the demo: scripts that make test cases, and problems read from their pages. One of them is always under way.

use weir_framework::jobs::Result;
use weir_practice::Practice;
use weir_practice::ids::{Platform, ProblemId, Tag, WorkerId};
use weir_practice::jobs::{Claim, Claimed, Completion, JobFields, JobRef, NewJob, NewStep};
use weir_practice::kinds::{JobType, StepStatus};
use weir_table::AnyBackend;

use super::practice::{ProblemSpec, problem_ref};

const OPERATOR: &str = "ruth.adeyemi";
const WORKER: &str = "worker-1@demo";
const LEASE_MS: i64 = 120_000;
/// Hours between two jobs of the history.
const EVERY_HOURS: u64 = 9;
/// The steps of a job.
const STEPS: [(&str, &str); 6] = [
    ("read", "Reading the problem and its constraints"),
    ("plan", "Choosing sizes and edge cases"),
    ("generate", "Writing the generator"),
    ("run", "Running the generator"),
    ("solve", "Running the solution on every input"),
    ("check", "Comparing with the samples"),
];
/// How often the worker reports a step, so that a person can follow it.
const REPORTS_PER_STEP: u64 = 5;
const GENERATOR: &str = "import random\n\ndef generate(seed):\n    random.seed(seed)\n    return f\"{random.randint(1, 10**5)}\\n\"\n";

/// The queue and the worker.
pub(super) struct JobsDemo {
    practice: Practice<AnyBackend>,
    random: fastrand::Rng,
    /// The job under way, and how many reports it has.
    current: Option<(Claimed, u64)>,
}

impl JobsDemo {
    pub(super) fn new(practice: &Practice<AnyBackend>, random: fastrand::Rng) -> JobsDemo {
        JobsDemo { practice: practice.clone(), random, current: None }
    }

    /// Every few hours a job is submitted and done.
    pub(super) async fn hour(&mut self, hour: u64, problems: &[ProblemSpec]) -> Result<()> {
        if !hour.is_multiple_of(EVERY_HOURS) {
            return Ok(());
        }
        let job = self.submit(problems).await?;
        match hour / EVERY_HOURS % 11 {
            4 => {
                self.practice.cancel_job(&job, OPERATOR).await?;
                Ok(())
            }
            7 => self.fail(&job).await,
            _ => self.complete(&job, problems).await,
        }
    }

    /// Leaves a job in every state.
    pub(super) async fn finish(&mut self, problems: &[ProblemSpec]) -> Result<()> {
        let cancelled = self.submit(problems).await?;
        self.practice.cancel_job(&cancelled, OPERATOR).await?;
        let failed = self.submit(problems).await?;
        self.fail(&failed).await?;
        for _ in 0..3 {
            self.submit(problems).await?;
        }
        Ok(())
    }

    /// Goes on with the job under way by one report, or begins the next.
    pub(super) async fn work(&mut self, problems: &[ProblemSpec]) -> Result<()> {
        let Some((claimed, reports)) = self.current.take() else {
            return self.begin(problems).await;
        };
        let job = &claimed.job.summary.job;
        let step = usize::try_from(reports / REPORTS_PER_STEP)?;
        let Some((name, message)) = STEPS.get(step) else {
            let completion = completion(job, problems, &mut self.random)?;
            self.practice.complete_job(job, claimed.lease.fence, &completion).await?;
            return Ok(());
        };
        let part = reports % REPORTS_PER_STEP;
        let status = match part {
            0 => StepStatus::Started,
            part if part + 1 == REPORTS_PER_STEP => StepStatus::Completed,
            _ => StepStatus::InProgress,
        };
        let percent = part * 100 / (REPORTS_PER_STEP - 1);
        let step = new_step(name, &format!("{message}: {percent} %"), status);
        self.practice.report_progress(job, claimed.lease.fence, &step).await?;
        self.current = Some((claimed, reports + 1));
        Ok(())
    }

    /// Claims the next job, of which there are always some.
    async fn begin(&mut self, problems: &[ProblemSpec]) -> Result<()> {
        self.submit(problems).await?;
        let job_type =
            if self.random.bool() { JobType::ScriptGeneration } else { JobType::ProblemExtraction };
        let claimed = self.practice.claim_next_job(job_type, &claim()?).await?;
        self.current = claimed.map(|claimed| (claimed, 0));
        Ok(())
    }

    async fn submit(&mut self, problems: &[ProblemSpec]) -> Result<JobRef> {
        let Some((platform, id, title, tags, _)) = self.random.choice(problems) else {
            return Err(weir_framework::jobs::Failure::new("the demo has no problems"));
        };
        let is_script = self.random.u64(0..10) < 7;
        let new = if is_script {
            let tags: std::result::Result<_, _> = tags.iter().map(Tag::new).collect();
            NewJob {
                fields: JobFields {
                    platform: Some(Platform::new(platform)?),
                    problem_id: Some(ProblemId::new(id)?),
                    title: Some(title.clone()),
                    tags: tags?,
                    language: Some("python".to_owned()),
                    ..JobFields::default()
                },
                solution_code: Some("print(solve(input()))\n".to_owned()),
                constraints: Some("1 <= n <= 100000".to_owned()),
                ..NewJob::default()
            }
        } else {
            let url = format!("https://problems.example/{platform}/{id}");
            let fields = JobFields { problem_url: Some(url), ..JobFields::default() };
            NewJob { fields, ..NewJob::default() }
        };
        let job_type =
            if is_script { JobType::ScriptGeneration } else { JobType::ProblemExtraction };
        Ok(self.practice.submit_job(job_type, &new).await?.job.summary.job)
    }

    async fn complete(&mut self, job: &JobRef, problems: &[ProblemSpec]) -> Result<()> {
        let claimed = self.practice.claim_job(job, &claim()?).await?;
        for (name, message) in STEPS.iter().take(4) {
            let step = new_step(name, message, StepStatus::Completed);
            self.practice.report_progress(job, claimed.lease.fence, &step).await?;
        }
        let completion = completion(job, problems, &mut self.random)?;
        self.practice.complete_job(job, claimed.lease.fence, &completion).await?;
        Ok(())
    }

    async fn fail(&self, job: &JobRef) -> Result<()> {
        let claimed = self.practice.claim_job(job, &claim()?).await?;
        let step = new_step("run", "The generator did not end in time", StepStatus::Failed);
        self.practice.report_progress(job, claimed.lease.fence, &step).await?;
        let message = "the generator ran longer than 10 s on input 4 of 20";
        self.practice.fail_job(job, claimed.lease.fence, message).await?;
        Ok(())
    }
}

fn claim() -> Result<Claim> {
    Ok(Claim { worker: WorkerId::new(WORKER)?, lease_ms: Some(LEASE_MS) })
}

fn new_step(step: &str, message: &str, status: StepStatus) -> NewStep {
    NewStep { step: step.to_owned(), message: message.to_owned(), status }
}

/// The result of a job of this type.
fn completion(
    job: &JobRef,
    problems: &[ProblemSpec],
    random: &mut fastrand::Rng,
) -> Result<Completion> {
    if job.job_type == JobType::ScriptGeneration {
        let generator_code = Some(GENERATOR.to_owned());
        return Ok(Completion { generator_code, ..Completion::default() });
    }
    let problem = random.choice(problems).map(problem_ref).transpose()?;
    Ok(Completion { problem, ..Completion::default() })
}
