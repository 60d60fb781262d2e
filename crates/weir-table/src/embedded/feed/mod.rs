//! The change feed, read from the log.
//!
//! A position is `sequence-number of the change in its record`, so a transaction's changes can be
//! read in parts. Only what the operating system has is fed; a consumer that writes what it made of
//! a change does so behind it in the same log, so it can never outlive the change.

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use super::catalog::Table;
use super::change::{self, KeptImages, RawChange};
use super::dirty::Space;
use super::engine::Engine;
use super::keys::{self, KeyRange};
use super::log::{Segment, record, scan};
use super::read;
use crate::error::{Error, Result};
use crate::feed::{Change, FeedPage, Image, Position, Stored};
use crate::item::Item;
use crate::key::Key;
use crate::spec::TableSpec;
use crate::value::Name;

/// The one shard.
pub(super) const SHARD: &str = "log";
/// Bytes of images that one read returns at most, beside its count.
const BYTES_MAX: usize = 4 * 1024 * 1024;

impl Engine {
    /// Reads changes of a table.
    pub(super) async fn feed_read(
        self: &Arc<Self>,
        table: &str,
        shard: &str,
        from: &Position,
        limit: usize,
    ) -> Result<FeedPage> {
        if shard != SHARD {
            return Err(Error::invalid("shard", format!("{shard:?}: the one shard is {SHARD:?}")));
        }
        let table = self.table(table)?;
        let last_seq = self.log.flushed_seq();
        let (seq, skip) = match from {
            Position::Latest => return Ok(page(Vec::new(), last_seq, 0)),
            Position::Oldest => {
                (self.log.segments().first().map_or(1, |segment| segment.first_seq), 0)
            }
            Position::After(position) => parse(position)?,
        };
        // Nobody was ever told such a position of this log: it is from before a restore.
        if seq > last_seq + 1 {
            return Err(Error::Trimmed);
        }
        if seq > last_seq {
            return Ok(FeedPage { changes: Vec::new(), next: from.clone(), ended: false });
        }
        let engine = Arc::clone(self);
        let read = move || engine.read_changes(&table, seq, skip, last_seq, limit);
        self.readers.run(read).await
    }

    fn read_changes(
        &self,
        table: &Arc<Table>,
        seq: u64,
        skip: usize,
        last_seq: u64,
        limit: usize,
    ) -> Result<FeedPage> {
        // Not more than there can be: most reads are of a feed with little new.
        let room = limit.min(usize::try_from(last_seq - seq + 1).unwrap_or(limit));
        let mut found: Vec<Found> = Vec::with_capacity(room);
        let mut images = KeptImages::with_room(room);
        let mut reached = (seq, skip);
        scan::read_from(&self.log.segments(), seq, last_seq, |header, body| {
            let parsed = change::parse(body).map_err(|m| Error::backend("reading the feed", m))?;
            let skip = if header.seq == seq { skip } else { 0 };
            for (number, raw) in parsed.changes.iter().enumerate().skip(skip) {
                if raw.table_id().is_ok_and(|id| id == table.id) {
                    if found.len() >= limit || images.len() >= BYTES_MAX {
                        reached = (header.seq, number);
                        return Ok(false);
                    }
                    images.keep(raw);
                    found.push(Found::of(table, header, number, raw));
                }
            }
            reached = (header.seq + 1, 0);
            Ok(true)
        })?;
        let (seq, skip) = reached;
        let images: Arc<dyn Stored> = Arc::new(images);
        let changes = found.into_iter().enumerate();
        let changes = changes.map(|(number, found)| found.change(table, &images, number));
        let next = Position::After(format!("{seq}-{skip}"));
        Ok(FeedPage { changes: changes.collect::<Result<_>>()?, next, ended: false })
    }

    /// The first sequence that some registered consumer has yet to read; all are passed when there
    /// is no consumer.
    pub(super) fn oldest_position(&self) -> Result<u64> {
        let Some(table) = self.find_table(&self.options.positions_table) else {
            return Ok(u64::MAX);
        };
        let mut oldest = u64::MAX;
        let range = KeyRange::of_prefix(keys::item_prefix(table.id));
        let mut note = |item: &Item| {
            if crate::feed::shard_of(item).is_none() {
                return;
            }
            // A consumer without a position has read nothing yet.
            let position = item.s(crate::feed::POSITION_ATTRIBUTE).map(parse);
            oldest = oldest.min(position.and_then(Result::ok).map_or(0, |(seq, _)| seq));
        };
        for next in self.merged(Space::Items, range.clone(), false) {
            note(&next?.0);
        }
        // After a power cut a consumer may stand where the store has it.
        for next in self.base.range(Space::Items, &range, false) {
            note(&read::decode_item(&next?.1)?);
        }
        Ok(oldest)
    }
}

fn page(changes: Vec<Change>, last_seq: u64, skip: usize) -> FeedPage {
    let next = Position::After(format!("{}-{skip}", last_seq + 1));
    FeedPage { changes, next, ended: false }
}

/// A position is where to read next: a sequence, and changes of it to pass over.
fn parse(position: &str) -> Result<(u64, usize)> {
    let parts = position
        .split_once('-')
        .and_then(|(seq, skip)| Some((seq.parse().ok()?, skip.parse().ok()?)));
    parts.ok_or_else(|| Error::invalid("position", format!("{position:?} is not one of this feed")))
}

/// A change that was found, without its images.
struct Found {
    key: Option<Key>,
    has_old: bool,
    has_new: bool,
    at_ms: u64,
    expired: bool,
    position: Name,
}

impl Found {
    fn of(table: &Table, header: &record::Header, number: usize, raw: &RawChange<'_>) -> Found {
        let (has_old, has_new) = raw.sides();
        let mut position = Name::default();
        // Writing to text in memory does not fail.
        write!(position, "{}-{}", header.seq, number + 1).ok();
        Found {
            key: keys::parse_item(&table.spec, raw.key),
            has_old,
            has_new,
            at_ms: header.at_ms,
            expired: raw.expired,
            position,
        }
    }

    fn change(self, table: &Table, images: &Arc<dyn Stored>, number: usize) -> Result<Change> {
        let old = self.has_old.then(|| Image::before(Arc::clone(images), number));
        let new = self.has_new.then(|| Image::after(Arc::clone(images), number));
        let key = match self.key {
            Some(key) => key,
            None => key_in(&table.spec, new.as_ref().or(old.as_ref()))?,
        };
        Ok(Change {
            table: Name::from(table.spec.name.as_str()),
            key,
            old,
            new,
            at_ms: self.at_ms,
            expired: self.expired,
            position: self.position,
        })
    }
}

/// The key in an image, where its place does not tell it.
fn key_in(spec: &TableSpec, image: Option<&Image>) -> Result<Key> {
    let Some(image) = image else {
        return Err(Error::backend("reading the feed", "a change without an item"));
    };
    let is_key =
        |name: &str| *name == spec.partition || spec.sort.as_ref().is_some_and(|sort| sort == name);
    spec.key_of(&image.pick(is_key)?)
}

/// How long ago a closed segment was last written; none when that cannot be told.
pub(super) fn age_ms(segment: &Segment, now_ms: u64) -> Option<u64> {
    let written = fs::metadata(&segment.path).ok()?.modified().ok()?;
    let written_ms = u64::try_from(written.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?;
    Some(now_ms.saturating_sub(written_ms))
}
