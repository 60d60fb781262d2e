//! Encoded images of the changes of one page.

use std::ops::Range;
use std::sync::Arc;

use super::buffer_pool::BufferPool;
use crate::embedded::codec::{self, Malformed};
use crate::embedded::raw::RawChange;
use crate::error::Error;
use crate::feed::{ImagePair, Stored, Wanted};
use crate::item::Item;

/// Encoded images of the changes of one page, in one buffer.
#[derive(Debug)]
pub(super) struct ImageBuffer {
    bytes: Vec<u8>,
    changes: Vec<Span>,
    pool: Arc<BufferPool>,
}

impl Drop for ImageBuffer {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.bytes));
    }
}

/// Where the images of a change are in the buffer: the new one, then the old one or its delta.
#[derive(Debug)]
struct Span {
    start: usize,
    new_end: usize,
    end: usize,
    has_new: bool,
    has_old: bool,
    old_is_delta: bool,
    /// The new image of the last change that was merged into this one.
    last: Option<Range<usize>>,
}

impl ImageBuffer {
    /// An empty buffer.
    pub(super) fn new(pool: &Arc<BufferPool>) -> ImageBuffer {
        ImageBuffer { bytes: pool.take(), changes: Vec::new(), pool: Arc::clone(pool) }
    }

    /// Appends the images of a change.
    pub(super) fn push(&mut self, raw: &RawChange<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(raw.new.unwrap_or_default());
        let new_end = self.bytes.len();
        self.bytes.extend_from_slice(raw.old.unwrap_or_default());
        self.changes.push(Span {
            start,
            new_end,
            end: self.bytes.len(),
            has_new: raw.new.is_some(),
            has_old: raw.old.is_some(),
            old_is_delta: raw.old_is_delta,
            last: None,
        });
    }

    /// Replaces the new image of a change by that of a later one.
    pub(super) fn merge(&mut self, change: usize, new: &[u8]) {
        let Some(span) = self.changes.get_mut(change) else { return };
        // Most images of an item have the same length, so the bytes are often overwritten in place.
        if let Some(last) = &mut span.last
            && let Some(place) = self.bytes.get_mut(last.start..last.start + new.len())
            && new.len() <= last.len()
        {
            place.copy_from_slice(new);
            last.end = last.start + new.len();
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(new);
        span.last = Some(start..self.bytes.len());
    }

    /// Length in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    fn span(&self, change: usize) -> Result<&Span, Malformed> {
        self.changes.get(change).ok_or(Malformed("a change that is missing"))
    }

    fn old_of(&self, span: &Span, wanted: Wanted<'_>) -> Picked {
        if !span.has_old {
            return Ok(None);
        }
        let old = self.bytes.get(span.new_end..span.end).unwrap_or_default();
        match self.first_new_of(span, wanted)? {
            Some(new) if span.old_is_delta => codec::pick_old(old, &new, wanted).map(Some),
            _ => codec::pick(old, wanted).map(Some),
        }
    }

    /// The item after the first of the merged changes.
    fn first_new_of(&self, span: &Span, wanted: Wanted<'_>) -> Picked {
        self.pick(span.has_new.then_some(span.start..span.new_end), wanted)
    }

    /// The item after the last of the merged changes.
    fn new_of(&self, span: &Span, wanted: Wanted<'_>) -> Picked {
        match &span.last {
            Some(last) => self.pick(Some(last.clone()), wanted),
            None => self.first_new_of(span, wanted),
        }
    }

    fn pick(&self, image: Option<Range<usize>>, wanted: Wanted<'_>) -> Picked {
        let bytes = image.map(|range| self.bytes.get(range).unwrap_or_default());
        bytes.map(|bytes| codec::pick(bytes, wanted)).transpose()
    }
}

type Picked = Result<Option<Item>, Malformed>;

impl Stored for ImageBuffer {
    fn both(&self, change: usize, wanted: Wanted<'_>) -> crate::Result<ImagePair> {
        let both = |span: &Span| {
            let new = self.new_of(span, wanted)?;
            let old = match &new {
                // The common case: the attributes picked from the new image serve both.
                Some(new) if span.has_old && span.old_is_delta && span.last.is_none() => {
                    let delta = self.bytes.get(span.new_end..span.end).unwrap_or_default();
                    Some(codec::pick_old(delta, new, wanted)?)
                }
                _ => self.old_of(span, wanted)?,
            };
            Ok((old, new))
        };
        self.span(change).and_then(both).map_err(unreadable)
    }

    fn after(&self, change: usize, wanted: Wanted<'_>) -> crate::Result<Option<Item>> {
        self.span(change).and_then(|span| self.new_of(span, wanted)).map_err(unreadable)
    }
}

fn unreadable(source: Malformed) -> Error {
    Error::backend("decoding an item of the feed", source)
}
