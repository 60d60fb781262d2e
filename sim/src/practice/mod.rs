//! Several instances of the practice service on one store.
//!
//! As with limiters, a step starts a request, lets one go on, or lets something happen. `users`, `runs` and `jobs` start
//! requests, `commits` follows every write with the model, `responses` checks every response, `lists` compares lists with the
//! model, `finish` lets every job end.

mod commits;
mod events;
mod finish;
mod jobs;
mod lists;
mod responses;
mod runs;
mod users;

use weir_practice::ids::{HistoryId, PlanId, UserId};
use weir_practice::jobs::{Claimed, Job, JobRef};
use weir_practice::kinds::{Action, JobType};
use weir_practice::objects::Objects;
use weir_practice::plans::{PlanFields, PlanLimit};
use weir_practice::usage::{UsageAnswer, UsageRequest};
use weir_practice::{Practice, Settings};
use weir_table::Store;
use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;

use crate::check::{Checks, Violation};
use crate::model::practice::Model;
use crate::run::{KEY, NOON_MS, Run, Simulated, run_seed};
use crate::store::{Commit, Memory};
use crate::task::Task;
use crate::trace::{Domain, Failure, Passed};

/// The only type of jobs in a run: the other one has a queue of its own and the same code.
const SCRIPT: JobType = JobType::ScriptGeneration;
/// Hints and executions per day of the plans of a run.
const LIMITS: [(u32, u32); 2] = [(2, 3), (4, 1)];

/// A request in flight.
enum Op {
    Use {
        user: UserId,
        request: UsageRequest,
        /// It has been counted.
        counted: bool,
    },
    SignUp {
        id: UserId,
    },
    /// A change of a user.
    Change,
    ResetDay,
    Record(HistoryId),
    SetVisibility {
        run: HistoryId,
        is_public: bool,
    },
    Submit,
    Claim {
        /// The fencing numbers that it took.
        took: Option<(JobRef, u64)>,
    },
    /// A heartbeat or a progress step.
    Beat {
        job: JobRef,
        fence: u64,
    },
    End {
        job: JobRef,
        fence: u64,
        completes: bool,
    },
    Cancel,
    Retry,
    /// Observes leases.
    Observe,
}

/// Its result.
enum Outcome {
    Used(weir_practice::Result<UsageAnswer>),
    Changed(weir_practice::Result<()>),
    Claimed(Box<weir_practice::Result<Option<Claimed>>>),
    Ended(Box<weir_practice::Result<Job>>),
}

/// A worker that has a job, or had it.
#[derive(Debug, Clone)]
struct Worker {
    job: JobRef,
    fence: u64,
}

/// A run.
struct Simulation {
    run: Run<Op, Outcome>,
    settings: Settings,
    instances: Vec<Practice<Memory>>,
    /// Sees the store as it is, by the clock it is given.
    observer: Practice<Memory>,
    observer_clock: Clock,
    plans: Vec<PlanId>,
    next_user: u64,
    next_run: u64,
    next_job: u64,
    next_key: u64,
    /// Requests with a key that clients may repeat.
    sent: Vec<(UserId, UsageRequest)>,
    workers: Vec<Worker>,
    model: Model,
}

/// Runs a seed for so many steps.
///
/// # Errors
/// A rule was broken.
pub fn run(seed: u64, steps: u64, checks: &Checks) -> Result<Passed, Box<Failure>> {
    run_seed(seed, steps, async |seed| Simulation::new(seed, checks.clone()).await)
}

fn open(store: Memory, clock: Clock, settings: &Settings) -> Practice<Memory> {
    let store = Store::new(store, CursorKey::new(KEY));
    Practice::new(store, Objects::unavailable(), clock, settings.clone()).expect("valid settings")
}

fn plan(hints: u32, executions: u32) -> PlanFields {
    PlanFields {
        name: "Small".to_owned(),
        description: None,
        max_hints_per_day: PlanLimit::AtMost(hints),
        max_executions_per_day: PlanLimit::AtMost(executions),
        max_problems: PlanLimit::Unlimited,
        can_view_all_problems: true,
        can_register_problems: true,
        is_active: true,
    }
}

impl Simulation {
    async fn new(seed: u64, checks: Checks) -> Simulation {
        let (mut run, count) = Run::new(seed, checks);
        let settings =
            Settings { job_attempts_max: *run.random.pick(&[2, 3, 5]), ..Settings::default() };
        let observer_clock = Clock::manual(NOON_MS.unsigned_abs());
        let observer = open(run.store.clone(), observer_clock.clone(), &settings);
        let spec = weir_practice::table::spec(&settings.table);
        observer.store().ensure_table(&spec).await.expect("a table");
        observer.seed_plans().await.expect("the default plans");
        let mut model = Model::default();
        let mut plans = vec![PlanId::ADMIN];
        for (hints, executions) in LIMITS {
            let created = observer.create_plan(plan(hints, executions), "sim").await;
            let id = created.expect("a plan").id;
            model.limits.insert((id, Action::Hint), u64::from(hints));
            model.limits.insert((id, Action::Execution), u64::from(executions));
            plans.push(id);
        }
        run.store.with(|state| state.commits.clear());
        run.store.sync();
        let mut simulation = Simulation {
            run,
            settings,
            instances: Vec::new(),
            observer,
            observer_clock,
            plans,
            next_user: 1,
            next_run: 1,
            next_job: 1,
            next_key: 1,
            sent: Vec::new(),
            workers: Vec::new(),
            model,
        };
        for instance in 0..count {
            simulation.instances.push(simulation.start_instance(instance));
        }
        simulation
    }

    fn start_instance(&self, instance: usize) -> Practice<Memory> {
        let store = self.run.store.of_instance(instance);
        open(store, self.run.clocks.clock(instance), &self.settings)
    }

    async fn random_step(&mut self) -> Result<(), Violation> {
        if let Some(task) = self.run.pick_in_flight(60) {
            return self.go_on(task).await;
        }
        let instance = self.run.random.index(self.instances.len());
        match self.run.random.number(0..=99) {
            0..=24 => self.take(instance).await,
            25..=30 => self.sign_up(instance).await,
            31..=37 => self.change_user(instance).await,
            38 => self.reset_day(instance).await,
            39..=41 => self.record(instance).await,
            42..=46 => self.toggle(instance).await,
            47..=50 => self.submit(instance).await,
            51..=58 => self.claim(instance).await,
            59 => self.observe(instance).await,
            60..=62 => self.outlive(instance).await,
            63..=72 => self.work(instance).await,
            73..=76 => self.administer(instance).await,
            77..=86 => self.advance(),
            87..=90 => self.jump(instance),
            91 => self.restart(instance),
            92 => self.cut_power(),
            93 => self.sweep(),
            94 | 95 => self.check_lists(),
            _ => self.change_weather(),
        }
    }

    fn say_start(&mut self, instance: usize, what: std::fmt::Arguments<'_>) {
        let (task, now_ms) = (self.run.next_task, self.run.clocks.now_ms(instance));
        self.run.trace.say(format_args!("task {task} on {instance} at {now_ms}: {what}"));
    }
}

impl Simulated for Simulation {
    type Op = Op;
    type Outcome = Outcome;
    const DOMAIN: Domain = Domain::Practice;
    const PATIENT_PERCENT: u32 = 40;

    fn run_mut(&mut self) -> &mut Run<Op, Outcome> {
        &mut self.run
    }

    async fn step(&mut self) -> Result<(), Violation> {
        self.random_step().await
    }

    async fn finish(&mut self) -> Result<(), Violation> {
        self.end_well().await
    }

    fn committed(&mut self, index: usize, commit: &Commit) -> Vec<Violation> {
        self.check_commit(index, commit)
    }

    fn answered(&mut self, task: Task<Op, Outcome>, outcome: Outcome) -> Vec<Violation> {
        self.check_answer(&task, outcome)
    }
}
