//! What happens to clocks, instances and the store.

use super::{Op, Simulation};
use crate::check::Violation;

impl Simulation {
    pub(super) fn advance(&mut self) -> Result<(), Violation> {
        const LONG: [(u32, i64); 4] =
            [(6, 10_000), (5, 1_800_000), (4, 30_000_000), (1, 400_000_000)];
        let longest = self.run.random.weighted(&LONG);
        let ms = self.run.random.duration_ms(longest);
        self.run.pass(ms, is_held);
        Ok(())
    }

    pub(super) fn jump(&mut self, instance: usize) -> Result<(), Violation> {
        self.run.jump(instance, is_held);
        Ok(())
    }

    pub(super) fn restart(&mut self, instance: usize) -> Result<(), Violation> {
        self.run.kill(instance);
        self.instances[instance] = self.start_instance(instance);
        Ok(())
    }

    /// The machine of an embedded store loses power. A keeper syncs everything that it writes, so the model stays as it is.
    pub(super) fn cut_power(&mut self) -> Result<(), Violation> {
        self.run.cut_power(0);
        (0..self.instances.len()).try_for_each(|instance| self.restart(instance))
    }

    pub(super) fn change_weather(&mut self) -> Result<(), Violation> {
        let before = self.run.change_weather(&[0]);
        if before.stale > 0 {
            self.stale_before = self.run.next_task;
        }
        Ok(())
    }

    /// Removes expired records of submissions and fallbacks, by the true time.
    pub(super) fn sweep(&mut self) -> Result<(), Violation> {
        let now_ms = self.run.clocks.true_ms();
        let tables = self.settings.tables.clone();
        let mut count = 0;
        for table in [&tables.request_dedup, &tables.sticky_state] {
            count += self.run.store.sweep(table, now_ms, 200).len();
        }
        self.run.trace.say(format_args!("{count} expired items are removed"));
        Ok(())
    }
}

/// Whether a request reads the clock more than once.
fn is_held(op: &Op) -> bool {
    matches!(op, Op::FullPass)
}
