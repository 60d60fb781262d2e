//! The clocks of the instances: each has its own offset from the true time, drifts, and jumps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_table::clock::Clock;

use crate::random::Random;

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// The true time and the clock of each instance.
#[derive(Debug)]
pub struct Clocks {
    true_ms: i64,
    offsets: Vec<i64>,
    hands: Vec<Arc<AtomicU64>>,
}

impl Clocks {
    /// So many clocks that all show `now_ms`.
    #[must_use]
    pub fn new(count: usize, now_ms: i64) -> Clocks {
        let hand = || Arc::new(AtomicU64::new(now_ms.unsigned_abs()));
        Clocks {
            true_ms: now_ms,
            offsets: vec![0; count],
            hands: std::iter::repeat_with(hand).take(count).collect(),
        }
    }

    /// The clock of an instance.
    #[must_use]
    pub fn clock(&self, instance: usize) -> Clock {
        Clock::Manual(Arc::clone(&self.hands[instance]))
    }

    /// What an instance's clock shows.
    #[must_use]
    pub fn now_ms(&self, instance: usize) -> i64 {
        i64::try_from(self.hands[instance].load(Ordering::SeqCst)).unwrap_or(i64::MAX)
    }

    /// The true time.
    #[must_use]
    pub fn true_ms(&self) -> i64 {
        self.true_ms
    }

    /// Lets time pass on all clocks but those that `is_held`, with some drift.
    pub fn advance(&mut self, ms: i64, random: &mut Random, is_held: impl Fn(usize) -> bool) {
        self.true_ms += ms;
        for instance in 0..self.hands.len() {
            if random.percent(10) {
                self.offsets[instance] += random.number(-5..=5);
            }
            if !is_held(instance) {
                self.show(instance);
            }
        }
    }

    /// Sets a clock forward or back. Returns by how much it differs from the true time.
    pub fn jump(&mut self, instance: usize, random: &mut Random) -> i64 {
        let bound = random.weighted(&[
            (4, 30 * SECOND_MS),
            (4, 20 * MINUTE_MS),
            (3, 5 * HOUR_MS),
            (1, 3 * DAY_MS),
        ]);
        self.offsets[instance] = match random.number(0..=3) {
            0 => 0,
            1 => random.duration_ms(bound),
            _ => -random.duration_ms(bound),
        };
        self.show(instance);
        self.offsets[instance]
    }

    /// Sets all clocks right.
    pub fn agree(&mut self) {
        self.offsets.fill(0);
        (0..self.hands.len()).for_each(|instance| self.show(instance));
    }

    fn show(&self, instance: usize) {
        let now = self.true_ms + self.offsets[instance];
        self.hands[instance].store(now.unsigned_abs(), Ordering::SeqCst);
    }
}
