//! What the runs of all domains share: chance, the store, clocks, requests in flight, and the loop of steps.

use crate::check::{Checks, Violation};
use crate::clocks::Clocks;
use crate::random::Random;
use crate::store::{Commit, FaultRates, Memory};
use crate::task::{Task, Work, on_paused_runtime};
use crate::trace::{Domain, Failure, Passed, Trace};

/// Noon on some day, in milliseconds since 1970: every run begins there.
pub(crate) const NOON_MS: i64 = 2_115_633_600_000;
/// The key that signs cursors and tokens.
pub(crate) const KEY: [u8; 32] = [7; 32];
/// Most requests in flight.
const TASKS_MAX: usize = 6;
/// Polls of a request in a row. It may wait for another request of its instance, which then has to go on.
const PATIENT_POLLS_MAX: u32 = 500;

/// The state of a run that does not depend on its domain.
pub(crate) struct Run<Op, Out> {
    pub(crate) random: Random,
    pub(crate) store: Memory,
    pub(crate) clocks: Clocks,
    /// Requests in flight.
    pub(crate) tasks: Vec<Task<Op, Out>>,
    pub(crate) next_task: u64,
    /// Commits of all requests so far.
    pub(crate) commits: u64,
    pub(crate) checks: Checks,
    pub(crate) trace: Trace,
}

impl<Op, Out> Run<Op, Out> {
    /// A run of one to three instances, and how many these are.
    pub(crate) fn new(seed: u64, checks: Checks) -> (Run<Op, Out>, usize) {
        let mut random = Random::new(seed);
        let store = Memory::new(seed ^ 0x5eed, NOON_MS.unsigned_abs());
        let count = random.number(1..=3).unsigned_abs() as usize;
        let clocks = Clocks::new(count, NOON_MS);
        let (tasks, next_task, commits, trace) = (Vec::new(), 1, 0, Trace::default());
        (Run { random, store, clocks, tasks, next_task, commits, checks, trace }, count)
    }

    /// One of the requests in flight to go on: so often, or always when there are many.
    pub(crate) fn pick_in_flight(&mut self, percent: u32) -> Option<usize> {
        let is_busy = self.tasks.len() >= TASKS_MAX;
        let is_picked = !self.tasks.is_empty() && (is_busy || self.random.percent(percent));
        is_picked.then(|| self.random.index(self.tasks.len()))
    }

    /// Lets time pass on all clocks but those whose instance has a request that `is_held`.
    pub(crate) fn pass(&mut self, ms: i64, is_held: impl Fn(&Op) -> bool) {
        let tasks = &self.tasks;
        let holds = |instance| {
            tasks.iter().any(|task: &Task<Op, Out>| task.instance == instance && is_held(&task.op))
        };
        self.clocks.advance(ms, &mut self.random, holds);
        let now_ms = self.clocks.true_ms();
        self.store.with(|state| state.now_ms = now_ms.unsigned_abs());
        self.trace.say(format_args!("{ms} ms pass"));
    }

    /// Sets a clock forward or back, unless a request of its instance `is_held`.
    pub(crate) fn jump(&mut self, instance: usize, is_held: impl Fn(&Op) -> bool) {
        if self.tasks.iter().any(|task| task.instance == instance && is_held(&task.op)) {
            return;
        }
        let offset = self.clocks.jump(instance, &mut self.random);
        self.trace.say(format_args!("the clock of {instance} is set to be off by {offset} ms"));
    }

    /// Kills an instance with its requests; the caller starts another in its place.
    pub(crate) fn kill(&mut self, instance: usize) -> Vec<Task<Op, Out>> {
        let all = std::mem::take(&mut self.tasks).into_iter();
        let (dead, alive) = all.partition(|task| task.instance == instance);
        self.tasks = alive;
        self.trace.say(format_args!("instance {instance} dies and returns"));
        dead
    }

    /// The machine of an embedded store loses power, and with it all but `kept` of the writes that are not synced.
    pub(crate) fn cut_power(&mut self, kept: usize) {
        self.trace.say(format_args!("the power is cut, {kept} writes are kept"));
        self.store.cut_power(kept);
    }

    /// Changes how often calls of the store fail. Returns how often they failed before.
    pub(crate) fn change_weather(&mut self, index_lags: &[usize]) -> FaultRates {
        let rates = FaultRates::random(&mut self.random, index_lags);
        let before = self.store.with(|state| std::mem::replace(&mut state.rates, rates));
        self.trace.say(format_args!("the store changes: {rates:?}"));
        before
    }

    /// The first violation whose check is on.
    pub(crate) fn report(&self, violations: Vec<Violation>) -> Result<(), Violation> {
        let mut violations = violations.into_iter();
        violations.find(|violation| self.checks.is_on(violation.check)).map_or(Ok(()), Err)
    }
}

/// A domain that is simulated.
pub(crate) trait Simulated: Sized {
    /// A request in flight.
    type Op;
    /// Its result.
    type Outcome;
    /// The domain.
    const DOMAIN: Domain;
    /// So many requests of a hundred run to their end at once.
    const PATIENT_PERCENT: u32;

    /// What does not depend on the domain.
    fn run_mut(&mut self) -> &mut Run<Self::Op, Self::Outcome>;
    /// Starts a request, lets one go on, or lets something happen.
    async fn step(&mut self) -> Result<(), Violation>;
    /// Lets everything end well, and checks what is left.
    async fn finish(&mut self) -> Result<(), Violation>;
    /// Checks what a request did beside its commits.
    fn polled(&mut self) -> Vec<Violation> {
        Vec::new()
    }
    /// Checks what a request wrote.
    fn committed(&mut self, index: usize, commit: &Commit) -> Vec<Violation>;
    /// Checks the result of a request.
    fn answered(
        &mut self,
        task: Task<Self::Op, Self::Outcome>,
        outcome: Self::Outcome,
    ) -> Vec<Violation>;

    /// Runs so many steps.
    async fn play(&mut self, steps: u64) -> Result<(), Violation> {
        for _ in 0..steps {
            self.run_mut().trace.next_step();
            self.step().await?;
        }
        self.run_mut().trace.next_step();
        self.finish().await
    }

    /// Starts a request. Some run to their end at once.
    async fn start(
        &mut self,
        instance: usize,
        op: Self::Op,
        work: Work<Self::Outcome>,
    ) -> Result<(), Violation> {
        let run = self.run_mut();
        let began = (run.clocks.now_ms(instance), run.commits);
        run.tasks.push(Task::new(run.next_task, instance, op, began, work));
        run.next_task += 1;
        let (index, count) = (run.tasks.len() - 1, run.tasks.len());
        let is_patient = run.random.percent(Self::PATIENT_PERCENT);
        // It begins at once, because it reads the clock when it begins.
        self.go_on(index).await?;
        let mut polls = 0;
        while is_patient && self.run_mut().tasks.len() == count && polls < PATIENT_POLLS_MAX {
            self.go_on(index).await?;
            polls += 1;
        }
        Ok(())
    }

    /// Lets a request go on, and checks what it did, wrote and answered.
    async fn go_on(&mut self, index: usize) -> Result<(), Violation> {
        let run = self.run_mut();
        let outcome = run.tasks[index].go_on(&run.store).await;
        let violations = self.polled();
        self.run_mut().report(violations)?;
        let commits = self.run_mut().store.with(|state| std::mem::take(&mut state.commits));
        for commit in &commits {
            self.run_mut().commits += 1;
            self.run_mut().tasks[index].commits += 1;
            let violations = self.committed(index, commit);
            self.run_mut().report(violations)?;
        }
        if let Some(outcome) = outcome {
            let task = self.run_mut().tasks.swap_remove(index);
            let violations = self.answered(task, outcome);
            self.run_mut().report(violations)?;
        }
        Ok(())
    }

    /// Lets all requests end.
    async fn drain(&mut self) -> Result<(), Violation> {
        while !self.run_mut().tasks.is_empty() {
            self.go_on(0).await?;
        }
        Ok(())
    }
}

/// Runs a seed of a domain for so many steps.
pub(crate) fn run_seed<S: Simulated>(
    seed: u64,
    steps: u64,
    new: impl AsyncFnOnce(u64) -> S,
) -> Result<Passed, Box<Failure>> {
    fastrand::seed(seed);
    on_paused_runtime(async {
        let mut simulation = new(seed).await;
        let done = simulation.play(steps).await;
        simulation.run_mut().trace.outcome(S::DOMAIN, seed, done)
    })
}
