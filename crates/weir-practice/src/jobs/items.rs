//! The item of a job, as in the source, and the writes that change its status.

use weir_table::expr::Path;
use weir_table::{Backend, Get, Item, Key, Value, Write};

use crate::error::{Error, Result};
use crate::fields::Fields;
use crate::item::{CREATED, Data, TYPE, UPDATED, data, entity, field, list_entry, secs};
use crate::jobs::lease::{self, LeaseItem};
use crate::jobs::{Job, JobFields, JobRef, JobSummary, NewJob};
use crate::keys::{self, List};
use crate::kinds::{JobStatus, JobType};
use crate::list::distinct;
use crate::objects::ObjectOwner;
use crate::practice::Practice;
use crate::spill::Fitted;
use crate::update::{set_field, update_between};

const PLATFORM: &str = "plt";
const PROBLEM_ID: &str = "pno";
const TITLE: &str = "tit";
const URL: &str = "url";
const IDENTIFIER: &str = "pidt";
const TAGS: &str = "tag";
const LANGUAGE: &str = "lng";
const TASK: &str = "tid";
pub(super) const STATUS: &str = "sts";
const ERROR: &str = "err";
const SOLUTION: &str = "sol";
const CONSTRAINTS: &str = "con";
const GENERATOR: &str = "gen";
/// Hash of the submitted request.
pub(super) const REQUEST_HASH: &str = "hash";

/// The fields that may be in objects.
pub(super) const TEXTS: &[&str] = &[SOLUTION, CONSTRAINTS, GENERATOR];

/// Fields of a summary; the large texts are left out.
const SUMMARY: [&str; 10] =
    [PLATFORM, PROBLEM_ID, TITLE, URL, IDENTIFIER, TAGS, LANGUAGE, TASK, STATUS, ERROR];

/// A job as it was read.
#[derive(Debug, Clone)]
pub(super) struct StoredJob {
    pub(super) job: JobRef,
    pub(super) item: Item,
    pub(super) lease: LeaseItem,
}

/// The large texts of a job.
#[derive(Debug, Clone, Default)]
pub(super) struct JobTexts {
    solution_code: Option<String>,
    constraints: Option<String>,
    generator_code: Option<String>,
}

impl JobTexts {
    /// The job with these texts.
    pub(super) fn with(self, summary: JobSummary) -> Job {
        let JobTexts { solution_code, constraints, generator_code } = self;
        Job { summary, solution_code, constraints, generator_code }
    }
}

/// Changes of the fields of a job that ends or is retried.
#[derive(Debug, Clone, Default)]
pub(super) struct FieldChanges(Vec<(&'static str, Value)>);

impl FieldChanges {
    pub(super) fn error(message: Option<&str>) -> FieldChanges {
        FieldChanges(vec![(ERROR, message.map_or(Value::Null, Into::into))])
    }

    pub(super) fn generator(code: Value) -> FieldChanges {
        FieldChanges(vec![(GENERATOR, code), (ERROR, Value::Null)])
    }

    pub(super) fn problem(problem: &crate::ids::ProblemRef) -> FieldChanges {
        FieldChanges(vec![
            (PLATFORM, problem.platform.as_str().into()),
            (PROBLEM_ID, problem.id.as_str().into()),
            (ERROR, Value::Null),
        ])
    }
}

impl StoredJob {
    pub(super) fn status(&self) -> Result<JobStatus> {
        Fields::of(&self.item)?.parse(STATUS)
    }

    pub(super) fn summary(&self) -> Result<JobSummary> {
        let fields = Fields::of(&self.item)?;
        let text = |name: &str| fields.optional_text(name).map(str::to_owned);
        Ok(JobSummary {
            job: self.job.clone(),
            status: fields.parse(STATUS)?,
            fields: JobFields {
                platform: fields.parse_optional(PLATFORM)?,
                problem_id: fields.parse_optional(PROBLEM_ID)?,
                title: text(TITLE),
                problem_url: text(URL),
                problem_identifier: text(IDENTIFIER),
                tags: fields.parse_list(TAGS)?,
                language: text(LANGUAGE),
                task_id: fields.parse_optional(TASK)?,
            },
            error_message: text(ERROR),
            lease: self.lease.lease.clone(),
            attempts: self.lease.attempts,
            last_step: self.lease.last_step.clone(),
            created_s: fields.created_s()?,
            updated_s: fields.updated_s()?,
        })
    }

    /// The job after a change of its status.
    pub(super) fn changed(&self, to: JobStatus, changes: &FieldChanges, now_ms: i64) -> StoredJob {
        let mut after = self.clone();
        for (name, value) in &changes.0 {
            set_field(&mut after.item, name, value.clone());
        }
        set_field(&mut after.item, STATUS, to.as_str());
        after.item.set(UPDATED, secs(now_ms));
        after
    }
}

impl<B: Backend> Practice<B> {
    /// The item of a new job, with its texts in it.
    pub(super) async fn job_item(
        &self,
        job: &JobRef,
        new: &NewJob,
        created_s: i64,
    ) -> Result<Item> {
        let fields = &new.fields;
        let common = Data::new()
            .with_or_null(PLATFORM, fields.platform.as_ref().map(|platform| platform.as_str()))
            .with_or_null(PROBLEM_ID, fields.problem_id.as_ref().map(|id| id.as_str()))
            .with_or_null(URL, fields.problem_url.as_deref())
            .with(STATUS, JobStatus::Pending.as_str())
            .with_or_null(TASK, fields.task_id.as_ref().map(|task| task.as_str()))
            .with_or_null(ERROR, None::<&str>);
        let encoded = match job.job_type {
            JobType::ProblemExtraction => {
                common.with_or_null(IDENTIFIER, fields.problem_identifier.as_deref())
            }
            JobType::ScriptGeneration => {
                let solution = self.optional_text("solution_code", new.solution_code.clone());
                let constraints = self.optional_text("constraints", new.constraints.clone());
                common
                    .with_or_null(TITLE, fields.title.as_deref())
                    .with(TAGS, Value::list(fields.tags.iter().map(|tag| tag.as_str())))
                    .with_or_null(LANGUAGE, fields.language.as_deref())
                    .with(SOLUTION, solution.await?)
                    .with(CONSTRAINTS, constraints.await?)
                    .with_or_null(GENERATOR, None::<&str>)
            }
        };
        let (of, id) = (job.job_type, &job.id);
        let item = entity(keys::job(of, id), of.entity(), encoded, created_s);
        Ok(List::Jobs(of).job(created_s, of, id).index.put_on(item))
    }

    /// Reads the texts of a job; `None` if the job has changed since its item was read.
    pub(super) async fn job_texts(&self, stored: &StoredJob) -> Result<Option<JobTexts>> {
        let mut texts = JobTexts::default();
        for (name, text) in [
            (SOLUTION, &mut texts.solution_code),
            (CONSTRAINTS, &mut texts.constraints),
            (GENERATOR, &mut texts.generator_code),
        ] {
            let value = field(name).find(&stored.item);
            if value.is_some_and(|value| *value != Value::Null) {
                *text = self.read_text(&stored.item, name).await?;
                if text.is_none() {
                    return Ok(None);
                }
            }
        }
        Ok(Some(texts))
    }

    /// The job with its texts, as it was read; as it is now if it has changed since.
    pub(super) async fn whole_job(&self, stored: &StoredJob) -> Result<Job> {
        match self.job_texts(stored).await? {
            Some(texts) => Ok(texts.with(stored.summary()?)),
            None => self.job(&stored.job).await,
        }
    }

    /// Moves texts of a job into objects until its item fits.
    pub(super) async fn fit_job(&self, job: &JobRef, item: Item) -> Result<Fitted> {
        let owner = ObjectOwner::Job(job.job_type, job.id.clone());
        self.fit(item, &owner, TEXTS).await
    }

    /// Reads a job and its lease, strongly consistent.
    pub(super) async fn stored_job(&self, job: &JobRef) -> Result<StoredJob> {
        let found = self.find_job(job).await?;
        found.ok_or_else(|| Error::not_found("job", job))
    }

    /// Like [`Practice::stored_job`]; `None` if there is no such job.
    pub(super) async fn find_job(&self, job: &JobRef) -> Result<Option<StoredJob>> {
        let key = keys::job(job.job_type, &job.id);
        let gets = [key, lease::key(job)].map(|key| Get::new(self.table().clone(), key));
        let found = self.store().batch_get(&gets).await?;
        let [Some(item), lease] = &found[..] else { return Ok(None) };
        let lease = LeaseItem::read(lease.as_ref())?;
        Ok(Some(StoredJob { job: job.clone(), item: item.clone(), lease }))
    }

    /// Reads jobs without their large texts, and their leases; missing ones are left out.
    pub(super) async fn stored_summaries(&self, jobs: Vec<JobRef>) -> Result<Vec<StoredJob>> {
        let jobs = distinct(jobs);
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let gets: Vec<Get> = jobs
            .iter()
            .flat_map(|job| {
                let item = self.summary_get(keys::job(job.job_type, &job.id));
                [item, Get::new(self.table().clone(), lease::key(job))]
            })
            .collect();
        let found = self.store().batch_get(&gets).await?;
        let mut stored = Vec::with_capacity(jobs.len());
        for (job, pair) in jobs.into_iter().zip(found.chunks(2)) {
            if let [Some(item), lease] = pair {
                let lease = LeaseItem::read(lease.as_ref())?;
                stored.push(StoredJob { job, item: item.clone(), lease });
            }
        }
        Ok(stored)
    }

    fn summary_get(&self, key: Key) -> Get {
        let heads = ["PK", "SK", TYPE, CREATED, UPDATED].map(Path::new);
        let get = Get::new(self.table().clone(), key);
        get.project(heads.into_iter().chain(SUMMARY.map(field)))
    }

    /// Reads the status of a job.
    pub(super) async fn job_status(&self, job: &JobRef) -> Result<JobStatus> {
        let get = self.summary_get(keys::job(job.job_type, &job.id));
        let item = self.store().get(&get).await?;
        let item = item.ok_or_else(|| Error::not_found("job", job))?;
        Fields::of(&item)?.parse(STATUS)
    }

    /// The job still has the status that was read.
    pub(super) fn check_status(&self, stored: &StoredJob) -> Result<Write> {
        let key = keys::job(stored.job.job_type, &stored.job.id);
        let is_same = data(STATUS).eq(stored.status()?.as_str());
        Ok(Write::check(self.table().clone(), key, is_same))
    }

    /// Moves a job to its status and list after a change, if it still has the status that was read.
    pub(super) fn move_job(&self, stored: &StoredJob, after: &StoredJob) -> Result<[Write; 2]> {
        let (of, id) = (stored.job.job_type, &stored.job.id);
        let (from, to) = (stored.status()?, after.status()?);
        debug_assert!(from.may_become(to), "{from} to {to}");
        let update = update_between(&stored.item, &after.item);
        let is_same = data(STATUS).eq(from.as_str());
        let item = Write::update(self.table().clone(), keys::job(of, id), update).when(is_same);
        let created_s = Fields::of(&stored.item)?.created_s()?;
        let entry = list_entry(List::JobsOfStatus(of, to).job(created_s, of, id));
        Ok([item, Write::put(self.table().clone(), entry)])
    }
}
