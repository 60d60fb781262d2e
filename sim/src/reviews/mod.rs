//! Several instances with reviews on one store and one object storage.
//!
//! As with limiters, a step starts a request, lets one go on, or lets something happen. `clients` has what is sent and
//! `requests` starts it, `commits` follows every write of a review and `children` of what is below it, `stored` compares what
//! is stored of a review after a commit, `lists` and `rollups` compare those, `responses` checks every response.

mod children;
mod clients;
mod commits;
mod events;
mod finish;
mod lists;
mod moments;
mod requests;
mod responses;
mod rollups;
mod stored;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use weir_reviews::ids::{ReviewId, UserName};
use weir_reviews::raw::RawOutputs;
use weir_reviews::record::{Completion, NewResponse, NewReview, Recorded};
use weir_reviews::review::{RecordedFinding, RecordedReview};
use weir_reviews::rollup::RunReport;
use weir_reviews::{Reviews, Settings};
use weir_table::Store;
use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;

use crate::check::{Check, Checks, Violation};
use crate::model::review::{FindingKey, Review};
use crate::objects::Objects;
use crate::run::{KEY, NOON_MS, Run, Simulated, run_seed};
use crate::store::{Commit, Memory};
use crate::task::Task;
use crate::trace::{Domain, Failure, Passed};
use clients::Script;
use moments::Moment;

/// Contents that clients may send again.
const SENT_MAX: usize = 10;
/// Clients that record a review step by step.
const SCRIPTS_MAX: usize = 3;

/// A request in flight.
enum Op {
    Record {
        content: Arc<NewReview>,
        replace: bool,
        /// It has completed the review.
        ended: bool,
    },
    Open {
        content: Arc<NewReview>,
    },
    Add {
        id: ReviewId,
        response: Arc<NewResponse>,
        /// It has written the last part of the response.
        added: bool,
    },
    Complete {
        id: ReviewId,
        completion: Completion,
        /// It has completed the review.
        ended: bool,
    },
    Feedback {
        id: ReviewId,
        of: FindingKey,
        accepted: bool,
        by: UserName,
        /// It has written the feedback.
        given: bool,
    },
    Delete(ReviewId),
    Read(ReviewId),
    Rollup,
    /// Finishes deletions, and removes abandoned recordings.
    Deletions,
    RawSweep,
}

/// Its result.
enum Outcome {
    Recorded(weir_reviews::Result<Recorded>),
    Added(weir_reviews::Result<bool>),
    Judged(weir_reviews::Result<RecordedFinding>),
    Deleted(weir_reviews::Result<()>),
    Read(Box<weir_reviews::Result<RecordedReview>>),
    RolledUp(weir_reviews::Result<RunReport>),
    Done(weir_reviews::Result<()>),
}

/// A run.
struct Simulation {
    run: Run<Op, Outcome>,
    objects: Objects,
    settings: Settings,
    instances: Vec<Reviews<Memory>>,
    /// Sees the store as it is, by the clock it is given.
    observer: Reviews<Memory>,
    observer_clock: Clock,
    sent: Vec<Arc<NewReview>>,
    scripts: Vec<Script>,
    reviews: BTreeMap<ReviewId, Review>,
    /// What each review was, after each commit that changed it.
    moments: BTreeMap<ReviewId, VecDeque<Moment>>,
}

/// Runs a seed for so many steps.
///
/// # Errors
/// A rule was broken.
pub fn run(seed: u64, steps: u64, checks: &Checks) -> Result<Passed, Box<Failure>> {
    run_seed(seed, steps, async |seed| Simulation::new(seed, checks.clone()).await)
}

fn open(store: Memory, objects: Objects, clock: Clock, settings: &Settings) -> Reviews<Memory> {
    let store = Store::new(store, CursorKey::new(KEY));
    let raw_outputs = RawOutputs::new(Arc::new(objects), "");
    Reviews::new(store, raw_outputs, clock, settings.clone()).expect("valid settings")
}

impl Simulation {
    async fn new(seed: u64, checks: Checks) -> Simulation {
        let (mut run, count) = Run::new(seed, checks);
        let store = run.store.clone();
        let objects = Objects::new(store.clone());
        let settings =
            Settings { index_shards: *run.random.pick(&[1, 1, 3]), ..Settings::default() };
        let observer_clock = Clock::manual(NOON_MS.unsigned_abs());
        let observer = open(store.clone(), objects.clone(), observer_clock.clone(), &settings);
        let spec = weir_reviews::table::spec(&settings.table);
        observer.store().ensure_table(&spec).await.expect("a table");
        let mut simulation = Simulation {
            run,
            objects,
            settings,
            instances: Vec::new(),
            observer,
            observer_clock,
            sent: Vec::new(),
            scripts: Vec::new(),
            reviews: BTreeMap::new(),
            moments: BTreeMap::new(),
        };
        for instance in 0..count {
            simulation.instances.push(simulation.start_instance(instance));
        }
        simulation
    }

    fn start_instance(&self, instance: usize) -> Reviews<Memory> {
        let (store, objects) =
            (self.run.store.of_instance(instance), self.objects.of_instance(instance));
        open(store, objects, self.run.clocks.clock(instance), &self.settings)
    }

    async fn random_step(&mut self) -> Result<(), Violation> {
        if let Some(task) = self.run.pick_in_flight(60) {
            return self.go_on(task).await;
        }
        let instance = self.run.random.index(self.instances.len());
        match self.run.random.number(0..=99) {
            0..=27 => self.record(instance).await,
            28..=44 => self.follow_script(instance).await,
            45..=52 => self.judge(instance).await,
            53..=58 => self.delete(instance).await,
            59..=63 => self.read(instance).await,
            64..=74 => self.advance(),
            75..=77 => self.jump(instance),
            78..=80 => self.restart(instance),
            81 => self.cut_power(),
            82..=86 => self.roll_up(instance).await,
            87..=91 => self.resume_deletions(instance).await,
            92 => self.sweep_raw(instance).await,
            93 => self.check_lists(),
            _ => self.change_weather(),
        }
    }

    /// The list of expiries names every raw output that is stored, so that it is found whatever is killed.
    fn check_stored_raws(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        for raw_key in self.objects.take_stored() {
            if !self.listed_raws().any(|listed| listed == raw_key) {
                let found = format!("{raw_key} is stored, and nothing names it");
                violations.push(Violation::new(Check::RawOutput, found));
            }
        }
        violations
    }

    /// The raw outputs in the list of expiries.
    fn listed_raws(&self) -> impl Iterator<Item = String> {
        let shards = 0..weir_reviews::bounds::RAW_EXPIRY_SHARDS;
        let entries = shards.flat_map(|shard| {
            let partition = weir_reviews::keys::raw_expiry_partition(shard);
            self.run.store.partition(&self.settings.table, &partition)
        });
        entries.filter_map(|(_, item)| {
            let (_, raw_key) = weir_reviews::keys::parse_raw_expiry_sort(item.s("SK")?)?;
            Some(raw_key.to_owned())
        })
    }
}

impl Simulated for Simulation {
    type Op = Op;
    type Outcome = Outcome;
    const DOMAIN: Domain = Domain::Reviews;
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

    fn polled(&mut self) -> Vec<Violation> {
        self.check_stored_raws()
    }

    fn committed(&mut self, index: usize, commit: &Commit) -> Vec<Violation> {
        self.check_commit(index, commit)
    }

    fn answered(&mut self, task: Task<Op, Outcome>, outcome: Outcome) -> Vec<Violation> {
        self.check_answer(&task, outcome)
    }
}
