//! Parsed log records whose images are not decoded.

use super::change::{EXPIRED, HAS_NEW, HAS_OLD, KIND_CHANGES, KIND_META, OLD_IS_DELTA};
use super::codec::{self, Input, Malformed};
use crate::item::Item;

/// A change in a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawChange<'a> {
    pub(super) key: &'a [u8],
    pub(super) old: Option<&'a [u8]>,
    pub(super) new: Option<&'a [u8]>,
    /// Whether `old` is a delta against `new`.
    pub(super) old_is_delta: bool,
    pub(super) expired: bool,
}

impl<'a> RawChange<'a> {
    fn take(input: &mut Input<'a>) -> Result<RawChange<'a>, Malformed> {
        let flags = input.byte()?;
        let key = input.bytes()?;
        let mut image = |bit: u8| if flags & bit == 0 { Ok(None) } else { input.bytes().map(Some) };
        let (new, old) = (image(HAS_NEW)?, image(HAS_OLD)?);
        let (old_is_delta, expired) = (flags & OLD_IS_DELTA != 0, flags & EXPIRED != 0);
        Ok(RawChange { key, old, new, old_is_delta, expired })
    }

    /// The item before and after the change.
    pub(super) fn images(&self) -> Result<(Option<Item>, Option<Item>), Malformed> {
        let new = self.new.map(codec::decode).transpose()?;
        let old = match (self.old, &new) {
            (Some(delta), Some(new)) if self.old_is_delta => Some(codec::apply_delta(delta, new)?),
            (old, _) => old.map(codec::decode).transpose()?,
        };
        Ok((old, new))
    }

    /// The old image, if it is stored as a delta.
    pub(super) fn delta(&self) -> Option<&'a [u8]> {
        self.old.filter(|_| self.old_is_delta)
    }

    /// The table's id, the prefix of every item key.
    pub(super) fn table_id(&self) -> Result<u32, Malformed> {
        let bytes = self.key.get(..4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_be_bytes).ok_or(Malformed("a change without a table"))
    }
}

/// A record's body, parsed.
#[derive(Debug)]
pub(super) struct RawBody<'a> {
    pub(super) meta: Vec<(&'a [u8], Option<&'a [u8]>)>,
    pub(super) changes: Vec<RawChange<'a>>,
}

/// Parses a record's body.
pub(super) fn parse(body: &[u8]) -> Result<RawBody<'_>, Malformed> {
    let mut meta = Vec::new();
    let changes = changes(body, |key, value| meta.push((key, value)))?;
    Ok(RawBody { changes: changes.collect::<Result<_, Malformed>>()?, meta })
}

/// The changes in a record's body. Calls `meta` with each meta entry before them.
pub(super) fn changes<'a>(
    body: &'a [u8],
    mut meta: impl FnMut(&'a [u8], Option<&'a [u8]>),
) -> Result<RawChanges<'a>, Malformed> {
    let mut input = Input { rest: body };
    if !matches!(input.byte()?, KIND_CHANGES | KIND_META) {
        return Err(Malformed("a record of unknown kind"));
    }
    // The durability of the write; it has been reached by the time the record is read.
    let _synced = input.byte()?;
    for _ in 0..input.len()? {
        let key = input.bytes()?;
        let present = input.byte()? == 1;
        let value = input.bytes()?;
        meta(key, present.then_some(value));
    }
    let remaining = input.len()?;
    Ok(RawChanges { input, remaining })
}

/// Parses changes one by one, so that a caller pays only for those that it reads.
pub(super) struct RawChanges<'a> {
    input: Input<'a>,
    remaining: usize,
}

impl<'a> Iterator for RawChanges<'a> {
    type Item = Result<RawChange<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        self.remaining = self.remaining.checked_sub(1)?;
        let change = RawChange::take(&mut self.input);
        if change.is_err() {
            self.remaining = 0;
        }
        Some(change)
    }
}
