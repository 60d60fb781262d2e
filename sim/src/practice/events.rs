//! What happens to clocks, instances and the store.

use weir_practice::ids::UserId;

use super::{Op, Simulation};
use crate::check::Violation;
use crate::run::NOON_MS;

const HOUR_MS: i64 = 3_600_000;
/// A run ends before its first logs expire, by any clock.
const LONGEST_RUN_MS: i64 = 60 * 86_400_000;

/// A request that reads the clock more than once, and whose day the model knows by the first time.
fn is_held(op: &Op) -> bool {
    matches!(op, Op::ResetDay)
}

impl Simulation {
    pub(super) fn advance(&mut self) -> Result<(), Violation> {
        const LONG: [(u32, i64); 4] = [(8, 1_000), (6, 20_000), (5, 60_000), (3, 20_000_000)];
        let is_late = self.run.clocks.true_ms() - NOON_MS > LONGEST_RUN_MS;
        let ms = if !is_late && self.run.random.percent(15) {
            // Midnight passes.
            self.run.random.number(HOUR_MS..=24 * HOUR_MS)
        } else {
            let longest = if is_late { 1_000 } else { self.run.random.weighted(&LONG) };
            self.run.random.duration_ms(longest)
        };
        self.run.pass(ms, is_held);
        Ok(())
    }

    pub(super) fn jump(&mut self, instance: usize) -> Result<(), Violation> {
        self.run.jump(instance, is_held);
        Ok(())
    }

    /// Kills an instance with its requests, and starts it again: what it saw of leases is lost.
    pub(super) fn restart(&mut self, instance: usize) -> Result<(), Violation> {
        self.run.kill(instance);
        self.instances[instance] = self.start_instance(instance);
        Ok(())
    }

    /// The machine of an embedded store loses power. Everything is synced, so the model stays as it is.
    pub(super) fn cut_power(&mut self) -> Result<(), Violation> {
        self.run.cut_power(0);
        (0..self.instances.len()).try_for_each(|instance| self.restart(instance))
    }

    pub(super) fn change_weather(&mut self) -> Result<(), Violation> {
        self.run.change_weather(&[0, 3, 50]);
        Ok(())
    }

    /// Removes expired records of idempotency keys, by the true time.
    pub(super) fn sweep(&mut self) -> Result<(), Violation> {
        let now_ms = self.run.clocks.true_ms();
        let swept = self.run.store.sweep(&self.settings.table, now_ms, 20);
        self.run.trace.say(format_args!("{} expired items are removed", swept.len()));
        for change in &swept {
            let key = change.key.to_string();
            self.model.keys.retain(|(user, name), _| !key.starts_with(&record(user, name)));
        }
        Ok(())
    }
}

/// The key of the record of an idempotency key, as text.
fn record(user: &UserId, name: &str) -> String {
    let key = weir_practice::ids::IdempotencyKey::new(name).expect("a key");
    weir_practice::keys::idempotency(user, &key).to_string()
}
