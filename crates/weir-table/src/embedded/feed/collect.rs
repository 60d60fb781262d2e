//! Collects the changes of a table from log records, and merges changes of an item if the reader allows it.
//!
//! A change is merged into the previous one of the same item if nothing is lost: both found an item and left one, neither
//! added an attribute, the later one removed none, and both are in the same span of time.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::buffer_pool::BufferPool;
use super::images::ImageBuffer;
use crate::embedded::catalog::Table;
use crate::embedded::codec::{self, Malformed};
use crate::embedded::keys;
use crate::embedded::log::record::Header;
use crate::embedded::raw::RawChange;
use crate::error::{Error, Result};
use crate::feed::{Change, FeedPage, Image, Merge, Merged, Position, Stored};
use crate::key::Key;
use crate::spec::TableSpec;
use crate::value::Name;

/// Bytes of images that one read returns.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Changes that one merging read covers.
const MERGE_READ_MAX: usize = 16 * 1024;
/// Changes that one merging read returns.
const MERGED_MAX: usize = 8 * 1024;

pub(super) struct ChangeCollector<'t> {
    table: &'t Table,
    merge: Option<Merge>,
    limit: usize,
    images: ImageBuffer,
    changes: Vec<CollectedChange>,
    /// Index of the latest change of each item that may be merged, by storage key.
    latest: HashMap<Box<[u8]>, usize>,
    read: usize,
    last: Option<LogPosition>,
}

/// A record's sequence number, and the index of a change in it.
type LogPosition = (u64, usize);

/// A change without its images.
struct CollectedChange {
    key: Option<Key>,
    has_old: bool,
    has_new: bool,
    expired: bool,
    at_ms: u64,
    position: LogPosition,
    /// Number of attributes, if changes may be merged into this one. Only then are the fields below used.
    attributes: Option<usize>,
    first_ms: u64,
    is_merged: bool,
    counted: u32,
}

impl<'t> ChangeCollector<'t> {
    /// Collects at most `limit` changes; merging reads have bounds of their own.
    pub(super) fn new(
        table: &'t Table,
        limit: usize,
        merge: Option<Merge>,
        pool: &Arc<BufferPool>,
    ) -> Self {
        ChangeCollector {
            table,
            merge,
            limit: if merge.is_some() { MERGED_MAX } else { limit },
            images: ImageBuffer::new(pool),
            changes: Vec::new(),
            latest: HashMap::new(),
            read: 0,
            last: None,
        }
    }

    /// Whether a bound is reached.
    pub(super) fn is_full(&self) -> bool {
        self.changes.len() >= self.limit
            || self.images.len() >= BYTES_MAX
            || (self.merge.is_some() && self.read >= MERGE_READ_MAX)
    }

    /// Adds or merges a change.
    pub(super) fn add(
        &mut self,
        header: &Header,
        number: usize,
        raw: &RawChange<'_>,
    ) -> Result<(), Malformed> {
        self.read += 1;
        self.last = Some((header.seq, number));
        if let Some(merge) = self.merge
            && let Some(latest) = self.latest.get(raw.key)
            && let Some(found) = self.changes.get_mut(*latest)
            && found.merge(merge, header, number, raw)?
        {
            self.images.merge(*latest, raw.new.unwrap_or_default());
            return Ok(());
        }
        let mut found = CollectedChange::new(self.table, header, number, raw);
        if let Some(merge) = self.merge
            && found.key.as_ref().is_some_and(merge.items)
        {
            found.prepare_merge(merge, raw)?;
            match self.latest.get_mut(raw.key) {
                Some(latest) => *latest = self.changes.len(),
                None => drop(self.latest.insert(raw.key.into(), self.changes.len())),
            }
        }
        self.images.push(raw);
        self.changes.push(found);
        Ok(())
    }

    /// The collected page; `next` is where to read next.
    pub(super) fn into_page(self, next: Position) -> Result<FeedPage> {
        let (table, read) = (self.table, self.read);
        let last = self.last.map(position_text);
        let images: Arc<dyn Stored> = Arc::new(self.images);
        let changes = self.changes.into_iter().enumerate();
        let changes = changes.map(|(number, found)| found.change(table, &images, number));
        Ok(FeedPage { changes: changes.collect::<Result<_>>()?, read, last, next, ended: false })
    }
}

impl CollectedChange {
    fn new(table: &Table, header: &Header, number: usize, raw: &RawChange<'_>) -> CollectedChange {
        CollectedChange {
            key: keys::parse_item(&table.spec, raw.key),
            has_old: raw.old.is_some(),
            has_new: raw.new.is_some(),
            expired: raw.expired,
            at_ms: header.at_ms,
            position: (header.seq, number),
            attributes: None,
            first_ms: header.at_ms,
            is_merged: false,
            counted: 0,
        }
    }

    /// Computes what later merges into this change need.
    fn prepare_merge(&mut self, merge: Merge, raw: &RawChange<'_>) -> Result<(), Malformed> {
        if let (Some(delta), Some(new)) = (raw.delta(), raw.new)
            && !codec::adds(delta)?
        {
            self.attributes = Some(codec::count(new)?);
            self.counted = u32::from(codec::touches(delta, merge.counted)?);
        }
        Ok(())
    }

    /// Merges a later change of the same item; returns false if information would be lost.
    fn merge(
        &mut self,
        merge: Merge,
        header: &Header,
        number: usize,
        raw: &RawChange<'_>,
    ) -> Result<bool, Malformed> {
        let (Some(attributes), Some(delta), Some(new)) = (self.attributes, raw.delta(), raw.new)
        else {
            return Ok(false);
        };
        let span = |at_ms: u64| at_ms / merge.within_ms.max(1);
        // The same number of attributes and none added means that none was removed.
        if span(header.at_ms) != span(self.at_ms)
            || codec::adds(delta)?
            || codec::count(new)? != attributes
        {
            return Ok(false);
        }
        self.counted = self.counted.saturating_add(codec::touches(delta, merge.counted)?.into());
        self.at_ms = header.at_ms;
        self.position = (header.seq, number);
        self.is_merged = true;
        Ok(true)
    }

    fn change(self, table: &Table, images: &Arc<dyn Stored>, number: usize) -> Result<Change> {
        let old = self.has_old.then(|| Image::before(Arc::clone(images), number));
        let new = self.has_new.then(|| Image::after(Arc::clone(images), number));
        let key = match self.key {
            Some(key) => key,
            None => key_in(&table.spec, new.as_ref().or(old.as_ref()))?,
        };
        let merged = Merged { first_ms: self.first_ms, counted: self.counted };
        Ok(Change {
            table: Name::from(table.spec.name.as_str()),
            key,
            old,
            new,
            at_ms: self.at_ms,
            expired: self.expired,
            position: position_text(self.position),
            merged: self.is_merged.then_some(merged),
        })
    }
}

fn position_text((seq, number): LogPosition) -> Name {
    let mut position = Name::default();
    // Writing to text in pool does not fail.
    write!(position, "{seq}-{}", number + 1).ok();
    position
}

/// The key from an image, for keys that the storage key does not encode in full.
fn key_in(spec: &TableSpec, image: Option<&Image>) -> Result<Key> {
    let Some(image) = image else {
        return Err(Error::backend("reading the feed", "a change without an item"));
    };
    let is_key =
        |name: &str| *name == spec.partition || spec.sort.as_ref().is_some_and(|sort| sort == name);
    spec.key_of(&image.pick(is_key)?)
}
