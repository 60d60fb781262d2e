//! What a commit changes: the body of a log record, and the entries it makes of it.

use std::borrow::Cow;
use std::sync::Arc;

use super::catalog::Table;
use super::codec::{self, Input, Malformed};
use super::dirty::{Entry, Generation, Payload, Space};
use super::keys;
use crate::error::Error;
use crate::expr::apply::Changed;
use crate::feed::{Both, Stored, Wanted};
use crate::item::Item;
use crate::request::Durability;
use crate::spec::{IndexSpec, Projection, TableSpec};
use crate::value::Name;

/// Bits of a change's flags.
const HAS_OLD: u8 = 1;
const HAS_NEW: u8 = 2;
const EXPIRED: u8 = 4;
/// The old image is written as what it has different from the new one.
const OLD_IS_DELTA: u8 = 8;

/// What a record is about.
pub(super) const KIND_CHANGES: u8 = 1;
pub(super) const KIND_META: u8 = 2;

/// An item with its encoding.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) item: Item,
    pub(super) bytes: Arc<[u8]>,
}

impl Image {
    /// Encodes an item.
    pub(super) fn of(item: Item) -> Image {
        let bytes = Arc::from(codec::encode(&item));
        Image { item, bytes }
    }

    /// Encodes an item that takes about `len` bytes.
    pub(super) fn about(item: Item, len: usize) -> Image {
        let bytes = Arc::from(codec::encode_about(&item, len));
        Image { item, bytes }
    }

    /// Decodes an item.
    pub(super) fn decode(bytes: Arc<[u8]>) -> Result<Image, Malformed> {
        let item = codec::decode(&bytes)?;
        Ok(Image { item, bytes })
    }
}

/// An item before a change.
#[derive(Debug, Clone)]
pub(super) enum Before {
    /// There was none.
    Nothing,
    /// All of it.
    Whole(Image),
    /// What it had different from the item after the change.
    Different(Changed),
}

impl From<Option<Image>> for Before {
    fn from(image: Option<Image>) -> Before {
        image.map_or(Before::Nothing, Before::Whole)
    }
}

/// One item's change.
#[derive(Debug, Clone)]
pub(super) struct ItemChange {
    pub(super) table: Arc<Table>,
    pub(super) key: keys::Bytes,
    pub(super) old: Before,
    pub(super) new: Option<Image>,
    pub(super) expired: bool,
}

impl ItemChange {
    /// The item before, whole.
    fn old_item(&self) -> Option<Cow<'_, Item>> {
        match &self.old {
            Before::Nothing => None,
            Before::Whole(image) => Some(Cow::Borrowed(&image.item)),
            Before::Different(before) => {
                let mut item = self.new.as_ref()?.item.clone();
                let attrs = item.attrs_mut();
                for (name, value) in before {
                    attrs.swap(name, value.clone());
                }
                Some(Cow::Owned(item))
            }
        }
    }

    /// The attributes that the change touches; nothing, where the item comes or goes.
    fn touched(&self) -> Option<Vec<&Name>> {
        let new = self.new.as_ref()?;
        match &self.old {
            Before::Nothing => None,
            Before::Different(before) => Some(before.iter().map(|(name, _)| name).collect()),
            Before::Whole(old) => {
                let differences = old.item.attrs().differences(new.item.attrs());
                Some(differences.map(|(name, ..)| name).collect())
            }
        }
    }
}

/// An entry of the meta space that goes with a commit: an idempotency token, a table.
#[derive(Debug, Clone)]
pub(super) struct MetaChange {
    pub(super) key: Vec<u8>,
    pub(super) value: Option<Arc<[u8]>>,
}

/// The body of a record: meta entries, then changed items with both images.
pub(super) fn body(changes: &[ItemChange], meta: &[MetaChange], durability: Durability) -> Vec<u8> {
    let images: usize = changes.iter().map(|c| old_len(&c.old) + image_len(&c.new) + 96).sum();
    let mut out = Vec::with_capacity(images + 64);
    out.push(if changes.is_empty() { KIND_META } else { KIND_CHANGES });
    out.push(u8::from(durability == Durability::Synced));
    codec::put_varint(&mut out, meta.len() as u128);
    for change in meta {
        codec::put_bytes(&mut out, &change.key);
        out.push(u8::from(change.value.is_some()));
        codec::put_bytes(&mut out, change.value.as_deref().unwrap_or_default());
    }
    codec::put_varint(&mut out, changes.len() as u128);
    for change in changes {
        let has_old = !matches!(change.old, Before::Nothing);
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        out.push(
            flag(has_old, HAS_OLD)
                | flag(change.new.is_some(), HAS_NEW)
                | flag(has_old && change.new.is_some(), OLD_IS_DELTA)
                | flag(change.expired, EXPIRED),
        );
        codec::put_bytes(&mut out, &change.key);
        match (&change.old, &change.new) {
            (Before::Whole(old), Some(new)) => {
                codec::put_bytes(&mut out, &new.bytes);
                codec::put_delta(&mut out, &old.item, &new.item);
            }
            (Before::Different(before), Some(new)) => {
                codec::put_bytes(&mut out, &new.bytes);
                codec::put_different(&mut out, before);
            }
            (Before::Whole(image), None) | (Before::Nothing, Some(image)) => {
                codec::put_bytes(&mut out, &image.bytes);
            }
            (Before::Nothing | Before::Different(_), None) => {}
        }
    }
    out
}

fn old_len(old: &Before) -> usize {
    match old {
        Before::Whole(image) => image.bytes.len(),
        Before::Nothing | Before::Different(_) => 0,
    }
}

fn image_len(image: &Option<Image>) -> usize {
    image.as_ref().map_or(0, |image| image.bytes.len())
}

/// A change as it stands in a record; images not yet decoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawChange<'a> {
    pub(super) key: &'a [u8],
    old: Option<&'a [u8]>,
    new: Option<&'a [u8]>,
    old_is_delta: bool,
    pub(super) expired: bool,
}

impl RawChange<'_> {
    /// The item before and after.
    pub(super) fn images(&self) -> Result<(Option<Item>, Option<Item>), Malformed> {
        let new = self.new.map(codec::decode).transpose()?;
        let old = match (self.old, &new) {
            (Some(delta), Some(new)) if self.old_is_delta => Some(codec::apply_delta(delta, new)?),
            (old, _) => old.map(codec::decode).transpose()?,
        };
        Ok((old, new))
    }

    /// Whether there was an item before, and whether there is one after.
    pub(super) fn sides(&self) -> (bool, bool) {
        (self.old.is_some(), self.new.is_some())
    }

    /// The encoding of the item after.
    pub(super) fn new_bytes(&self) -> Option<&[u8]> {
        self.new
    }

    /// The table's id, which every item key begins with.
    pub(super) fn table_id(&self) -> Result<u32, Malformed> {
        let bytes = self.key.get(..4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_be_bytes).ok_or(Malformed("a change without a table"))
    }
}

/// The images of changes that were read together, not decoded.
#[derive(Debug)]
pub(super) struct KeptImages {
    bytes: Vec<u8>,
    changes: Vec<Kept>,
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
}

impl KeptImages {
    /// None yet, with room for so many changes of usual size.
    pub(super) fn with_room(changes: usize) -> KeptImages {
        const USUAL: usize = 512;
        KeptImages {
            bytes: Vec::with_capacity(changes * USUAL),
            changes: Vec::with_capacity(changes),
        }
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
        });
    }

    /// How many bytes they are.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    fn of(&self, change: usize) -> Result<&Kept, Malformed> {
        self.changes.get(change).ok_or(Malformed("a change that is not there"))
    }

    fn old_of(&self, kept: &Kept, new: Option<&Item>, wanted: Wanted<'_>) -> Picked {
        if !kept.has_old {
            return Ok(None);
        }
        let old = self.bytes.get(kept.new_end..kept.end).unwrap_or_default();
        match new {
            Some(new) if kept.old_is_delta => codec::pick_old(old, new, wanted).map(Some),
            _ => codec::pick(old, wanted).map(Some),
        }
    }

    fn new_of(&self, kept: &Kept, wanted: Wanted<'_>) -> Picked {
        if !kept.has_new {
            return Ok(None);
        }
        codec::pick(self.bytes.get(kept.start..kept.new_end).unwrap_or_default(), wanted).map(Some)
    }
}

type Picked = Result<Option<Item>, Malformed>;

impl Stored for KeptImages {
    fn both(&self, change: usize, wanted: Wanted<'_>) -> crate::Result<Both> {
        let kept = self.of(change).map_err(unreadable)?;
        let new = self.new_of(kept, wanted).map_err(unreadable)?;
        let old = self.old_of(kept, new.as_ref(), wanted).map_err(unreadable)?;
        Ok((old, new))
    }

    fn after(&self, change: usize, wanted: Wanted<'_>) -> crate::Result<Option<Item>> {
        let kept = self.of(change).map_err(unreadable)?;
        self.new_of(kept, wanted).map_err(unreadable)
    }
}

fn unreadable(source: Malformed) -> Error {
    Error::backend("decoding an item of the feed", source)
}

/// A record's body, parsed.
#[derive(Debug, Default)]
pub(super) struct RawBody<'a> {
    pub(super) meta: Vec<(&'a [u8], Option<&'a [u8]>)>,
    pub(super) changes: Vec<RawChange<'a>>,
}

/// Parses a record's body.
pub(super) fn parse(body: &[u8]) -> Result<RawBody<'_>, Malformed> {
    let mut input = Input { rest: body };
    if !matches!(input.byte()?, KIND_CHANGES | KIND_META) {
        return Err(Malformed("a record of unknown kind"));
    }
    // What the writer was promised; it has been kept by the time anybody reads this.
    let _synced = input.byte()?;
    let meta = (0..input.len()?)
        .map(|_| {
            let key = input.bytes()?;
            let present = input.byte()? == 1;
            let value = input.bytes()?;
            Ok((key, present.then_some(value)))
        })
        .collect::<Result<_, Malformed>>()?;
    let changes = (0..input.len()?)
        .map(|_| {
            let flags = input.byte()?;
            let key = input.bytes()?;
            let mut image = |bit: u8| {
                if flags & bit == 0 { Ok(None) } else { input.bytes().map(Some) }
            };
            let (new, old) = (image(HAS_NEW)?, image(HAS_OLD)?);
            Ok(RawChange {
                key,
                old,
                new,
                old_is_delta: flags & OLD_IS_DELTA != 0,
                expired: flags & EXPIRED != 0,
            })
        })
        .collect::<Result<_, Malformed>>()?;
    Ok(RawBody { meta, changes })
}

/// An entry that a change makes in the index or expiry space.
pub(super) type SideEntry = (Space, keys::Bytes, Payload);

/// Puts a change's item into a generation.
pub(super) fn apply_item(generation: &Generation, change: &ItemChange, seq: u64, synced: u64) {
    let payload =
        change.new.as_ref().map_or(Payload::Gone, |new| Payload::Bytes(Arc::clone(&new.bytes)));
    generation.insert(Space::Items, &change.key, Entry { seq, synced, payload });
}

/// The index and expiry entries that a change makes and removes.
pub(super) fn side_entries(change: &ItemChange, mut each: impl FnMut(SideEntry)) {
    let spec = &change.table.spec;
    let touched = change.touched();
    let is_touched = |name: &Name| touched.as_ref().is_none_or(|names| names.contains(&name));
    for (number, index) in (0u16..).zip(&spec.indexes) {
        // Most updates touch no index, and then even its keys need not be made.
        if holds_any(index, is_touched) {
            let is_moved = touched.is_none()
                || is_touched(&index.partition)
                || index.sort.as_ref().is_some_and(is_touched);
            index_entries(change, number, index, is_moved, &mut each);
        }
    }
    if let Some(ttl) = spec.ttl.as_ref().filter(|ttl| is_touched(ttl)) {
        let old = change.old_item().and_then(|item| expiry_of(&item, ttl));
        let new = change.new.as_ref().and_then(|image| expiry_of(&image.item, ttl));
        if old != new {
            if let Some(old) = old {
                each((Space::Ttl, keys::ttl(old, &change.key), Payload::Gone));
            }
            if let Some(new) = new {
                each((
                    Space::Ttl,
                    keys::ttl(new, &change.key),
                    Payload::Bytes(Arc::from([].as_slice())),
                ));
            }
        }
    }
}

/// When an item expires, in seconds since 1970; none when it never does.
pub(super) fn expiry_of(item: &Item, ttl: &str) -> Option<u64> {
    u64::try_from(item.get(ttl)?.as_i64()?).ok()
}

fn index_entries(
    change: &ItemChange,
    number: u16,
    index: &IndexSpec,
    is_moved: bool,
    each: &mut impl FnMut(SideEntry),
) {
    let Table { id, spec, .. } = change.table.as_ref();
    let place = |item: &Item| keys::index(*id, number, spec, index, item);
    let new_key = change.new.as_ref().and_then(|image| place(&image.item));
    let old_key =
        if is_moved { change.old_item().and_then(|item| place(&item)) } else { new_key.clone() };
    if let Some(old_key) = &old_key
        && new_key.as_ref() != Some(old_key)
    {
        each((Space::Index, old_key.clone(), Payload::Gone));
    }
    let (Some(new_key), Some(new)) = (new_key, &change.new) else {
        return;
    };
    let moved = old_key.as_ref() != Some(&new_key);
    match &index.projection {
        Projection::All => each((Space::Index, new_key, Payload::Bytes(Arc::clone(&new.bytes)))),
        projection => {
            let projected = project(spec, index, projection, &new.item);
            let same = !moved
                && change
                    .old_item()
                    .is_some_and(|old| project(spec, index, projection, &old) == projected);
            if !same {
                let bytes = Arc::from(codec::encode(&projected));
                each((Space::Index, new_key, Payload::Bytes(bytes)));
            }
        }
    }
}

/// Whether an index holds one of the attributes that `is_touched` names.
fn holds_any(index: &IndexSpec, is_touched: impl Fn(&Name) -> bool) -> bool {
    let included = match &index.projection {
        Projection::All => return true,
        Projection::KeysOnly => None,
        Projection::Include(names) => Some(names),
    };
    is_touched(&index.partition)
        || index.sort.as_ref().is_some_and(&is_touched)
        || included.is_some_and(|names| names.iter().any(is_touched))
}

/// What an index holds of an item.
fn project(spec: &TableSpec, index: &IndexSpec, projection: &Projection, item: &Item) -> Item {
    let keys =
        [Some(&spec.partition), spec.sort.as_ref(), Some(&index.partition), index.sort.as_ref()];
    let included = match projection {
        Projection::Include(names) => Some(names),
        Projection::All | Projection::KeysOnly => None,
    };
    keys.into_iter()
        .flatten()
        .chain(included.into_iter().flatten())
        .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
        .collect()
}
