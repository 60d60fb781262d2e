//! The changes of a commit: the body of its log record, and its entries in the dirty set.

use std::borrow::Cow;
use std::sync::Arc;

use super::catalog::Table;
use super::codec::{self, Malformed};
use super::dirty::{Entry, Generation, Payload, Space};
use super::keys;
use super::partial_item::{AttrSelection, CachedAttrs};
use crate::expr::apply::Changed;
use crate::item::Item;
use crate::request::{Durability, ReturnAttributes};
use crate::spec::{IndexSpec, Projection, TableSpec};
use crate::value::Name;

/// Flags of a change.
pub(super) const HAS_OLD: u8 = 1;
pub(super) const HAS_NEW: u8 = 2;
pub(super) const EXPIRED: u8 = 4;
/// The old image is a delta against the new one.
pub(super) const OLD_IS_DELTA: u8 = 8;

/// Kinds of records.
pub(super) const KIND_CHANGES: u8 = 1;
pub(super) const KIND_META: u8 = 2;

/// An item with its encoding.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) item: Item,
    pub(super) bytes: Arc<[u8]>,
    /// The decoded attributes; `None` if all are.
    pub(super) selection: Option<Arc<AttrSelection>>,
}

impl Image {
    /// Encodes an item.
    pub(super) fn of(item: Item) -> Image {
        let bytes = Arc::from(codec::encode(&item));
        Image { item, bytes, selection: None }
    }

    /// The image with the attributes in `before` changed to those of its item.
    pub(super) fn changed(&self, before: &Changed) -> Result<Image, Malformed> {
        let bytes = codec::patched(&self.bytes, before, &self.item)?;
        Ok(Image { bytes: Arc::from(bytes), ..self.clone() })
    }

    /// Decodes an item.
    pub(super) fn decode(bytes: Arc<[u8]>) -> Result<Image, Malformed> {
        let item = codec::decode(&bytes)?;
        Ok(Image { item, bytes, selection: None })
    }

    /// Whether all of the item is decoded.
    pub(super) fn is_whole(&self) -> bool {
        self.selection.is_none()
    }

    /// The decoded attributes for the next update, unless all are decoded.
    fn cached(&self) -> Option<CachedAttrs> {
        let selection = Arc::clone(self.selection.as_ref()?);
        Some(CachedAttrs { item: self.item.clone(), selection, slots: None })
    }

    /// The whole item.
    pub(super) fn whole(&self) -> Result<Item, Malformed> {
        if self.is_whole() { Ok(self.item.clone()) } else { codec::decode(&self.bytes) }
    }

    /// The attributes to return to a writer.
    pub(super) fn returned(&self, returned: Option<ReturnAttributes>) -> Result<Item, Malformed> {
        if returned.is_some() { Ok(self.item.clone()) } else { self.whole() }
    }
}

/// An item before a change.
#[derive(Debug, Clone)]
pub(super) enum Before {
    /// The item did not exist.
    Nothing,
    /// The whole item.
    Whole(Image),
    /// The old values of the changed attributes.
    Delta(Changed),
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
    /// The whole item before the change.
    fn old_item(&self) -> Option<Cow<'_, Item>> {
        match &self.old {
            Before::Nothing => None,
            Before::Whole(image) => Some(Cow::Borrowed(&image.item)),
            Before::Delta(before) => {
                let mut item = self.new.as_ref()?.item.clone();
                let attrs = item.attrs_mut();
                for (name, value) in before {
                    attrs.swap(name, value.clone());
                }
                Some(Cow::Owned(item))
            }
        }
    }

    /// The changed attributes; `None` if the item is created or deleted.
    fn touched(&self) -> Option<Vec<&Name>> {
        let new = self.new.as_ref()?;
        match &self.old {
            Before::Nothing => None,
            Before::Delta(before) => Some(before.iter().map(|(name, _)| name).collect()),
            Before::Whole(old) => {
                let differences = old.item.attrs().differences(new.item.attrs());
                Some(differences.map(|(name, ..)| name).collect())
            }
        }
    }
}

/// A change of the meta space: an idempotency token or a table.
#[derive(Debug, Clone)]
pub(super) struct MetaChange {
    pub(super) key: Vec<u8>,
    pub(super) value: Option<Arc<[u8]>>,
}

/// Encodes the body of a record: meta entries, then changed items with both images.
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
            (Before::Delta(before), Some(new)) => {
                codec::put_bytes(&mut out, &new.bytes);
                codec::put_different(&mut out, before);
            }
            (Before::Whole(image), None) | (Before::Nothing, Some(image)) => {
                codec::put_bytes(&mut out, &image.bytes);
            }
            (Before::Nothing | Before::Delta(_), None) => {}
        }
    }
    out
}

/// Encodes the body of a record with one updated item: its new encoding, and the delta to the old one.
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
        Before::Nothing | Before::Delta(_) => 0,
    }
}

fn image_len(image: &Option<Image>) -> usize {
    image.as_ref().map_or(0, |image| image.bytes.len())
}

/// An entry of a change in the index or expiry space.
pub(super) type SideEntry = (Space, keys::Bytes, Payload);

/// Puts a change's item into a generation, with its decoded attributes if `caches_attrs`.
pub(super) fn apply_item(
    generation: &Generation,
    change: &ItemChange,
    seq: u64,
    synced: u64,
    caches_attrs: bool,
) {
    let payload =
        change.new.as_ref().map_or(Payload::Gone, |new| Payload::Bytes(Arc::clone(&new.bytes)));
    let cached = change.new.as_ref().filter(|_| caches_attrs).and_then(Image::cached);
    generation.insert(Space::Items, &change.key, Entry { seq, synced, payload, cached });
}

/// Calls `each` with the index and expiry entries that a change adds and removes.
pub(super) fn side_entries(change: &ItemChange, mut each: impl FnMut(SideEntry)) {
    let spec = &change.table.spec;
    let touched = change.touched();
    let is_touched = |name: &Name| touched.as_ref().is_none_or(|names| names.contains(&name));
    for (number, index) in (0u16..).zip(&spec.indexes) {
        // Most updates touch no index, and then its keys need not be built.
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

/// When an item expires, in seconds since 1970; `None` if it never does.
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
        Projection::All => each((Space::Index, new_key, Payload::Shared(Arc::clone(&new.bytes)))),
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

/// Whether an index projects a changed attribute.
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

/// The projection of an item in an index.
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
