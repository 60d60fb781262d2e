//! Synthetic traffic of an office day: little at night, most before and after lunch. The same seed makes the same day.

use weir_calendar::Zone;

use super::ReplayRow;
use crate::bounds::{REPLAY_POINT_MS, REPLAY_ROWS_MAX, TOKENS_MAX};
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::money::TokenUse;

/// Relative load of each local hour.
const HOURS: [u64; 24] =
    [2, 1, 1, 1, 1, 2, 4, 8, 14, 18, 20, 19, 14, 17, 20, 19, 17, 13, 9, 7, 6, 5, 4, 3];
/// Hours change, and clocks jump, at multiples of a quarter of an hour.
const SLOT_MS: i64 = REPLAY_POINT_MS;

/// A synthetic day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of submissions.
    pub requests: usize,
    /// Average input tokens per submission; each has from half to one and a half times as many.
    pub input_tokens: u64,
    /// Average output tokens per submission.
    pub output_tokens: u64,
}

impl Traffic {
    /// The submissions of a day, in order of time.
    ///
    /// # Errors
    /// There are too many submissions or tokens, or the time zone skips the day.
    pub fn rows(&self, zone: &Zone, day: OrgDay) -> Result<Vec<ReplayRow>> {
        if self.requests > REPLAY_ROWS_MAX {
            return Err(Error::invalid("requests", format!("must be at most {REPLAY_ROWS_MAX}")));
        }
        if self.input_tokens.max(self.output_tokens) > TOKENS_MAX / 2 {
            return Err(Error::invalid("tokens", format!("must be at most {}", TOKENS_MAX / 2)));
        }
        let slots = Slots::new(zone, day)?;
        let mut random = fastrand::Rng::with_seed(self.seed);
        let about = |random: &mut fastrand::Rng, mean: u64| random.u64(mean / 2..=mean + mean / 2);
        let mut row = || ReplayRow {
            at_ms: slots.pick(&mut random),
            app: None,
            tokens: TokenUse {
                input: about(&mut random, self.input_tokens),
                output: about(&mut random, self.output_tokens),
                ..TokenUse::default()
            },
        };
        let mut rows: Vec<ReplayRow> = (0..self.requests).map(|_| row()).collect();
        rows.sort_by_key(|row| row.at_ms);
        Ok(rows)
    }
}

/// Quarters of an hour with their cumulative load.
struct Slots {
    slots: Vec<(u64, i64)>,
    total: u64,
    end_ms: i64,
}

impl Slots {
    fn new(zone: &Zone, day: OrgDay) -> Result<Slots> {
        let span = zone.span_of(zone.first_instant(day));
        if span.day != day {
            let problem = format!("{day} does not exist in {}", zone.name());
            return Err(Error::invalid("day", problem));
        }
        let count = (span.end_ms - span.start_ms) / SLOT_MS;
        let mut total = 0;
        let slot = |number: i64| {
            let at_ms = span.start_ms + number * SLOT_MS;
            total += HOURS.get(usize::from(zone.hour_of(at_ms))).copied().unwrap_or(1);
            (total, at_ms)
        };
        let slots = (0..count.max(1)).map(slot).collect();
        Ok(Slots { slots, total, end_ms: span.end_ms })
    }

    fn pick(&self, random: &mut fastrand::Rng) -> i64 {
        let drawn = random.u64(0..self.total.max(1));
        let index = self.slots.partition_point(|(sum, _)| *sum <= drawn);
        let start = self.slots.get(index).map_or(0, |(_, at_ms)| *at_ms);
        (start + random.i64(0..SLOT_MS)).min(self.end_ms - 1)
    }
}
