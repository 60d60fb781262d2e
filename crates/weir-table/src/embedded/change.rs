//! What a commit changes: the body of a log record, and the entries it makes of it.

use std::borrow::Cow;
use std::sync::Arc;

use super::catalog::Table;
use super::codec::{self, Malformed};
use super::dirty::{Entry, Generation, Payload, Space};
use super::keys;
use super::partial::{Shape, Warm};
use crate::expr::apply::Changed;
use crate::item::Item;
use crate::request::{Durability, Told};
use crate::spec::{IndexSpec, Projection, TableSpec};
use crate::value::Name;

/// Bits of a change's flags.
pub(super) const HAS_OLD: u8 = 1;
pub(super) const HAS_NEW: u8 = 2;
pub(super) const EXPIRED: u8 = 4;
/// The old image is written as what it has different from the new one.
pub(super) const OLD_IS_DELTA: u8 = 8;

/// What a record is about.
pub(super) const KIND_CHANGES: u8 = 1;
pub(super) const KIND_META: u8 = 2;

/// An item with its encoding.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) item: Item,
    pub(super) bytes: Arc<[u8]>,
    /// What `item` has of it; none where that is all.
    pub(super) shape: Option<Arc<Shape>>,
}

impl Image {
    /// Encodes an item.
    pub(super) fn of(item: Item) -> Image {
        let bytes = Arc::from(codec::encode(&item));
        Image { item, bytes, shape: None }
    }

    /// The same image, of whose item these attributes have been changed.
    pub(super) fn changed(&self, before: &Changed) -> Result<Image, Malformed> {
        let bytes = codec::patched(&self.bytes, before, &self.item)?;
        Ok(Image { bytes: Arc::from(bytes), ..self.clone() })
    }

    /// Decodes an item.
    pub(super) fn decode(bytes: Arc<[u8]>) -> Result<Image, Malformed> {
        let item = codec::decode(&bytes)?;
        Ok(Image { item, bytes, shape: None })
    }

    /// Whether all of the item has been read.
    pub(super) fn is_whole(&self) -> bool {
        self.shape.is_none()
    }

    /// What the next update may find read, if it is not all.
    fn warm(&self) -> Option<Warm> {
        let shape = Arc::clone(self.shape.as_ref()?);
        Some(Warm { item: self.item.clone(), shape, spots: None })
    }

    /// All of the item.
    pub(super) fn whole(&self) -> Result<Item, Malformed> {
        if self.is_whole() { Ok(self.item.clone()) } else { codec::decode(&self.bytes) }
    }

    /// What is told of the item to a writer that wants to know `told`, and has had it read.
    pub(super) fn told(&self, told: Option<Told>) -> Result<Item, Malformed> {
        if told.is_some() { Ok(self.item.clone()) } else { self.whole() }
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
    let kind = if changes.is_empty() { KIND_META } else { KIND_CHANGES };
    put_head(&mut out, kind, durability, meta.len());
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

/// The same for one item that was there and is changed: its encoding, and what its old one had different.
pub(super) fn put_updated(
    out: &mut Vec<u8>,
    durability: Durability,
    key: &[u8],
    new: &[u8],
    delta: &[u8],
) {
    put_head(out, KIND_CHANGES, durability, 0);
    codec::put_varint(out, 1);
    out.push(HAS_OLD | HAS_NEW | OLD_IS_DELTA);
    codec::put_bytes(out, key);
    codec::put_bytes(out, new);
    codec::put_bytes(out, delta);
}

fn put_head(out: &mut Vec<u8>, kind: u8, durability: Durability, metas: usize) {
    out.push(kind);
    out.push(u8::from(durability == Durability::Synced));
    codec::put_varint(out, metas as u128);
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

/// An entry that a change makes in the index or expiry space.
pub(super) type SideEntry = (Space, keys::Bytes, Payload);

/// Puts a change's item into a generation; what was read of it too, if that `keeps_warm`.
pub(super) fn apply_item(
    generation: &Generation,
    change: &ItemChange,
    seq: u64,
    synced: u64,
    keeps_warm: bool,
) {
    let payload =
        change.new.as_ref().map_or(Payload::Gone, |new| Payload::Bytes(Arc::clone(&new.bytes)));
    let warm = change.new.as_ref().filter(|_| keeps_warm).and_then(Image::warm);
    generation.insert(Space::Items, &change.key, Entry { seq, synced, payload, warm });
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
