//! What happens to clocks, instances and the store.

use weir_limiter::lease::OnExpiry;
use weir_limiter::table::TABLE_DEFAULT;

use super::buckets::bucket_name;
use super::{Op, Outcome, Simulation};
use crate::check::Violation;
use crate::model::lease::Lease;
use crate::store::ItemChange;
use crate::task::Task;

/// The expiry of the store, as a writer of buckets: no instance.
const EXPIRY: usize = usize::MAX;

impl Simulation {
    pub(super) fn advance(&mut self) {
        const LONG: [(u32, i64); 5] =
            [(8, 1_000), (5, 20_000), (4, 900_000), (2, 20_000_000), (1, 300_000_000)];
        let longest = self.run.random.weighted(&LONG);
        let ms = self.run.random.duration_ms(longest);
        self.run.pass(ms, is_held);
        self.sync_after(ms);
    }

    pub(super) fn jump(&mut self, instance: usize) {
        self.run.jump(instance, is_held);
    }

    /// Kills an instance with its requests, and starts it again with nothing in memory.
    pub(super) fn restart(&mut self, instance: usize) {
        for task in self.run.kill(instance) {
            self.remember_unanswered(&task);
        }
        self.instances[instance] = self.start_instance(instance);
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
        let before = self.run.change_weather(&[0, 3, 50]);
        if before.stale > 0 {
            self.stale_before = self.run.next_task;
        }
        let is_stale = self.run.store.with(|state| state.rates.stale > 0);
        self.instances.iter_mut().for_each(|instance| instance.read_stale |= is_stale);
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
            self.run.clocks.true_ms()
        } else {
            self.run.clocks.now_ms(instance)
        };
        let swept = self.run.store.sweep(TABLE_DEFAULT, now_ms, 10);
        self.run.trace.say(format_args!("{} expired items are removed at {now_ms}", swept.len()));
        if !swept.is_empty() {
            self.before_write(false);
        }
        for change in &swept {
            self.forget_record(change);
            self.forget_lease(change);
        }
        for name in swept.iter().filter_map(|change| bucket_name(&change.key)) {
            self.run.commits += 1;
            self.bucket_writes.insert((name.clone(), EXPIRY), self.run.commits);
            // What was taken from it cannot be given back any more.
            for task in &mut self.run.tasks {
                if let Op::Acquire { paid, .. } = &mut task.op
                    && let Some(paid) = paid.get_mut(&name)
                {
                    (paid.times, paid.is_gone) = (0, true);
                }
            }
            let violations = self.buckets.swept(&name, now_ms);
            self.run.report(violations)?;
        }
        Ok(())
    }
}

/// Whether a request reads the clock more than once.
fn is_held(op: &Op) -> bool {
    matches!(op, Op::Upkeep)
}
