//! The images of changes that were read together, not decoded.

use std::ops::Range;
use std::sync::Arc;

use super::memory::FeedMemory;
use crate::embedded::codec::{self, Malformed};
use crate::embedded::raw::RawChange;
use crate::error::Error;
use crate::feed::{Both, Stored, Wanted};
use crate::item::Item;

/// The images of changes that were read together.
#[derive(Debug)]
pub(super) struct KeptImages {
    bytes: Vec<u8>,
    changes: Vec<Kept>,
    memory: Arc<FeedMemory>,
}

impl Drop for KeptImages {
    fn drop(&mut self) {
        self.memory.give_back(std::mem::take(&mut self.bytes));
    }
}

/// Where the images of a change are: the new one, then the old one or what it has different.
#[derive(Debug)]
struct Kept {
    start: usize,
    new_end: usize,
    end: usize,
    has_new: bool,
    has_old: bool,
    old_is_delta: bool,
    /// The new image of the last change that was merged into this one.
    last: Option<Range<usize>>,
}

impl KeptImages {
    /// None yet.
    pub(super) fn new(memory: &Arc<FeedMemory>) -> KeptImages {
        KeptImages { bytes: memory.take(), changes: Vec::new(), memory: Arc::clone(memory) }
    }

    /// Keeps the images of one more change.
    pub(super) fn keep(&mut self, raw: &RawChange<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(raw.new.unwrap_or_default());
        let new_end = self.bytes.len();
        self.bytes.extend_from_slice(raw.old.unwrap_or_default());
        self.changes.push(Kept {
            start,
            new_end,
            end: self.bytes.len(),
            has_new: raw.new.is_some(),
            has_old: raw.old.is_some(),
            old_is_delta: raw.old_is_delta,
            last: None,
        });
    }

    /// Gives a change the new image of a later one.
    pub(super) fn merge(&mut self, change: usize, new: &[u8]) {
        let Some(kept) = self.changes.get_mut(change) else { return };
        // Most images of an item are of one length, give or take a digit.
        if let Some(last) = &mut kept.last
            && let Some(place) = self.bytes.get_mut(last.start..last.start + new.len())
            && new.len() <= last.len()
        {
            place.copy_from_slice(new);
            last.end = last.start + new.len();
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(new);
        kept.last = Some(start..self.bytes.len());
    }

    /// How many bytes they are.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    fn of(&self, change: usize) -> Result<&Kept, Malformed> {
        self.changes.get(change).ok_or(Malformed("a change that is not there"))
    }

    fn old_of(&self, kept: &Kept, wanted: Wanted<'_>) -> Picked {
        if !kept.has_old {
            return Ok(None);
        }
        let old = self.bytes.get(kept.new_end..kept.end).unwrap_or_default();
        match self.first_new_of(kept, wanted)? {
            Some(new) if kept.old_is_delta => codec::pick_old(old, &new, wanted).map(Some),
            _ => codec::pick(old, wanted).map(Some),
        }
    }

    /// The item after the first of the changes.
    fn first_new_of(&self, kept: &Kept, wanted: Wanted<'_>) -> Picked {
        self.pick(kept.has_new.then_some(kept.start..kept.new_end), wanted)
    }

    /// The item after the last of the changes.
    fn new_of(&self, kept: &Kept, wanted: Wanted<'_>) -> Picked {
        match &kept.last {
            Some(last) => self.pick(Some(last.clone()), wanted),
            None => self.first_new_of(kept, wanted),
        }
    }

    fn pick(&self, image: Option<Range<usize>>, wanted: Wanted<'_>) -> Picked {
        let bytes = image.map(|range| self.bytes.get(range).unwrap_or_default());
        bytes.map(|bytes| codec::pick(bytes, wanted)).transpose()
    }
}

type Picked = Result<Option<Item>, Malformed>;

impl Stored for KeptImages {
    fn both(&self, change: usize, wanted: Wanted<'_>) -> crate::Result<Both> {
        let both = |kept: &Kept| {
            let new = self.new_of(kept, wanted)?;
            let old = match &new {
                // The usual case, in which what was picked of the new one serves both.
                Some(new) if kept.has_old && kept.old_is_delta && kept.last.is_none() => {
                    let delta = self.bytes.get(kept.new_end..kept.end).unwrap_or_default();
                    Some(codec::pick_old(delta, new, wanted)?)
                }
                _ => self.old_of(kept, wanted)?,
            };
            Ok((old, new))
        };
        self.of(change).and_then(both).map_err(unreadable)
    }

    fn after(&self, change: usize, wanted: Wanted<'_>) -> crate::Result<Option<Item>> {
        self.of(change).and_then(|kept| self.new_of(kept, wanted)).map_err(unreadable)
    }
}

fn unreadable(source: Malformed) -> Error {
    Error::backend("decoding an item of the feed", source)
}
