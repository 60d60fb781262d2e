//! What happens to clocks, instances and the store.

use super::{Op, Outcome, Simulation};
use crate::check::Violation;
use crate::store::FaultRates;
use crate::task::Task;

impl Simulation {
    pub(super) fn advance(&mut self) -> Result<(), Violation> {
        const LONG: [(u32, i64); 4] =
            [(6, 10_000), (5, 1_800_000), (4, 30_000_000), (1, 400_000_000)];
        let longest = self.random.weighted(&LONG);
        let ms = self.random.duration_ms(longest);
        let tasks = &self.tasks;
        self.clocks.advance(ms, &mut self.random, |instance| is_held(tasks, instance));
        let now_ms = self.clocks.true_ms();
        self.store.with(|state| state.now_ms = now_ms.unsigned_abs());
        self.trace.say(format_args!("{ms} ms pass"));
        Ok(())
    }

    pub(super) fn jump(&mut self, instance: usize) -> Result<(), Violation> {
        if is_held(&self.tasks, instance) {
            return Ok(());
        }
        let offset = self.clocks.jump(instance, &mut self.random);
        self.trace.say(format_args!("the clock of {instance} is set to be off by {offset} ms"));
        Ok(())
    }

    pub(super) fn restart(&mut self, instance: usize) -> Result<(), Violation> {
        self.tasks.retain(|task| task.instance != instance);
        self.instances[instance] = self.start_instance(instance);
        self.trace.say(format_args!("instance {instance} dies and returns"));
        Ok(())
    }

    /// The machine of an embedded store loses power. A keeper syncs everything that it writes, so the model stays as it is.
    pub(super) fn cut_power(&mut self) -> Result<(), Violation> {
        self.trace.say(format_args!("the power is cut"));
        self.store.cut_power(0);
        (0..self.instances.len()).try_for_each(|instance| self.restart(instance))
    }

    pub(super) fn change_weather(&mut self) -> Result<(), Violation> {
        let rates = FaultRates::random(&mut self.random, &[0]);
        let before = self.store.with(|state| std::mem::replace(&mut state.rates, rates));
        if before.stale > 0 {
            self.stale_before = self.next_task;
        }
        self.trace.say(format_args!("the store changes: {rates:?}"));
        Ok(())
    }

    /// Removes expired records of submissions and fallbacks, by the true time.
    pub(super) fn sweep(&mut self) -> Result<(), Violation> {
        let now_ms = self.clocks.true_ms();
        let tables = self.settings.tables.clone();
        let mut count = 0;
        for table in [&tables.request_dedup, &tables.sticky_state] {
            count += self.store.sweep(table, now_ms, 200).len();
        }
        self.trace.say(format_args!("{count} expired items are removed"));
        Ok(())
    }
}

/// Whether a request is in flight that reads the clock more than once.
fn is_held(tasks: &[Task<Op, Outcome>], instance: usize) -> bool {
    tasks.iter().any(|task| task.instance == instance && matches!(task.op, Op::FullPass))
}
