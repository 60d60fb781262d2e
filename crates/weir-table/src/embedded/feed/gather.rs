//! Gathers changes of a table from records, and tells several changes of an item as one where that is wanted.
//!
//! A change is merged into the one before it of the same item if nothing is lost by it: both found an item and left one,
//! neither added an attribute, the later one took none away, and both are in the same span of time.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::images::KeptImages;
use super::memory::FeedMemory;
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

/// Bytes of images that one read returns at most, beside its count.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Changes that one read tells in all, and that it returns, where they are merged.
const MERGED_MAX: usize = 16 * 1024;
const MERGED_INTO_MAX: usize = 8 * 1024;

pub(super) struct Gathered<'t> {
    table: &'t Table,
    merge: Option<Merge>,
    limit: usize,
    images: KeptImages,
    found: Vec<Found>,
    /// Where the last change is of each item that may be merged, by its place in the store.
    latest: HashMap<Box<[u8]>, usize>,
    read: usize,
    last: Option<Place>,
}

/// A record's sequence and which of its changes.
type Place = (u64, usize);

/// A change that was found, without its images.
struct Found {
    key: Option<Key>,
    has_old: bool,
    has_new: bool,
    expired: bool,
    at_ms: u64,
    place: Place,
    /// Attributes of the item, if changes may be merged into this one; only then is the rest told.
    attributes: Option<usize>,
    first_ms: u64,
    is_merged: bool,
    counted: u32,
}

impl<'t> Gathered<'t> {
    /// At most `limit` changes; a bound of its own holds where they are merged.
    pub(super) fn new(
        table: &'t Table,
        limit: usize,
        merge: Option<Merge>,
        memory: &Arc<FeedMemory>,
    ) -> Self {
        Gathered {
            table,
            merge,
            limit: if merge.is_some() { MERGED_INTO_MAX } else { limit },
            images: KeptImages::new(memory),
            found: Vec::new(),
            latest: HashMap::new(),
            read: 0,
            last: None,
        }
    }

    /// Whether it has room for no more.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= self.limit
            || self.images.len() >= BYTES_MAX
            || (self.merge.is_some() && self.read >= MERGED_MAX)
    }

    /// Takes in a change.
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
            && let Some(found) = self.found.get_mut(*latest)
            && found.take_in(merge, header, number, raw)?
        {
            self.images.merge(*latest, raw.new.unwrap_or_default());
            return Ok(());
        }
        let mut found = Found::of(self.table, header, number, raw);
        if let Some(merge) = self.merge
            && found.key.as_ref().is_some_and(merge.items)
        {
            found.begin(merge, raw)?;
            match self.latest.get_mut(raw.key) {
                Some(latest) => *latest = self.found.len(),
                None => drop(self.latest.insert(raw.key.into(), self.found.len())),
            }
        }
        self.images.keep(raw);
        self.found.push(found);
        Ok(())
    }

    /// What was gathered, and where to read on.
    pub(super) fn page(self, next: Position) -> Result<FeedPage> {
        let (table, read) = (self.table, self.read);
        let last = self.last.map(position);
        let images: Arc<dyn Stored> = Arc::new(self.images);
        let changes = self.found.into_iter().enumerate();
        let changes = changes.map(|(number, found)| found.change(table, &images, number));
        Ok(FeedPage { changes: changes.collect::<Result<_>>()?, read, last, next, ended: false })
    }
}

impl Found {
    fn of(table: &Table, header: &Header, number: usize, raw: &RawChange<'_>) -> Found {
        Found {
            key: keys::parse_item(&table.spec, raw.key),
            has_old: raw.old.is_some(),
            has_new: raw.new.is_some(),
            expired: raw.expired,
            at_ms: header.at_ms,
            place: (header.seq, number),
            attributes: None,
            first_ms: header.at_ms,
            is_merged: false,
            counted: 0,
        }
    }

    /// Notes what is to be known before others are merged into it.
    fn begin(&mut self, merge: Merge, raw: &RawChange<'_>) -> Result<(), Malformed> {
        if let (Some(delta), Some(new)) = (raw.delta(), raw.new)
            && !codec::adds(delta)?
        {
            self.attributes = Some(codec::count(new)?);
            self.counted = u32::from(codec::touches(delta, merge.counted)?);
        }
        Ok(())
    }

    /// Takes in a later change of the same item; false, if it cannot be told as one with this.
    fn take_in(
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
        // As many attributes as before and none added: none was taken away.
        if span(header.at_ms) != span(self.at_ms)
            || codec::adds(delta)?
            || codec::count(new)? != attributes
        {
            return Ok(false);
        }
        self.counted = self.counted.saturating_add(codec::touches(delta, merge.counted)?.into());
        self.at_ms = header.at_ms;
        self.place = (header.seq, number);
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
            position: position(self.place),
            merged: self.is_merged.then_some(merged),
        })
    }
}

fn position((seq, number): Place) -> Name {
    let mut position = Name::default();
    // Writing to text in memory does not fail.
    write!(position, "{seq}-{}", number + 1).ok();
    position
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
