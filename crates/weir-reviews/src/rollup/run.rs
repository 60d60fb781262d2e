//! The job: rolls up the marked days.

use weir_calendar::Day;
use weir_table::limits::BATCH_WRITE_MAX;
use weir_table::{Backend, Item, Key, Page, Query, Store, Write};

use super::RollupTable;
use super::commit::{Pass, key_of, roll_up};
use super::items::{MARKED_AT, sort_key};
use super::keys::{self, Level};
use crate::bounds::{ROLLUP_DAY_MARKS_MAX, ROLLUP_MARK_SHARDS, ROLLUP_MARKS_PAGE};
use crate::error::{Error, Result};

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunReport {
    /// Days of repositories that were rolled up.
    pub repository_days: u64,
    /// Days of all repositories that were merged.
    pub all_days: u64,
    /// Rollup items put.
    pub put: u64,
    /// Rollup items deleted.
    pub deleted: u64,
    /// Days that another run rolled up at the same time; their marks stay.
    pub contended: u64,
    /// Days whose summaries or rollups cannot be read; their marks stay.
    pub failed: u64,
    /// The first of those, in words.
    pub first_failure: Option<String>,
    /// Age of the oldest mark that was taken, in milliseconds.
    pub lag_ms: i64,
    /// Whether marks may remain because the run reached its bound.
    pub has_more: bool,
}

/// Rolls up at most `bound` marked days of repositories, then at most `bound` days of all repositories.
///
/// # Errors
/// The store fails. Days that were rolled up stay, and the marks of the others too.
pub async fn run<B: Backend>(
    store: &Store<B>,
    table: &RollupTable,
    now_ms: i64,
    bound: u64,
) -> Result<RunReport> {
    let mut run = Run { store, table, now_ms, report: RunReport::default() };
    // Another partition begins each time, so that none waits for the others for ever.
    let first = fastrand::u32(..ROLLUP_MARK_SHARDS);
    for shard in 0..ROLLUP_MARK_SHARDS {
        let left = bound.saturating_sub(run.report.repository_days);
        run.take_marks(keys::marks((first + shard) % ROLLUP_MARK_SHARDS), left).await?;
    }
    run.take_marks(keys::ALL_MARKS.to_owned(), bound).await?;
    Ok(run.report)
}

struct Run<'a, B> {
    store: &'a Store<B>,
    table: &'a RollupTable,
    now_ms: i64,
    report: RunReport,
}

/// Marks of the same day.
struct Group {
    level: Level,
    day: Day,
    marks: Vec<Key>,
    marked_at_ms: i64,
}

impl<B: Backend> Run<'_, B> {
    /// Rolls up the days marked in a partition, at most `bound`.
    async fn take_marks(&mut self, partition: String, bound: u64) -> Result<()> {
        let query = Query::partition(self.table.name.clone(), partition).limit(ROLLUP_MARKS_PAGE);
        let (mut cursor, mut last, mut taken) = (None, None, 0);
        loop {
            let page = Query { cursor, ..query.clone() };
            let Page { items, cursor: next, .. } = self.store.query(&page).await?;
            let mut groups = groups(last.take(), &items, self.now_ms)?;
            // The next page may have more marks of the last day.
            if next.is_some() {
                last = groups.pop_if(|group| group.marks.len() < ROLLUP_DAY_MARKS_MAX);
            }
            for group in groups {
                if taken >= bound {
                    self.report.has_more = true;
                    return Ok(());
                }
                taken += u64::from(self.take(group).await?);
            }
            if next.is_none() {
                return Ok(());
            }
            cursor = next;
        }
    }

    /// Rolls up a day and clears the marks that were read before. Returns whether it did.
    async fn take(&mut self, group: Group) -> Result<bool> {
        let Group { level, day, marks, marked_at_ms } = group;
        match roll_up(self.store, self.table, &level, day, self.now_ms).await {
            Ok(Pass::Committed { put, deleted }) => {
                self.clear(marks).await?;
                let report = &mut self.report;
                match level {
                    Level::Repository(..) => report.repository_days += 1,
                    Level::All => report.all_days += 1,
                }
                report.put += put;
                report.deleted += deleted;
                report.lag_ms = report.lag_ms.max(self.now_ms.saturating_sub(marked_at_ms));
                return Ok(true);
            }
            Ok(Pass::Contended) | Err(Error::Contended) => self.report.contended += 1,
            Err(error @ Error::Damaged { .. }) => {
                self.report.failed += 1;
                self.report.first_failure.get_or_insert_with(|| format!("{day}: {error}"));
            }
            Err(error) => return Err(error),
        }
        Ok(false)
    }

    /// A day that is marked again has another mark, which stays.
    async fn clear(&self, marks: Vec<Key>) -> Result<()> {
        for marks in marks.chunks(BATCH_WRITE_MAX) {
            // A mark that a power cut brings back costs one more pass.
            let delete = |key: &Key| Write::delete(self.table.name.clone(), key.clone()).flushed();
            self.store.batch_write(marks.iter().map(delete).collect()).await?;
        }
        Ok(())
    }
}

/// The marks of a page by day, after those of the day that the page before ended with.
fn groups(last: Option<Group>, items: &[Item], now_ms: i64) -> Result<Vec<Group>> {
    let mut groups = Vec::from_iter(last);
    for item in items {
        let mark = keys::parse_mark(sort_key(item)?);
        let (level, day) = mark.ok_or_else(|| Error::damaged("a mark", "its key has no day"))?;
        let (key, at_ms) = (key_of(item)?, item.i64(MARKED_AT).unwrap_or(now_ms));
        match groups.last_mut() {
            Some(group) if group.level == level && group.day == day => {
                group.marks.push(key);
                group.marked_at_ms = group.marked_at_ms.min(at_ms);
            }
            _ => groups.push(Group { level, day, marks: vec![key], marked_at_ms: at_ms }),
        }
    }
    Ok(groups)
}
