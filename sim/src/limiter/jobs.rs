//! The background work of an instance, and the end of a run.

use std::collections::{BTreeMap, BTreeSet};

use weir_limiter::Limiter;
use weir_limiter::aggregate::ObservedChanges;
use weir_limiter::table::TABLE_DEFAULT;
use weir_limiter::usage::{Filter, UsageAccumulator, Window};
use weir_table::Store;
use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;
use weir_table::feed::{Consumer, POSITIONS_TABLE, Position};

use super::{KEY, Op, Outcome, Simulation, clients};
use crate::check::{Check, Violation};
use crate::run::Simulated as _;
use crate::store::{FaultRates, Memory};
use crate::task::at_once;

/// Changes that one run of the job reads.
const CHANGES_MAX: usize = 200;
/// Runs of the job at the end of a run of the simulation.
const LAST_RUNS_MAX: u32 = 10_000;
/// Every lease of the feed is over by then, those of clocks that differ included.
const LEASES_END_MS: u64 = 120_000;

fn consumer(
    store: Memory,
    owner: &str,
    clock: Clock,
    limiter: &Limiter<Memory>,
) -> Consumer<Memory> {
    let store = Store::new(store, CursorKey::new(KEY));
    let consumer = Consumer::new(
        store,
        TABLE_DEFAULT.to_owned(),
        "usage",
        owner,
        POSITIONS_TABLE,
        Position::Oldest,
        clock,
    );
    consumer.expect("valid names").merging(limiter.usage_merge())
}

/// Counts a window of the feed, then refills and propagates. Returns the number of changes.
async fn work(
    limiter: Limiter<Memory>,
    mut consumer: Consumer<Memory>,
) -> weir_limiter::Result<usize> {
    let mut read = 0;
    if let Some(mut window) = consumer.next_window(CHANGES_MAX, &BTreeSet::new()).await? {
        let (mut usage, mut observed) = (UsageAccumulator::default(), ObservedChanges::default());
        while window.is_resumed() || window.changes_read() < CHANGES_MAX {
            let some = consumer.read(&mut window, CHANGES_MAX).await?;
            if some.is_empty() {
                break;
            }
            limiter.accumulate_usage(&mut usage, &some)?;
            limiter.observe(&mut observed, some)?;
        }
        let mut writes = limiter.usage_writes(usage);
        writes.extend(limiter.propagation_writes(&observed));
        read = window.changes_read();
        consumer.commit(window, writes).await?;
        limiter.maintain(&observed).await?;
    }
    limiter.roll_back_expired(20).await?;
    limiter.run_propagation().await?;
    Ok(read)
}

impl Simulation {
    /// Runs the background work of an instance once.
    pub(super) async fn job(&mut self, instance: usize) -> Result<(), Violation> {
        self.run
            .trace
            .say(format_args!("task {} on {instance}: background work", self.run.next_task));
        let limiter = self.instances[instance].limiter.clone();
        let store = self.run.store.of_instance(instance);
        let clock = self.run.clocks.clock(instance);
        let consumer = consumer(store, &format!("instance-{instance}"), clock, &limiter);
        let task = Box::pin(async move {
            Outcome::Done(super::responses::kind(&work(limiter, consumer).await))
        });
        self.start(instance, Op::Upkeep, task).await
    }

    /// Everything ends well: all requests are answered, the store works, and the usage is complete.
    pub(super) async fn end_well(&mut self) -> Result<(), Violation> {
        self.stale_before = self.run.next_task;
        self.run.store.with(|state| state.rates = FaultRates::default());
        let mut polls = 0;
        while !self.run.tasks.is_empty() {
            // One may wait for another, so each goes on after the other.
            polls += 1;
            self.go_on(polls % self.run.tasks.len()).await?;
        }
        self.run.clocks.advance(600_000, &mut self.run.random, |_| false);
        self.run.clocks.agree();
        let now_ms = self.run.clocks.true_ms();
        self.run.store.with(|state| state.now_ms = now_ms.unsigned_abs());
        if let Clock::Manual(now) = &self.observer_clock {
            now.store(now_ms.unsigned_abs(), std::sync::atomic::Ordering::SeqCst);
        }
        self.count_usage();
        self.check_usage()
    }

    fn count_usage(&self) {
        let calm = Store::new(self.run.store.clone(), CursorKey::new(KEY));
        let limiter = Limiter::new(calm, self.observer_clock.clone(), self.settings.clone());
        let mut consumer =
            consumer(self.run.store.clone(), "last", self.observer_clock.clone(), &limiter);
        let mut is_patient = false;
        for _ in 0..LAST_RUNS_MAX {
            let counted = at_once(async {
                let Some(mut window) = consumer.next_window(1000, &BTreeSet::new()).await? else {
                    return Ok(false);
                };
                let mut usage = UsageAccumulator::default();
                while window.is_resumed() || window.changes_read() < CHANGES_MAX {
                    let some = consumer.read(&mut window, 1000).await?;
                    if some.is_empty() {
                        break;
                    }
                    limiter.accumulate_usage(&mut usage, &some)?;
                }
                consumer.commit(window, limiter.usage_writes(usage)).await?;
                Ok::<bool, weir_limiter::Error>(true)
            });
            if !counted.expect("the store works") {
                // Another instance may hold the feed's lease for a while yet.
                match is_patient {
                    true => return,
                    false => is_patient = true,
                }
                self.observer_clock.advance_ms(LEASES_END_MS);
            }
        }
        panic!("the feed does not end");
    }

    fn check_usage(&self) -> Result<(), Violation> {
        let mut recorded = BTreeMap::new();
        for entity in clients::entities() {
            let filter = Filter {
                entity: Some(entity.clone()),
                resource: None,
                window: Window::Monthly,
                from_ms: 0,
                to_ms: i64::MAX / 2,
                limit: 100,
                cursor: None,
            };
            let snapshots = at_once(self.observer.usage(&filter)).expect("the store works").items;
            for snapshot in snapshots {
                for (limit, milli) in snapshot.used_milli {
                    let bucket = (snapshot.entity.clone(), snapshot.resource.clone());
                    *recorded.entry((bucket, limit)).or_insert(0) += milli;
                }
            }
        }
        recorded.retain(|_, used| *used != 0);
        let mut consumed = self.buckets.consumed.clone();
        consumed.retain(|_, used| *used != 0);
        if recorded == consumed {
            return Ok(());
        }
        let differs = consumed.iter().find(|(at, used)| recorded.get(at) != Some(used));
        let found = format!("consumed, and not recorded alike: {differs:?}");
        self.run.report(vec![Violation::new(Check::Usage, found)])
    }
}
