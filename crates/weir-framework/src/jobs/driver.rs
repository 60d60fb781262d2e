//! The driver: starts and stops a task for each job.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use weir_api::server::{Job, JobKind};
use weir_table::clock::Clock;
use weir_table::{AnyBackend, Error, Result, Store};

use super::background::BackgroundRuntime;
use super::context::Context;
use super::erased::{AnyFeedJob, AnyPeriodic};
use super::feed::FeedTask;
use super::job::{FeedJob, PeriodicJob};
use super::keys;
use super::mailbox::{RunResult, Waker, mailbox};
use super::periodic::PeriodicTask;
use super::run_context::Phase;
use super::settings::{INSTANCE_MAX, JOBS_MAX, RELEASE_WITHIN, Settings};
use super::status::StatusCell;

/// Jobs to run.
pub struct Jobs {
    store: Store<AnyBackend>,
    clock: Clock,
    instance: String,
    settings: Settings,
    background: bool,
    periodic_jobs: Vec<Box<dyn AnyPeriodic>>,
    feed_jobs: Vec<Box<dyn AnyFeedJob>>,
}

impl Jobs {
    /// Jobs on `store`, run by the instance with this id. Instances that run at the same time must have different ids.
    pub fn new(store: Store<AnyBackend>, clock: Clock, instance_id: impl Into<String>) -> Jobs {
        Jobs {
            store,
            clock,
            instance: instance_id.into(),
            settings: Settings::default(),
            background: false,
            periodic_jobs: Vec::new(),
            feed_jobs: Vec::new(),
        }
    }

    /// Changes the settings.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Jobs {
        self.settings = settings;
        self
    }

    /// Runs the jobs on a thread of their own with low priority, instead of on the caller's runtime.
    #[must_use]
    pub fn on_background_thread(mut self) -> Jobs {
        self.background = true;
        self
    }

    /// Adds a periodic job.
    #[must_use]
    pub fn periodic_job(mut self, job: impl PeriodicJob) -> Jobs {
        self.periodic_jobs.push(Box::new(job));
        self
    }

    /// Adds a job that follows the change feed of a table.
    #[must_use]
    pub fn feed_job(mut self, job: impl FeedJob) -> Jobs {
        self.feed_jobs.push(Box::new(job));
        self
    }

    /// Starts a task for each job. The tables of
    /// [`super::table_spec`] and [`weir_table::feed::positions_spec`] must exist.
    ///
    /// # Errors
    /// A setting, a name or a period is invalid, or two jobs have the same name.
    pub fn start(self) -> Result<Running> {
        self.settings.check()?;
        let count = self.periodic_jobs.len() + self.feed_jobs.len();
        if count > JOBS_MAX {
            let problem = format!("are {count}; at most {JOBS_MAX} are allowed");
            return Err(Error::invalid("jobs", problem));
        }
        if !(1..=INSTANCE_MAX).contains(&self.instance.len()) {
            let problem = format!("has 1 to {INSTANCE_MAX} bytes");
            return Err(Error::invalid("instance_id", problem));
        }
        let (phase, heard) = watch::channel(Phase::Serving);
        let context = Arc::new(Context {
            store: self.store,
            clock: self.clock,
            instance: self.instance,
            settings: self.settings,
            phase: heard,
        });
        let start = |source| Error::io("starting the thread of the jobs", source);
        let background =
            self.background.then(BackgroundRuntime::start).transpose().map_err(start)?;
        let (jobs, tasks) = (BTreeMap::new(), Mutex::new(JoinSet::new()));
        let mut running = Running { context, phase, jobs, tasks, background };
        for job in self.periodic_jobs {
            running.start_periodic_job(job)?;
        }
        for job in self.feed_jobs {
            running.start_feed_job(job)?;
        }
        Ok(running)
    }
}

/// Running jobs. Dropping this stops them like a crash; [`Running::drain`] stops them gracefully.
pub struct Running {
    context: Arc<Context>,
    phase: watch::Sender<Phase>,
    jobs: BTreeMap<String, (Arc<StatusCell>, Waker)>,
    tasks: Mutex<JoinSet<()>>,
    background: Option<BackgroundRuntime>,
}

impl Running {
    fn start_periodic_job(&mut self, job: Box<dyn AnyPeriodic>) -> Result<()> {
        if job.every().is_zero() {
            let problem = format!("of the job {:?} is zero", job.name());
            return Err(Error::invalid("every", problem));
        }
        let (waker, mailbox) = mailbox(self.context.phase.clone());
        let status = self.add(job.name(), JobKind::Periodic, job.every(), waker)?;
        let task = PeriodicTask::new(Arc::clone(&self.context), job, status, mailbox);
        self.spawn(task.run());
        Ok(())
    }

    fn start_feed_job(&mut self, job: Box<dyn AnyFeedJob>) -> Result<()> {
        let (waker, mailbox) = mailbox(self.context.phase.clone());
        let every = job.every().unwrap_or(self.context.settings.feed_poll);
        let status = self.add(job.name(), JobKind::Feed, every, waker)?;
        let task = FeedTask::new(Arc::clone(&self.context), job, status, mailbox)?;
        self.spawn(task.run());
        Ok(())
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock();
        match &self.background {
            Some(background) => tasks.spawn_on(task, &background.handle),
            None => tasks.spawn(task),
        };
    }

    fn add(
        &mut self,
        name: &str,
        kind: JobKind,
        every: Duration,
        waker: Waker,
    ) -> Result<Arc<StatusCell>> {
        keys::check_name(name)?;
        let status = Arc::new(StatusCell::new(name, kind, every));
        let entry = (Arc::clone(&status), waker);
        match self.jobs.insert(name.to_owned(), entry) {
            None => Ok(status),
            Some(_) => Err(Error::invalid("job", format!("there are two named {name:?}"))),
        }
    }

    /// Runs a job soon, even if it is not due.
    ///
    /// # Errors
    /// There is no job of that name.
    pub fn wake(&self, name: &str) -> Result<()> {
        self.waker(name)?.wake();
        Ok(())
    }

    /// Runs a job, after a run that may be in progress, and waits for the result.
    ///
    /// # Errors
    /// There is no job of that name.
    pub async fn run_now(&self, name: &str) -> Result<RunResult> {
        Ok(self.waker(name)?.request().await)
    }

    /// The status of all jobs, sorted by name.
    #[must_use]
    pub fn statuses(&self) -> Vec<Job> {
        let now_ms = self.context.now_ms();
        let stopping = *self.phase.borrow() != Phase::Serving;
        let statuses = self.jobs.values();
        statuses.map(|(status, _)| status.status(now_ms, stopping)).collect()
    }

    /// Stops the jobs: starts no more runs, waits up to `within` for those in progress, drops the rest, and releases
    /// the leases so that other instances continue at once. Returns the number of jobs whose run was dropped.
    pub async fn drain(&self, within: Duration) -> usize {
        self.phase.send_replace(Phase::Draining);
        let mut tasks = std::mem::take(&mut *self.tasks.lock());
        if timeout(within, all_of(&mut tasks)).await.is_ok() {
            return 0;
        }
        let dropped = tasks.len();
        tracing::warn!(dropped, "jobs did not end in time and are cut off");
        self.phase.send_replace(Phase::CutOff);
        if timeout(RELEASE_WITHIN, all_of(&mut tasks)).await.is_err() {
            tracing::warn!("leases of jobs were not given back in time; they end by themselves");
        }
        dropped
    }

    fn waker(&self, name: &str) -> Result<&Waker> {
        match self.jobs.get(name) {
            Some((_, waker)) => Ok(waker),
            None => Err(Error::invalid("job", format!("{name:?} not found"))),
        }
    }
}

async fn all_of(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}
