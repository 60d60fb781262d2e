//! The public feed, newest first.
//!
//! With a partition per day the feed walks back from today to the first day that has one, which an item notes, and then goes
//! on with the one partition of earlier times. A cursor names its partition, and continues inside of it or at its start.

use weir_calendar::Day;
use weir_table::expr::{attr, set};
use weir_table::retry::{Listed, PAGE_MAX};
use weir_table::{Backend, Write};

use super::RunSummary;
use super::item::{decode_summary, summary_paths};
use crate::bounds::FEED_DAYS_PER_READ_MAX;
use crate::day::utc_day;
use crate::error::{Error, Result};
use crate::keys::{self, List};
use crate::list::PageRequest;
use crate::practice::Practice;
use crate::settings::FeedPartitioning;

const FIRST_DAY: &str = "first_day";
/// Name of the one partition in cursors.
const SINGLE: &str = "all";

/// A place in a feed with a partition per day.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FeedCursor {
    /// The partition; `None` for the one that has no day.
    day: Option<Day>,
    /// Cursor in the partition; `None` for its start.
    inner: Option<String>,
}

impl FeedCursor {
    fn parse(text: &str) -> Option<FeedCursor> {
        let (day, inner) = text.split_once('~')?;
        let day = if day == SINGLE { None } else { Some(Day::from_compact(day)?) };
        Some(FeedCursor { day, inner: Some(inner.to_owned()).filter(|inner| !inner.is_empty()) })
    }

    fn to_text(&self) -> String {
        let day = self.day.map_or_else(|| SINGLE.to_owned(), Day::compact);
        format!("{day}~{}", self.inner.as_deref().unwrap_or_default())
    }
}

impl<B: Backend> Practice<B> {
    /// A page of public runs, newest first. A page may be short while there are more.
    ///
    /// # Errors
    /// The cursor is not of the feed, or the store fails.
    pub async fn feed(&self, page: &PageRequest) -> Result<Listed<RunSummary>> {
        match self.settings().public_feed_partitioning {
            FeedPartitioning::Single => self.feed_partition(None, page).await,
            FeedPartitioning::Day => self.feed_by_day(page).await,
        }
    }

    async fn feed_by_day(&self, page: &PageRequest) -> Result<Listed<RunSummary>> {
        let wrong = || Error::invalid("cursor", "is not a cursor of the feed; start without one");
        let parse = |text: &String| FeedCursor::parse(text).ok_or_else(wrong);
        let first = self.first_feed_day().await?;
        let today = utc_day(self.now_ms());
        let mut at = match page.cursor.as_ref().map(parse).transpose()? {
            Some(cursor) => cursor,
            None => FeedCursor { day: first.map(|_| today), inner: None },
        };
        let limit = page.limit.clamp(1, PAGE_MAX);
        let mut items = Vec::new();
        for _ in 0..FEED_DAYS_PER_READ_MAX {
            let found = u32::try_from(items.len()).unwrap_or(limit);
            let left = PageRequest { limit: limit.saturating_sub(found), cursor: at.inner.take() };
            let part = self.feed_partition(at.day, &left).await?;
            items.extend(part.items);
            match (part.cursor, at.day) {
                (Some(inner), _) => at.inner = Some(inner),
                (None, None) => return Ok(Listed { items, cursor: None }),
                (None, Some(day)) => at.day = day_before(day, first),
            }
            if items.len() >= limit as usize {
                break;
            }
        }
        Ok(Listed { items, cursor: Some(at.to_text()) })
    }

    async fn feed_partition(
        &self,
        day: Option<Day>,
        page: &PageRequest,
    ) -> Result<Listed<RunSummary>> {
        let found = self.members_with(&List::Feed(day), page, &summary_paths()).await?;
        let read = found.items.iter().filter_map(|item| decode_summary(item).ok());
        // The index may lag: a run may be private by now.
        let items = read.filter(|run| run.is_public).collect();
        Ok(Listed { items, cursor: found.cursor })
    }

    /// Notes that a day has a partition, unless an earlier one has.
    pub(super) async fn note_feed_day(&self, day: Day) -> Result<()> {
        if self.first_feed_day().await?.is_some_and(|first| first <= day) {
            return Ok(());
        }
        let compact = day.compact();
        let is_later = attr(FIRST_DAY).absent().or(attr(FIRST_DAY).gt(compact.as_str()));
        let update = set(FIRST_DAY, compact);
        let write = Write::update(self.table().clone(), keys::feed_days(), update);
        self.write(write.when(is_later)).await?;
        Ok(())
    }

    async fn first_feed_day(&self) -> Result<Option<Day>> {
        let item = self.item(keys::feed_days()).await?;
        Ok(item.and_then(|item| Day::from_compact(item.s(FIRST_DAY)?)))
    }
}

/// The day before, or the one partition after the first day.
fn day_before(day: Day, first: Option<Day>) -> Option<Day> {
    first.filter(|first| *first < day).map(|_| day.plus_days(-1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back() {
        let day = Day::from_compact("20370123");
        for (cursor, text) in [
            (FeedCursor { day, inner: None }, "20370123~"),
            (FeedCursor { day, inner: Some("abc".into()) }, "20370123~abc"),
            (FeedCursor { day: None, inner: None }, "all~"),
        ] {
            assert_eq!(cursor.to_text(), text);
            assert_eq!(FeedCursor::parse(text), Some(cursor));
        }
        for bad in ["", "abc", "2037012~", "x~y"] {
            assert_eq!(FeedCursor::parse(bad), None);
        }
    }

    #[test]
    fn the_feed_ends_with_the_one_partition() {
        let day = |text| Day::from_compact(text).unwrap();
        assert_eq!(day_before(day("20370101"), Some(day("20361230"))), Some(day("20361231")));
        assert_eq!(day_before(day("20361230"), Some(day("20361230"))), None);
        assert_eq!(day_before(day("20361230"), None), None);
    }
}
