//! The driver: takes jobs, gives each a task, and stops them again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use weir_table::clock::Clock;
use weir_table::{AnyBackend, Error, Result, Store};

use super::counting::CountingTask;
use super::desk::{Bell, Ran, desk};
use super::erased::{AnyCounting, AnyPeriodic};
use super::hub::Hub;
use super::job::{Counting, Periodic};
use super::keys;
use super::periodic::PeriodicTask;
use super::settings::{INSTANCE_MAX, JOBS_MAX, RELEASE_WITHIN, Settings};
use super::status::{Board, Kind, Status};
use super::turn::Phase;

/// Jobs that are to be run.
pub struct Jobs {
    store: Store<AnyBackend>,
    clock: Clock,
    instance: String,
    settings: Settings,
    periodic: Vec<Box<dyn AnyPeriodic>>,
    counting: Vec<Box<dyn AnyCounting>>,
}

impl Jobs {
    /// Jobs on `store`, run by the instance of this id. No two that run at once may share an id.
    pub fn new(store: Store<AnyBackend>, clock: Clock, instance_id: impl Into<String>) -> Jobs {
        Jobs {
            store,
            clock,
            instance: instance_id.into(),
            settings: Settings::default(),
            periodic: Vec::new(),
            counting: Vec::new(),
        }
    }

    /// Runs them otherwise than usual.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Jobs {
        self.settings = settings;
        self
    }

    /// Adds a job that runs every so often.
    #[must_use]
    pub fn periodic(mut self, job: impl Periodic) -> Jobs {
        self.periodic.push(Box::new(job));
        self
    }

    /// Adds a job that counts what changes in a table.
    #[must_use]
    pub fn counting(mut self, job: impl Counting) -> Jobs {
        self.counting.push(Box::new(job));
        self
    }

    /// Starts a task for each job, on the runtime this is called in. The tables of
    /// [`super::table_spec`] and [`weir_table::feed::positions_spec`] must be there.
    ///
    /// # Errors
    /// A setting, a name or a period is invalid, or two jobs have one name.
    pub fn start(self) -> Result<Running> {
        self.settings.check()?;
        let count = self.periodic.len() + self.counting.len();
        if count > JOBS_MAX {
            let problem = format!("are {count}; at most {JOBS_MAX} are allowed");
            return Err(Error::invalid("jobs", problem));
        }
        if !(1..=INSTANCE_MAX).contains(&self.instance.len()) {
            let problem = format!("has 1 to {INSTANCE_MAX} bytes");
            return Err(Error::invalid("instance_id", problem));
        }
        let (phase, heard) = watch::channel(Phase::Serving);
        let hub = Arc::new(Hub {
            store: self.store,
            clock: self.clock,
            instance: self.instance,
            settings: self.settings,
            phase: heard,
        });
        let mut running =
            Running { hub, phase, jobs: BTreeMap::new(), tasks: Mutex::new(JoinSet::new()) };
        for job in self.periodic {
            running.start_periodic(job)?;
        }
        for job in self.counting {
            running.start_counting(job)?;
        }
        Ok(running)
    }
}

/// Jobs that run. Dropping it ends them as a crash would; [`Running::drain`] does it in order.
pub struct Running {
    hub: Arc<Hub>,
    phase: watch::Sender<Phase>,
    jobs: BTreeMap<String, (Arc<Board>, Bell)>,
    tasks: Mutex<JoinSet<()>>,
}

impl Running {
    fn start_periodic(&mut self, job: Box<dyn AnyPeriodic>) -> Result<()> {
        if job.every().is_zero() {
            let problem = format!("of the job {:?} is zero", job.name());
            return Err(Error::invalid("every", problem));
        }
        let (bell, desk) = desk(self.hub.phase.clone());
        let board = self.add(job.name(), Kind::Periodic, job.every(), bell)?;
        let task = PeriodicTask::new(Arc::clone(&self.hub), job, board, desk);
        self.tasks.lock().spawn(task.live());
        Ok(())
    }

    fn start_counting(&mut self, job: Box<dyn AnyCounting>) -> Result<()> {
        let (bell, desk) = desk(self.hub.phase.clone());
        let every = job.every().unwrap_or(self.hub.settings.feed_poll);
        let board = self.add(job.name(), Kind::Feed, every, bell)?;
        let task = CountingTask::new(Arc::clone(&self.hub), job, board, desk)?;
        self.tasks.lock().spawn(task.live());
        Ok(())
    }

    fn add(&mut self, name: &str, kind: Kind, every: Duration, bell: Bell) -> Result<Arc<Board>> {
        keys::check_name(name)?;
        let board = Arc::new(Board::new(name, kind, every));
        let entry = (Arc::clone(&board), bell);
        match self.jobs.insert(name.to_owned(), entry) {
            None => Ok(board),
            Some(_) => Err(Error::invalid("job", format!("there are two named {name:?}"))),
        }
    }

    /// Runs a job soon, though it is not due.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn wake(&self, name: &str) -> Result<()> {
        self.bell(name)?.wake();
        Ok(())
    }

    /// Runs a job, after the run that may be under way, and waits for what comes of it.
    ///
    /// # Errors
    /// There is none of that name.
    pub async fn run_now(&self, name: &str) -> Result<Ran> {
        Ok(self.bell(name)?.ask().await)
    }

    /// How all jobs do, in the order of their names.
    #[must_use]
    pub fn statuses(&self) -> Vec<Status> {
        let now_ms = self.hub.now_ms();
        let stopping = *self.phase.borrow() != Phase::Serving;
        let boards = self.jobs.values();
        boards.map(|(board, _)| board.status(now_ms, stopping)).collect()
    }

    /// Stops: begins no runs any more, lets those under way finish for as long as `within`, drops
    /// the rest, and gives leases back so that other instances go on at once. Returns the number
    /// of jobs whose run was dropped.
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

    fn bell(&self, name: &str) -> Result<&Bell> {
        match self.jobs.get(name) {
            Some((_, bell)) => Ok(bell),
            None => Err(Error::invalid("job", format!("there is none named {name:?}"))),
        }
    }
}

async fn all_of(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}
