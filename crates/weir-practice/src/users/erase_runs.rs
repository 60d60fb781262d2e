//! Deletes the runs of a deleted user.
//!
//! Runs are found by GSI1, which may lag, so one look is not enough: the deletion goes on until every look has found nothing
//! for [`ERASURE_QUIET_MS`]. No run is recorded for a deleted user, so nothing comes after that. The time between two looks
//! counts for at most half of it, so that a clock that jumps ahead does not end the deletion.

use weir_table::expr::{Update, add, attr, set};
use weir_table::{Backend, Item, Query, Write};

use super::erase::ErasureReport;
use crate::bounds::ERASURE_QUIET_MS;
use crate::error::Result;
use crate::ids::UserId;
use crate::item::COUNT;
use crate::keys::{self, GSI1};
use crate::practice::Practice;

/// How long no run was found, in milliseconds.
const QUIET: &str = "quiet";
/// When runs were last looked for, in milliseconds since 1970.
const LOOKED_AT: &str = "at";
/// Entries of the index that are read at once.
const PAGE: u32 = 100;

/// Whether a deleted user has runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunsLeft {
    /// The index shows more than were deleted in this run.
    Some,
    /// The index shows none, but may lag.
    Unknown,
    /// The index has shown none for long enough.
    None,
}

/// How long no run was found, after one more look that found none.
fn quiet_ms(marker: &Item, now_ms: i64) -> i64 {
    let Some(looked_at_ms) = marker.i64(LOOKED_AT) else { return 0 };
    let passed_ms = now_ms.saturating_sub(looked_at_ms).clamp(0, ERASURE_QUIET_MS / 2);
    marker.i64(QUIET).unwrap_or_default().saturating_add(passed_ms)
}

impl<B: Backend> Practice<B> {
    /// Deletes the runs of a user that the index shows, and notes how many.
    pub(super) async fn erase_runs(
        &self,
        user: &UserId,
        marker: &Item,
        steps_max: u64,
        report: &mut ErasureReport,
    ) -> Result<RunsLeft> {
        let query = Query::partition(self.table().clone(), keys::own_history_partition(user));
        let mut query = query.index(GSI1).project(["PK", "SK"]).limit(PAGE);
        let (mut shown, mut left) = (0_u64, RunsLeft::Unknown);
        'pages: loop {
            let page = self.store().query(&query).await?;
            for run in page.items.iter().filter_map(|item| keys::parse_history(item.s("PK")?)) {
                if report.steps() >= steps_max {
                    left = RunsLeft::Some;
                    break 'pages;
                }
                shown += 1;
                let is_deleted = self.delete_run(&run).await?;
                report.runs += u64::from(is_deleted);
                if is_deleted {
                    self.note_erasure(user, add(COUNT, 1)).await?;
                }
            }
            match page.cursor {
                Some(cursor) => query = query.after(cursor),
                None => break,
            }
        }
        let now_ms = self.now_ms();
        let quiet_ms = if shown == 0 { quiet_ms(marker, now_ms) } else { 0 };
        let note = set(QUIET, quiet_ms).set(LOOKED_AT, now_ms);
        self.note_erasure(user, note).await?;
        if left == RunsLeft::Unknown && quiet_ms >= ERASURE_QUIET_MS {
            return Ok(RunsLeft::None);
        }
        Ok(left)
    }

    async fn note_erasure(&self, user: &UserId, note: Update) -> Result<()> {
        let write = Write::update(self.table().clone(), keys::erasure(user), note);
        self.write(write.when(attr("PK").exists()).essential()).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_of_the_clock_does_not_end_a_deletion() {
        let first = Item::new();
        assert_eq!(quiet_ms(&first, 7), 0);
        let looked = |quiet: i64, at: i64| Item::new().with(QUIET, quiet).with(LOOKED_AT, at);
        assert_eq!(quiet_ms(&looked(0, 1_000), 61_000), 60_000);
        assert_eq!(quiet_ms(&looked(5, 1_000), i64::MAX), 5 + ERASURE_QUIET_MS / 2);
        assert_eq!(quiet_ms(&looked(5, 1_000), 0), 5);
    }
}
