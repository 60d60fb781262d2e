//! What happens to clocks, instances and the store.

use weir_reviews::bounds::ABANDONED_AFTER_MS;

use super::{Op, Simulation};
use crate::check::Violation;
use crate::run::NOON_MS;

/// A run ends before its first reviews expire, by any clock: 60 days.
const LONGEST_RUN_MS: i64 = 60 * 86_400_000;

/// A request that reads the clock for what it writes must find the time at which it began.
fn is_held(op: &Op) -> bool {
    match op {
        Op::Record { content, .. } | Op::Open { content } => content.head.created_at_ms.is_none(),
        _ => false,
    }
}

impl Simulation {
    pub(super) fn advance(&mut self) -> Result<(), Violation> {
        const LONG: [(u32, i64); 3] = [(8, 1_000), (5, 60_000), (2, 20_000_000)];
        let is_late = self.run.clocks.true_ms() - NOON_MS > LONGEST_RUN_MS;
        let ms = if is_late {
            1
        } else if self.run.random.percent(15) {
            // Recordings that were killed before are abandoned now.
            self.run.random.number(ABANDONED_AFTER_MS..=2 * ABANDONED_AFTER_MS)
        } else {
            let longest = self.run.random.weighted(&LONG);
            self.run.random.duration_ms(longest)
        };
        self.pass(ms);
        Ok(())
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, ms: i64) {
        self.run.pass(ms, is_held);
    }

    pub(super) fn jump(&mut self, instance: usize) -> Result<(), Violation> {
        self.run.jump(instance, is_held);
        Ok(())
    }

    /// Kills an instance with its requests, and starts it again.
    pub(super) fn restart(&mut self, instance: usize) -> Result<(), Violation> {
        self.run.kill(instance);
        self.instances[instance] = self.start_instance(instance);
        Ok(())
    }

    /// The machine of an embedded store loses power. Reviews sync everything that they write, so the model stays as it is.
    pub(super) fn cut_power(&mut self) -> Result<(), Violation> {
        self.run.cut_power(0);
        (0..self.instances.len()).try_for_each(|instance| self.restart(instance))
    }

    pub(super) fn change_weather(&mut self) -> Result<(), Violation> {
        self.run.change_weather(&[0, 3, 50]);
        Ok(())
    }
}
