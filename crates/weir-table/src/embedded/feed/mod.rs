//! The change feed, read from the log.
//!
//! A position is `sequence-index`: a record's sequence number and the index of a change in it, so a transaction's changes
//! can be read in parts. Only what was handed to the operating system is fed. A consumer's writes follow the change in the
//! same log, so they can never outlive it.

mod buffer_pool;
mod collect;
mod images;

use std::fs;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

pub(super) use self::buffer_pool::BufferPool;
use self::collect::ChangeCollector;
use super::catalog::Table;
use super::dirty::Space;
use super::engine::Engine;
use super::keys::{self, KeyRange};
use super::log::{Segment, scan};
use super::{raw, read};
use crate::error::{Error, Result};
use crate::feed::{FeedPage, Merge, Position};
use crate::item::Item;

/// The id of the only shard.
pub(super) const SHARD: &str = "log";

impl Engine {
    /// Reads changes of a table.
    pub(super) async fn feed_read(
        self: &Arc<Self>,
        table: &str,
        shard: &str,
        from: &Position,
        limit: usize,
        merge: Option<Merge>,
    ) -> Result<FeedPage> {
        if shard != SHARD {
            return Err(Error::invalid(
                "shard",
                format!("{shard:?} does not exist; the only shard is {SHARD:?}"),
            ));
        }
        let table = self.table(table)?;
        let last_seq = self.log.flushed_seq();
        let (seq, skip) = match from {
            Position::Latest => return Ok(empty_page(after(last_seq + 1))),
            Position::Oldest => {
                (self.log.segments().first().map_or(1, |segment| segment.first_seq), 0)
            }
            Position::After(position) => parse(position)?,
        };
        // This log never returned such a position: it is from before a restore.
        if seq > last_seq + 1 {
            return Err(Error::Trimmed);
        }
        if seq > last_seq {
            return Ok(empty_page(from.clone()));
        }
        let engine = Arc::clone(self);
        let read = move || engine.read_changes(&table, (seq, skip), last_seq, limit, merge);
        self.feed_readers.run(read).await
    }

    fn read_changes(
        &self,
        table: &Table,
        (seq, skip): (u64, usize),
        last_seq: u64,
        limit: usize,
        merge: Option<Merge>,
    ) -> Result<FeedPage> {
        let mut collector = ChangeCollector::new(table, limit, merge, &self.feed_buffers);
        let mut reached = (seq, skip);
        let unreadable = |malformed| Error::backend("reading the feed", malformed);
        let read = scan::read_from(&self.log.segments(), seq, last_seq, |header, body| {
            let skip = if header.seq == seq { skip } else { 0 };
            let changes = raw::changes(body, |_, _| {}).map_err(unreadable)?;
            for (number, raw) in changes.enumerate().skip(skip) {
                let raw = raw.map_err(unreadable)?;
                if raw.table_id().is_ok_and(|id| id == table.id) {
                    if collector.is_full() {
                        reached = (header.seq, number);
                        return Ok(false);
                    }
                    collector.add(header, number, &raw).map_err(unreadable)?;
                }
            }
            reached = (header.seq + 1, 0);
            Ok(true)
        });
        match read {
            // Changes before the damage are read first; the next read begins with it.
            Err(Error::Corrupt { .. }) if reached > (seq, skip) => {}
            // Changes are missing, as if they had been trimmed: only a full pass over the table finds them.
            Err(error @ Error::Corrupt { .. }) => {
                tracing::error!(%error, table = table.spec.name, seq, "the feed cannot be read here");
                return Err(Error::Trimmed);
            }
            read => read?,
        }
        let (seq, skip) = reached;
        collector.into_page(Position::After(format!("{seq}-{skip}")))
    }

    /// The first sequence number that some active consumer has yet to read; `u64::MAX` without consumers. A consumer that
    /// has read nothing for long is not waited for: it gets [`Error::Trimmed`] when it comes back.
    pub(super) fn oldest_position(&self, now_ms: u64) -> Result<u64> {
        let Some(table) = self.find_table(&self.options.positions_table) else {
            return Ok(u64::MAX);
        };
        let range = KeyRange::of_prefix(keys::item_prefix(table.id));
        let next_seq = self.log.last_seq() + 1;
        let (mut oldest, mut lags) = (u64::MAX, Vec::new());
        let mut note = |item: &Item| {
            let position = next_position(item)?;
            if self.is_waited_for(item, now_ms) {
                oldest = oldest.min(position);
            }
            Some(position)
        };
        for next in self.merged(Space::Items, range.clone(), false) {
            let item = next?.0;
            if let Some(position) = note(&item)
                && let Some((table, consumer)) = crate::feed::consumer_of(&item)
            {
                let (table, consumer) = (table.to_owned(), consumer.to_owned());
                let commits = next_seq.saturating_sub(position);
                lags.push(ConsumerLag { table, consumer, commits });
            }
        }
        // After a power cut a consumer may fall back to the position in the base store.
        for next in self.base.range(Space::Items, &range, false) {
            note(&read::decode_item(&next?.1)?);
        }
        *self.consumer_lags.lock() = lags;
        Ok(oldest)
    }

    /// Whether a consumer has read lately. While the store was closed, none could.
    fn is_waited_for(&self, item: &Item, now_ms: u64) -> bool {
        let seen_ms = crate::feed::seen_ms(item).unwrap_or(0).max(self.opened_ms);
        let idle = Duration::from_millis(now_ms.saturating_sub(seen_ms));
        idle <= self.options.feed_idle_max
    }
}

/// The sequence number that a consumer reads next, zero if it has read nothing yet; `None` for an item without a position.
fn next_position(item: &Item) -> Option<u64> {
    crate::feed::shard_of(item)?;
    let position = item.s(crate::feed::POSITION_ATTRIBUTE).map(parse);
    Some(position.and_then(Result::ok).map_or(0, |(seq, _)| seq))
}

/// How far a consumer of the feed is behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerLag {
    /// The table whose changes it reads.
    pub table: String,
    /// Its name.
    pub consumer: String,
    /// Commits to all tables that it has yet to read past.
    pub commits: u64,
}

fn empty_page(next: Position) -> FeedPage {
    FeedPage::new(Vec::new(), next, false)
}

fn after(seq: u64) -> Position {
    Position::After(format!("{seq}-0"))
}

/// Parses a position: the sequence number to read next, and the number of its changes to skip.
fn parse(position: &str) -> Result<(u64, usize)> {
    let parts = position
        .split_once('-')
        .and_then(|(seq, skip)| Some((seq.parse().ok()?, skip.parse().ok()?)));
    parts.ok_or_else(|| {
        Error::invalid("position", format!("{position:?} is not a position of this feed"))
    })
}

/// Time since a closed segment was last written, if the file system reports it.
pub(super) fn age_ms(segment: &Segment, now_ms: u64) -> Option<u64> {
    let written = fs::metadata(&segment.path).ok()?.modified().ok()?;
    let written_ms = u64::try_from(written.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?;
    Some(now_ms.saturating_sub(written_ms))
}
