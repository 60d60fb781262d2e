//! Several keepers on one store.
//!
//! As with limiters, a step starts a request, lets one go on, or lets something happen. `clients` makes the requests, `commits`
//! checks every write of counters, totals and fallbacks, `responses` checks every response.

mod clients;
mod commits;
mod events;
mod responses;

use std::collections::BTreeMap;

use weir_keeper::aggregate::DirtySet;
use weir_keeper::ids::{AppId, OrgId, RequestId};
use weir_keeper::select::Selection;
use weir_keeper::submit::{Accepted, Submission};
use weir_keeper::{Keeper, Settings};
use weir_table::Store;
use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;
use weir_table::feed::Position;

use crate::check::{Checks, Violation};
use crate::model::ledger::{Ledger, SubmissionId};
use crate::run::{KEY, NOON_MS, Run, Simulated, run_seed};
use crate::store::{Commit, FaultRates, Memory};
use crate::task::{Task, at_once};
use crate::trace::{Domain, Failure, Passed};

/// Submissions that clients may send again.
const SENT_MAX: usize = 64;
/// Changes of the feed that one run of the aggregator reads.
const CHANGES_MAX: usize = 1_000;
/// Pages of a full pass.
const PAGES_MAX: u32 = 100;

/// A request in flight.
enum Op {
    Submit {
        org: OrgId,
        app: AppId,
        submissions: Vec<Submission>,
        /// Request ids that it counted.
        counted: Vec<RequestId>,
    },
    Select {
        org: OrgId,
        app: AppId,
        force: bool,
    },
    FullPass,
    /// The aggregator has read the feed up to here.
    Aggregate(Position),
    Config,
}

/// Its result.
enum Outcome {
    Submitted(weir_keeper::Result<Vec<weir_keeper::Result<Accepted>>>),
    Selected(Box<weir_keeper::Result<Selection>>),
    Done(Result<(), String>),
}

/// A run.
struct Simulation {
    run: Run<Op, Outcome>,
    settings: Settings,
    instances: Vec<Keeper<Memory>>,
    /// How far the aggregator of all instances has read the feed.
    position: Position,
    orgs: usize,
    /// One client sends nothing but the costliest submissions.
    is_attacked: bool,
    is_bounded: bool,
    observer: Keeper<Memory>,
    observer_clock: Clock,
    /// Requests with a lower number may have read stale items.
    stale_before: u64,
    sent: Vec<(SubmissionId, Submission)>,
    ledger: Ledger,
}

/// Runs a seed for so many steps.
///
/// # Errors
/// A rule was broken.
pub fn run(seed: u64, steps: u64, checks: &Checks) -> Result<Passed, Box<Failure>> {
    run_seed(seed, steps, async |seed| Simulation::new(seed, checks.clone()).await)
}

fn open(store: Memory, clock: Clock, settings: &Settings) -> Keeper<Memory> {
    let store = Store::new(store, CursorKey::new(KEY));
    Keeper::new(store, clock, settings.clone()).expect("the shipped prices")
}

impl Simulation {
    async fn new(seed: u64, checks: Checks) -> Simulation {
        let (mut run, count) = Run::new(seed, checks);
        let store = run.store.clone();
        let mut settings = Settings { bcrypt_cost: 4, ..Settings::default() };
        if run.random.percent(50) {
            settings.config_ttl_ms = 0;
        }
        let observer_clock = Clock::manual(NOON_MS.unsigned_abs());
        let quiet = Settings { config_ttl_ms: 0, ..settings.clone() };
        let calm = Store::new(store.clone(), CursorKey::new(KEY));
        Keeper::open(calm, observer_clock.clone(), quiet.clone()).await.expect("a keeper");
        let observer = open(store.clone(), observer_clock.clone(), &quiet);
        let is_attacked = seed % 8 == 7;
        let orgs = if is_attacked { 1 } else { run.random.number(1..=2).unsigned_abs() as usize };
        let is_bounded = run.random.percent(50);
        let mut simulation = Simulation {
            run,
            instances: Vec::new(),
            position: Position::Oldest,
            orgs,
            is_attacked,
            is_bounded,
            observer,
            observer_clock,
            stale_before: 0,
            sent: Vec::new(),
            ledger: Ledger::default(),
            settings,
        };
        for number in 0..simulation.orgs {
            let (org, request) =
                (clients::org(number), clients::put_org(&mut simulation.run.random));
            simulation.observer.put_org(&org, &request, "sim").await.expect("an org");
            for app in clients::apps() {
                let request = clients::put_app();
                simulation.observer.put_app(&org, &app, &request, "sim").await.expect("an app");
            }
        }
        simulation.run.store.with(|state| state.commits.clear());
        simulation.run.store.sync();
        for instance in 0..count {
            simulation.instances.push(simulation.start_instance(instance));
        }
        simulation
    }

    fn start_instance(&self, instance: usize) -> Keeper<Memory> {
        open(self.run.store.of_instance(instance), self.run.clocks.clock(instance), &self.settings)
    }

    async fn random_step(&mut self) -> Result<(), Violation> {
        if let Some(task) = self.run.pick_in_flight(55) {
            return self.go_on(task).await;
        }
        let instance = self.run.random.index(self.instances.len());
        if self.is_attacked && self.run.random.percent(40) {
            return self.attack(instance).await;
        }
        match self.run.random.number(0..=99) {
            0..=39 => self.submit(instance).await,
            40..=59 => self.select(instance).await,
            60..=71 => self.advance(),
            72..=75 => self.jump(instance),
            76..=79 => self.change_org(instance).await,
            80 => self.restart(instance),
            81 => self.cut_power(),
            82..=88 => self.aggregate(instance).await,
            89..=93 => self.full_pass(instance).await,
            94..=96 => self.sweep(),
            _ => self.change_weather(),
        }
    }

    fn any_app(&mut self) -> (OrgId, AppId) {
        let org = clients::org(self.run.random.index(self.orgs));
        (org, self.run.random.pick(&clients::apps()).clone())
    }

    async fn submit(&mut self, instance: usize) -> Result<(), Violation> {
        let now_ms = self.run.clocks.now_ms(instance);
        let (mut org, mut app) = self.any_app();
        let count = if self.run.random.percent(20) { self.run.random.number(2..=6) } else { 1 };
        let mut submissions = Vec::new();
        for _ in 0..count {
            let is_again = !self.sent.is_empty() && self.run.random.percent(40);
            if is_again {
                let ((of, by, _), first) = self.run.random.pick(&self.sent).clone();
                if submissions.is_empty() {
                    (org, app) = (of.clone(), by.clone());
                }
                if (&of, &by) == (&org, &app) {
                    submissions.push(clients::again(&mut self.run.random, &first, now_ms));
                    continue;
                }
            }
            let new = clients::submission(&mut self.run.random, now_ms);
            if self.sent.len() == SENT_MAX {
                self.sent.swap_remove(self.run.random.index(SENT_MAX));
            }
            self.sent.push(((org.clone(), app.clone(), new.request_id.clone()), new.clone()));
            submissions.push(new);
        }
        self.send(instance, (org, app), submissions).await
    }

    async fn attack(&mut self, instance: usize) -> Result<(), Violation> {
        let now_ms = self.run.clocks.now_ms(instance);
        let submissions = clients::costliest(&mut self.run.random, now_ms, self.is_bounded);
        let app = clients::apps().swap_remove(0);
        self.send(instance, (clients::org(0), app), submissions).await
    }

    async fn send(
        &mut self,
        instance: usize,
        (org, app): (OrgId, AppId),
        submissions: Vec<Submission>,
    ) -> Result<(), Violation> {
        let now_ms = self.run.clocks.now_ms(instance);
        for Submission { request_id, label, stated_cost, at_ms, .. } in submissions.iter().take(6) {
            let cost = stated_cost.unwrap_or_default();
            self.run.trace.say(format_args!(
                "task {} on {instance} at {now_ms}: {app} of {} submits {request_id}: {cost} for {label} at {at_ms}",
                self.run.next_task,
                last_part(&org),
            ));
        }
        let keeper = self.instances[instance].clone();
        let op = Op::Submit {
            org: org.clone(),
            app: app.clone(),
            submissions: submissions.clone(),
            counted: Vec::new(),
        };
        let work = Box::pin(async move {
            Outcome::Submitted(match submissions.as_slice() {
                [one] => Ok(vec![keeper.submit(&org, &app, one).await]),
                all => keeper.submit_batch(&org, &app, all).await,
            })
        });
        self.start(instance, op, work).await
    }

    async fn select(&mut self, instance: usize) -> Result<(), Violation> {
        let (org, app) = self.any_app();
        let force = self.run.random.percent(30);
        let now_ms = self.run.clocks.now_ms(instance);
        self.run.trace.say(format_args!(
            "task {} on {instance} at {now_ms}: {app} of {} selects, force {force}",
            self.run.next_task,
            last_part(&org),
        ));
        let keeper = self.instances[instance].clone();
        let op = Op::Select { org: org.clone(), app: app.clone(), force };
        let work =
            Box::pin(
                async move { Outcome::Selected(Box::new(keeper.select(&org, &app, force).await)) },
            );
        self.start(instance, op, work).await
    }

    async fn change_org(&mut self, instance: usize) -> Result<(), Violation> {
        let org = clients::org(self.run.random.index(self.orgs));
        let request = clients::put_org(&mut self.run.random);
        self.run.trace.say(format_args!(
            "task {} on {instance}: org {} becomes {} {} {:?}",
            self.run.next_task,
            last_part(&org),
            request.timezone,
            request.quota_scope,
            request.quotas
        ));
        let keeper = self.instances[instance].clone();
        let work = Box::pin(async move {
            let done = keeper.put_org(&org, &request, "sim").await;
            Outcome::Done(done.map(|_| ()).map_err(|error| error.to_string()))
        });
        self.start(instance, Op::Config, work).await
    }

    /// The aggregator reads on in the feed. Changes whose aggregation fails are delivered again, and sometimes others are.
    async fn aggregate(&mut self, instance: usize) -> Result<(), Violation> {
        let (dirty, next) = self.read_feed();
        let next = if self.run.random.percent(80) { next } else { self.position.clone() };
        self.run.trace.say(format_args!(
            "task {} on {instance}: aggregates {} totals",
            self.run.next_task,
            dirty.len()
        ));
        let keeper = self.instances[instance].clone();
        let work = Box::pin(async move {
            let done = keeper.aggregate(&dirty).await;
            Outcome::Done(done.map(|_| ()).map_err(|error| error.to_string()))
        });
        self.start(instance, Op::Aggregate(next), work).await
    }

    fn read_feed(&self) -> (DirtySet, Position) {
        let table = &self.settings.tables.usage_agg_sharded;
        let calm = Store::new(self.run.store.clone(), CursorKey::new(KEY));
        let page = at_once(calm.feed_read(table, "0", &self.position, CHANGES_MAX));
        let page = page.expect("the feed");
        (DirtySet::from_changes(&page.changes), page.next)
    }

    async fn full_pass(&mut self, instance: usize) -> Result<(), Violation> {
        self.run.trace.say(format_args!("task {} on {instance}: a full pass", self.run.next_task));
        let keeper = self.instances[instance].clone();
        let work = Box::pin(async move {
            Outcome::Done(pass(&keeper).await.map_err(|error| error.to_string()))
        });
        self.start(instance, Op::FullPass, work).await
    }

    /// Everything ends well: all requests are answered, the store works, and the history is complete.
    async fn end_well(&mut self) -> Result<(), Violation> {
        self.stale_before = self.run.next_task;
        self.run.store.with(|state| state.rates = FaultRates::default());
        self.drain().await?;
        self.observe_at(self.run.clocks.true_ms());
        loop {
            let (dirty, next) = self.read_feed();
            if dirty.is_empty() {
                break;
            }
            at_once(self.observer.aggregate(&dirty)).expect("the store works");
            self.position = next;
        }
        at_once(pass(&self.observer)).expect("the store works");
        self.run.store.with(|state| state.commits.clear());
        self.check_history()
    }

    fn observe_at(&self, now_ms: i64) {
        if let Clock::Manual(now) = &self.observer_clock {
            now.store(now_ms.unsigned_abs(), std::sync::atomic::Ordering::SeqCst);
        }
    }
}

async fn pass(keeper: &Keeper<Memory>) -> weir_keeper::Result<()> {
    let mut cursor = None;
    for _ in 0..PAGES_MAX {
        let page = keeper.full_pass(cursor.as_deref(), 100).await?;
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(())
}

/// The part of an org's id that differs.
fn last_part(org: &OrgId) -> &str {
    let id = org.as_str();
    id.get(id.len() - 2..).unwrap_or(id)
}

/// Sums by some key.
type Sums<K> = BTreeMap<K, crate::model::ledger::Sum>;

impl Simulated for Simulation {
    type Op = Op;
    type Outcome = Outcome;
    const DOMAIN: Domain = Domain::Keeper;
    const PATIENT_PERCENT: u32 = 60;

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
