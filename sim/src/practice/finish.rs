//! The end of a run: the store works again, every counter agrees with its log, and every job ends.

use weir_calendar::Day;
use weir_practice::counters::Counter;
use weir_practice::ids::{UserId, WorkerId};
use weir_practice::jobs::Claim;
use weir_practice::stats::{UsageCounts, UsageDirtySet};
use weir_practice::usage::Repair;
use weir_table::clock::Clock;

use super::{SCRIPT, Simulation};
use crate::check::{Check, Violation};
use crate::run::Simulated as _;
use crate::store::FaultRates;
use crate::task::at_once;

/// More than half of the longest lease of a run.
const HALF_LEASE_MS: i64 = 31_000;

impl Simulation {
    pub(super) async fn end_well(&mut self) -> Result<(), Violation> {
        self.run.store.with(|state| state.rates = FaultRates::default());
        self.drain().await?;
        self.run.clocks.agree();
        self.finish_jobs().await?;
        self.check_lists()?;
        if let Clock::Manual(now) = &self.observer_clock {
            let now_ms = self.run.clocks.true_ms().unsigned_abs();
            now.store(now_ms, std::sync::atomic::Ordering::SeqCst);
        }
        let violations = self.check_counters().into_iter().chain(self.check_rollups());
        self.run.report(violations.collect())
    }

    /// Workers come and die until no job is left: each is claimed again, and fails after so many attempts.
    async fn finish_jobs(&mut self) -> Result<(), Violation> {
        self.workers.clear();
        // Three looks end a lease, and each job has so many attempts. In a round there is a worker for every job.
        let rounds = 4 * (self.settings.job_attempts_max + 2);
        for round in 0..rounds {
            for _ in 0..=self.open_jobs() {
                let worker = WorkerId::new(format!("last{round}")).expect("an id");
                let claim = Claim { worker, lease_ms: Some(1_000) };
                let practice = self.instances[0].clone();
                let work = Box::pin(async move {
                    let claimed = practice.claim_next_job(SCRIPT, &claim).await;
                    super::Outcome::Claimed(Box::new(claimed))
                });
                self.start(0, super::Op::Claim { took: None }, work).await?;
                self.drain().await?;
            }
            self.run.pass(HALF_LEASE_MS, |_| false);
        }
        let left = self.open_jobs();
        if left == 0 {
            return Ok(());
        }
        let found = format!("{left} jobs have not ended: {:?}", self.model.jobs);
        self.run.report(vec![Violation::new(Check::JobsEnd, found)])
    }

    /// Every counter equals its log, and what the model has.
    fn check_counters(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        for ((user, day, action), count) in &self.model.counts {
            let logged = at_once(self.observer.logged_count(user, *day, *action));
            let recount = at_once(self.observer.recount(user, *day, Repair::No));
            let (logged, recount) = (logged.expect("a log"), recount.expect("a recount"));
            if logged != *count || !recount.differences.is_empty() {
                let found = format!("{user} on {day}: {logged} logged, {count} done: {recount:?}");
                violations.push(Violation::new(Check::CounterLog, found));
            }
        }
        for plan in &self.plans {
            let counter = Counter::PlanUsers(*plan);
            let recount = self.observer.recount_counter(&counter, Repair::No);
            let recount = at_once(recount).expect("a recount");
            if recount.is_different() || recount.found != self.model.users_of(*plan) as u64 {
                violations.push(Violation::new(Check::PlanUsers, format!("{recount:?}")));
            }
        }
        violations
    }

    /// After everything is rolled up, statistics are the sum of what was counted.
    fn check_rollups(&self) -> Vec<Violation> {
        let mut dirty = UsageDirtySet::default();
        let mut total = 0;
        let mut days: Vec<Day> = Vec::new();
        for ((user, day, _), count) in &self.model.counts {
            dirty.mark(*day, UserId::clone(user));
            days.push(*day);
            total += count;
        }
        let Some((first, last)) = days.iter().min().zip(days.iter().max()) else {
            return Vec::new();
        };
        at_once(self.observer.roll_up(&dirty)).expect("the store works");
        self.run.store.with(|state| state.commits.clear());
        let counts = at_once(self.observer.stats(*first, *last)).map(|stats| stats.counts);
        if counts.as_ref().map(|counts| UsageCounts::total(*counts)).ok() == Some(total) {
            return Vec::new();
        }
        let found = format!("{counts:?} from {first} to {last}, and {total} were counted");
        vec![Violation::new(Check::RollupComplete, found)]
    }
}
