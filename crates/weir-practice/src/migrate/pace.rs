//! Holds a copy to a rate.

use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;

/// A rate of rows per second, from the start on.
#[derive(Debug)]
pub(super) struct Pace {
    rate: Option<NonZeroU32>,
    started: Instant,
    rows: u64,
}

impl Pace {
    pub(super) fn new(rate: Option<NonZeroU32>) -> Pace {
        Pace { rate, started: Instant::now(), rows: 0 }
    }

    /// Waits until so many more rows are within the rate.
    pub(super) async fn after(&mut self, rows: usize) {
        self.rows = self.rows.saturating_add(rows as u64);
        if let Some(due) = due(self.rows, self.rate) {
            tokio::time::sleep_until(self.started + due).await;
        }
    }
}

/// When so many rows may have been copied.
fn due(rows: u64, rate: Option<NonZeroU32>) -> Option<Duration> {
    let rate = u64::from(rate?.get());
    Some(Duration::from_millis(rows.saturating_mul(1000) / rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_rows_per_second() {
        let rate = NonZeroU32::new(200);
        assert_eq!(due(0, rate), Some(Duration::ZERO));
        assert_eq!(due(100, rate), Some(Duration::from_millis(500)));
        assert_eq!(due(1_000, None), None);
    }
}
