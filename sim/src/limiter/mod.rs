//! Several limiters on one store.
//!
//! A step starts a request, lets one go on, or lets something happen to an instance, a clock or the store. `clients` makes the
//! requests, `commits` and `buckets` check every write of a bucket, `responses` checks every response, `jobs` are the background
//! work. `keyed` are requests with an idempotency key, and `power` cuts the power.

mod buckets;
mod clients;
mod commits;
mod events;
mod jobs;
mod keyed;
mod power;
mod responses;

use std::collections::BTreeMap;

use weir_limiter::acquire::{Acquire, Acquired};
use weir_limiter::bucket::Limit;
use weir_limiter::config::Level;
use weir_limiter::ids::{LimitName, NamespaceName};
use weir_limiter::lease::{Settle, Settled};
use weir_limiter::{Limiter, Namespace, Settings};
use weir_table::Store;
use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;
use weir_table::feed::{POSITIONS_TABLE, positions_spec};

use crate::check::{Checks, Violation};
use crate::model::lease::Lease;
use crate::run::{KEY, NOON_MS, Run, Simulated, run_seed};
use crate::store::{Commit, Memory};
use crate::task::{Task, at_once};
use crate::trace::{Domain, Failure, Passed};
use buckets::{BucketName, Buckets, Deltas};
use keyed::Keyed;
use power::Unsynced;

/// Leases that clients remember.
const LEASES_MAX: usize = 24;

/// A request in flight.
enum Op {
    Acquire {
        request: Acquire,
        /// What each bucket paid.
        paid: BTreeMap<BucketName, Paid>,
    },
    Settle {
        lease: usize,
        settle: Settle,
        key: Option<String>,
    },
    Reset,
    TopUp(Deltas),
    /// Config, entities and jobs.
    Upkeep,
}

/// What a bucket paid for a request.
#[derive(Default)]
struct Paid {
    /// Takes less refunds.
    times: i64,
    /// Millitokens of each limit, each time.
    amounts: Deltas,
    /// The bucket has expired and was removed.
    is_gone: bool,
    /// The lease has expired and was rolled back.
    is_returned: bool,
}

/// Its result.
enum Outcome {
    Acquired(weir_limiter::Result<Acquired>),
    Settled(weir_limiter::Result<Settled>),
    Done(String),
}

/// A process with a limiter.
struct Instance {
    limiter: Limiter<Memory>,
    ns: Namespace<Memory>,
    /// Commits of all before it started.
    started_at: u64,
    /// Whether it may have read stale items.
    read_stale: bool,
    /// Commits of all when the store last refused a request of this process: it remembers the refusal for a while.
    refused_at: BTreeMap<BucketName, u64>,
}

/// A run.
struct Simulation {
    run: Run<Op, Outcome>,
    settings: Settings,
    instances: Vec<Instance>,
    /// Sees the store as it is, by the clock it is given.
    observer: Namespace<Memory>,
    observer_clock: Clock,
    /// Requests with a lower number may have read stale items.
    stale_before: u64,
    has_system: bool,
    buckets: Buckets,
    leases: Vec<Lease>,
    /// Takes that are given back when their lease expires, and whose response never arrived.
    unanswered: Vec<(BucketName, Deltas)>,
    /// The last request that was refused, and the instance that it asked.
    refused: Option<(usize, Acquire)>,
    /// Requests with an idempotency key that clients may repeat.
    sent: Vec<Acquire>,
    /// Idempotency keys that took.
    keyed: Keyed,
    /// What a power cut undoes.
    unsynced: Unsynced,
    /// Every set of limits that a level ever had.
    levels: Vec<(Level, Vec<Limit>)>,
    /// The last commit of each instance on each bucket, and on config and entities.
    bucket_writes: BTreeMap<(BucketName, usize), u64>,
    config_writes: BTreeMap<usize, u64>,
}

/// Runs a seed for so many steps.
///
/// # Errors
/// A rule was broken.
pub fn run(seed: u64, steps: u64, checks: &Checks) -> Result<Passed, Box<Failure>> {
    run_seed(seed, steps, async |seed| Simulation::new(seed, checks.clone()).await)
}

/// A limiter on the store as `store` calls it.
fn open(store: &Memory, clock: Clock, settings: &Settings) -> (Limiter<Memory>, Namespace<Memory>) {
    let limiter =
        Limiter::new(Store::new(store.clone(), CursorKey::new(KEY)), clock, settings.clone());
    let name = NamespaceName::new("default").expect("a valid name");
    store.with(|state| state.is_calm = true);
    let ns = at_once(limiter.namespace(&name)).expect("the namespace exists");
    store.with(|state| state.is_calm = false);
    (limiter, ns)
}

impl Simulation {
    async fn new(seed: u64, checks: Checks) -> Simulation {
        let (mut run, count) = Run::new(seed, checks);
        let store = run.store.clone();
        let mut settings = Settings::new(run.random.percent(40), KEY);
        if run.random.percent(50) {
            settings.config_ttl_ms = 0;
        }
        let observer_clock = Clock::manual(NOON_MS.unsigned_abs());
        let quiet = Settings { config_ttl_ms: 0, ..settings.clone() };
        let calm = Store::new(store.clone(), CursorKey::new(KEY));
        calm.create_table(&positions_spec(POSITIONS_TABLE)).await.expect("a table");
        Limiter::open(calm, observer_clock.clone(), settings.clone()).await.expect("a limiter");
        let (_, observer) = open(&store, observer_clock.clone(), &quiet);
        let has_system = run.random.percent(30);
        let mut simulation = Simulation {
            run,
            has_system,
            settings,
            instances: Vec::new(),
            observer,
            observer_clock,
            stale_before: 0,
            buckets: Buckets::default(),
            leases: Vec::new(),
            unanswered: Vec::new(),
            refused: None,
            sent: Vec::new(),
            keyed: Keyed::default(),
            unsynced: Unsynced::default(),
            levels: Vec::new(),
            bucket_writes: BTreeMap::new(),
            config_writes: BTreeMap::new(),
        };
        for id in clients::parents() {
            let parent = simulation.observer.put_entity(&id, Default::default(), "sim");
            parent.await.expect("a parent");
        }
        simulation.run.store.with(|state| state.commits.clear());
        simulation.run.store.sync();
        for instance in 0..count {
            let started = simulation.start_instance(instance);
            simulation.instances.push(started);
        }
        simulation
    }

    fn start_instance(&self, instance: usize) -> Instance {
        let store = self.run.store.of_instance(instance);
        let (limiter, ns) = open(&store, self.run.clocks.clock(instance), &self.settings);
        let read_stale = self.run.store.with(|state| state.rates.stale > 0);
        Instance {
            limiter,
            ns,
            started_at: self.run.commits,
            read_stale,
            refused_at: BTreeMap::new(),
        }
    }

    async fn random_step(&mut self) -> Result<(), Violation> {
        if let Some(task) = self.run.pick_in_flight(55) {
            return self.go_on(task).await;
        }
        let instance = self.run.random.index(self.instances.len());
        match self.run.random.number(0..=99) {
            0..=41 => self.acquire(instance).await,
            42..=59 => self.settle(instance).await,
            60..=75 => {
                self.advance();
                Ok(())
            }
            76..=79 => {
                self.jump(instance);
                Ok(())
            }
            80..=84 => self.change_config(instance).await,
            85..=87 => self.change_entity(instance).await,
            88 => {
                self.restart(instance);
                Ok(())
            }
            89 => {
                self.cut_power();
                Ok(())
            }
            90..=93 => self.job(instance).await,
            94 | 95 => self.sweep(instance),
            96 | 97 => {
                self.change_weather();
                Ok(())
            }
            _ => self.operate(instance).await,
        }
    }

    async fn acquire(&mut self, instance: usize) -> Result<(), Violation> {
        let mut request = clients::acquire(&mut self.run.random);
        let (mut instance, again) = (instance, self.refused.take());
        match again.filter(|_| self.run.random.percent(60)) {
            // A client that is refused asks again.
            Some((at, refused)) => (instance, request) = (at, refused),
            None if self.run.random.percent(12) => request = self.keyed_request(request),
            None => {}
        }
        let now_ms = self.run.clocks.now_ms(instance);
        let task = self.run.next_task;
        let Acquire { entity, resource, consume, limits, idempotency_key, .. } = &request;
        let own = if limits.is_some() { ", with limits of its own" } else { "" };
        let key = idempotency_key.as_deref().unwrap_or("no key");
        self.run.trace.say(format_args!(
            "task {task} on {instance} at {now_ms}: {entity} acquires {consume:?} of {resource}{own} ({key})"
        ));
        let ns = self.instances[instance].ns.clone();
        let op = Op::Acquire { request: request.clone(), paid: BTreeMap::new() };
        let work = Box::pin(async move { Outcome::Acquired(ns.acquire(&request).await) });
        self.start(instance, op, work).await
    }

    async fn settle(&mut self, instance: usize) -> Result<(), Violation> {
        if self.leases.is_empty() {
            return Ok(());
        }
        let first = self.leases.len().saturating_sub(LEASES_MAX);
        let lease = first + self.run.random.index(self.leases.len() - first);
        let held = self.leases[lease].net();
        let settle = clients::settle(&mut self.run.random, &held);
        let grant = self.leases[lease].grant.clone();
        // A client repeats a call with the same key; two clients never share one.
        let again = self.run.tasks.iter().find_map(|task| match &task.op {
            Op::Settle { lease: of, settle, key: Some(key) } if *of == lease => {
                Some((settle.clone(), Some(key.clone())))
            }
            _ => None,
        });
        let (settle, key) = match again.filter(|_| self.run.random.percent(50)) {
            Some(again) => again,
            None => {
                (settle, self.run.random.percent(60).then(|| format!("key-{}", self.run.next_task)))
            }
        };
        let now_ms = self.run.clocks.now_ms(instance);
        self.run.trace.say(format_args!(
            "task {} on {instance} at {now_ms}: lease {lease}: {settle:?} ({key:?})",
            self.run.next_task
        ));
        let ns = self.instances[instance].ns.clone();
        let op = Op::Settle { lease, settle: settle.clone(), key: key.clone() };
        let work =
            Box::pin(
                async move { Outcome::Settled(ns.settle(&grant, &settle, key.as_deref()).await) },
            );
        self.start(instance, op, work).await
    }

    async fn change_config(&mut self, instance: usize) -> Result<(), Violation> {
        let (level, config) = clients::config(&mut self.run.random, self.has_system);
        self.run.trace.say(format_args!(
            "task {} on {instance}: {level:?} becomes {config:?}",
            self.run.next_task
        ));
        if let Some(config) = &config {
            self.levels.push((level.clone(), config.limits.clone()));
        }
        let ns = self.instances[instance].ns.clone();
        let work = Box::pin(async move {
            let done = match config {
                Some(config) => ns.set_limits(&level, config, "sim").await.map(|_| ()),
                None => ns.delete_limits(&level, "sim").await.map(|_| ()),
            };
            Outcome::Done(responses::kind(&done))
        });
        self.start(instance, Op::Upkeep, work).await
    }

    async fn change_entity(&mut self, instance: usize) -> Result<(), Violation> {
        let (id, child) = clients::child(&mut self.run.random);
        self.run.trace.say(format_args!(
            "task {} on {instance}: {id} gets parent {:?}, cascade {}",
            self.run.next_task, child.parent, child.cascade
        ));
        let ns = self.instances[instance].ns.clone();
        let work = Box::pin(async move {
            let done = ns.put_entity(&id, child, "sim").await;
            Outcome::Done(responses::kind(&done))
        });
        self.start(instance, Op::Upkeep, work).await
    }

    async fn operate(&mut self, instance: usize) -> Result<(), Violation> {
        let Acquire { entity, resource, .. } = clients::acquire(&mut self.run.random);
        let ns = self.instances[instance].ns.clone();
        let amounts: BTreeMap<LimitName, i64> =
            clients::limit_names().into_iter().take(1).map(|name| (name, 2)).collect();
        let is_reset = self.run.random.percent(50);
        let op = match is_reset {
            true => Op::Reset,
            false => {
                Op::TopUp(amounts.iter().map(|(name, by)| (name.clone(), by * 1000)).collect())
            }
        };
        let what = if is_reset { "reset" } else { "topped up" };
        self.run.trace.say(format_args!(
            "task {} on {instance}: {entity} on {resource} is {what}",
            self.run.next_task
        ));
        let work = Box::pin(async move {
            let done = match is_reset {
                true => ns.reset_bucket(&entity, &resource, None, "sim").await,
                false => ns.top_up_bucket(&entity, &resource, &amounts, None, "sim").await,
            };
            Outcome::Done(responses::kind(&done))
        });
        self.start(instance, op, work).await
    }
}

impl Simulated for Simulation {
    type Op = Op;
    type Outcome = Outcome;
    const DOMAIN: Domain = Domain::Limiter;
    const PATIENT_PERCENT: u32 = 50;

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
        self.before_write(commit.is_synced);
        self.check_commit(index, commit)
    }

    fn answered(&mut self, task: Task<Op, Outcome>, outcome: Outcome) -> Vec<Violation> {
        self.check_answer(task, outcome)
    }
}
