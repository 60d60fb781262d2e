//! What happens to clocks, instances and the store.

use weir_limiter::lease::OnExpiry;
use weir_limiter::table::TABLE_DEFAULT;

use super::buckets::bucket_name;
use super::{Op, Outcome, Simulation};
use crate::check::Violation;
use crate::model::lease::Lease;
use crate::store::{FaultRates, ItemChange};
use crate::task::Task;

impl Simulation {
    pub(super) fn advance(&mut self) {
        const LONG: [(u32, i64); 5] =
            [(8, 1_000), (5, 20_000), (4, 900_000), (2, 20_000_000), (1, 300_000_000)];
        let longest = self.random.weighted(&LONG);
        let ms = self.random.duration_ms(longest);
        let tasks = &self.tasks;
        let is_held = |instance: usize| {
            tasks.iter().any(|task| task.instance == instance && matches!(task.op, Op::Upkeep))
        };
        self.clocks.advance(ms, &mut self.random, is_held);
        let now_ms = self.clocks.true_ms();
        self.store.with(|state| state.now_ms = now_ms.unsigned_abs());
        self.sync_after(ms);
        self.trace.say(format_args!("{ms} ms pass"));
    }

    pub(super) fn jump(&mut self, instance: usize) {
        if self.tasks.iter().any(|task| task.instance == instance && matches!(task.op, Op::Upkeep))
        {
            return;
        }
        let offset = self.clocks.jump(instance, &mut self.random);
        self.trace.say(format_args!("the clock of {instance} is set to be off by {offset} ms"));
    }

    /// Kills an instance with its requests, and starts it again with nothing in memory.
    pub(super) fn restart(&mut self, instance: usize) {
        let (dead, alive): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.tasks).into_iter().partition(|task| task.instance == instance);
        self.tasks = alive;
        for task in &dead {
            self.remember_unanswered(task);
        }
        self.instances[instance] = self.start_instance(instance);
        self.trace.say(format_args!("instance {instance} dies and returns"));
    }

    /// What a request took whose client never learned of it may be given back when its lease expires.
    pub(super) fn remember_unanswered(&mut self, task: &Task<Op, Outcome>) {
        let Op::Acquire { request, paid } = &task.op else { return };
        if request.on_expiry == OnExpiry::Rollback {
            for (name, paid) in paid {
                let taken = (0..paid.times).map(|_| (name.clone(), paid.amounts.clone()));
                self.unanswered.extend(taken);
            }
        }
    }

    pub(super) fn change_weather(&mut self) {
        let rates = FaultRates::random(&mut self.random, &[0, 3, 50]);
        let before = self.store.with(|state| std::mem::replace(&mut state.rates, rates));
        if before.stale > 0 {
            self.stale_before = self.next_task;
        }
        self.instances.iter_mut().for_each(|instance| instance.read_stale |= rates.stale > 0);
        self.trace.say(format_args!("the store changes: {rates:?}"));
    }

    /// The record of a settled lease has expired and was removed, a day after the lease. Who still settles the lease has a clock
    /// that is more than a day behind: for that clock nobody has settled it.
    fn forget_lease(&mut self, change: &ItemChange) {
        let key = change.key.to_string();
        let of_lease = |lease: &Lease| key.contains(&lease.grant.id);
        if let Some(index) = self.leases.iter().position(of_lease) {
            self.before_lease_change(index);
            self.leases[index] = Lease::new(self.leases[index].grant.clone());
        }
    }

    /// Removes expired items by the clock of an instance, as an embedded store does, or by the true time.
    pub(super) fn sweep(&mut self, instance: usize) -> Result<(), Violation> {
        let now_ms = if self.settings.sharded {
            self.clocks.true_ms()
        } else {
            self.clocks.now_ms(instance)
        };
        let swept = self.store.sweep(TABLE_DEFAULT, now_ms, 10);
        self.trace.say(format_args!("{} expired items are removed at {now_ms}", swept.len()));
        if !swept.is_empty() {
            self.before_write(false);
        }
        for change in &swept {
            self.forget_record(change);
            self.forget_lease(change);
        }
        for name in swept.iter().filter_map(|change| bucket_name(&change.key)) {
            self.commits += 1;
            for instance in 0..self.instances.len() {
                self.bucket_writes.insert((name.clone(), instance), self.commits);
            }
            // What was taken from it cannot be given back any more.
            for task in &mut self.tasks {
                if let Op::Acquire { paid, .. } = &mut task.op
                    && let Some(paid) = paid.get_mut(&name)
                {
                    (paid.times, paid.is_gone) = (0, true);
                }
            }
            let violations = self.buckets.swept(&name, now_ms);
            self.report(violations)?;
        }
        Ok(())
    }
}
