//! Partial decoding: an update decodes and encodes only the attributes that it needs and copies the others as bytes.
//!
//! Nearly every update changes a few numbers of an item with a few dozen attributes. Decoding and encoding all of them
//! would cost more than the rest of the update.
//!
//! The decoded attributes stay with the item ([`CachedAttrs`]). The next update is most likely of the same kind and then
//! decodes nothing.

use std::sync::Arc;

use super::change::Image;
use super::codec::{self, Malformed};
use super::number_slots::NumberSlots;
use crate::expr::{self, Change, Path, Update};
use crate::item::Item;
use crate::request::{ReturnAttributes, Write};
use crate::spec::{IndexSpec, TableSpec};
use crate::value::Name;

/// Approximate bytes of an attribute in memory.
const ATTRIBUTE_WEIGHT: usize = 64;

/// Which attributes of an item are decoded: the sorted `names`, and those that `returned` selects.
#[derive(Debug)]
pub(super) struct AttrSelection {
    names: Vec<Name>,
    returned: Option<ReturnAttributes>,
}

/// The decoded attributes of an item.
#[derive(Debug)]
pub(super) struct CachedAttrs {
    pub(super) item: Item,
    pub(super) selection: Arc<AttrSelection>,
    /// The slots of the last addition, until something else writes the item.
    pub(super) slots: Option<Box<NumberSlots>>,
}

impl Clone for CachedAttrs {
    /// A copy is made for a write that is not an addition, so the slots are dropped.
    fn clone(&self) -> CachedAttrs {
        CachedAttrs { item: self.item.clone(), selection: Arc::clone(&self.selection), slots: None }
    }
}

impl CachedAttrs {
    /// Approximate bytes in memory.
    pub(super) fn weight(&self) -> usize {
        self.item.len() * ATTRIBUTE_WEIGHT
    }

    /// Whether all attributes that `returned` selects are decoded.
    pub(super) fn covers(&self, returned: ReturnAttributes) -> bool {
        self.selection.returned == Some(returned)
    }

    /// Whether the attribute is decoded, or known to be missing.
    pub(super) fn knows(&self, name: &Name) -> bool {
        let AttrSelection { names, returned } = &*self.selection;
        returned.is_some_and(|returned| returned.0(name)) || names.binary_search(name).is_ok()
    }
}

/// The attributes of an item that an update needs.
#[derive(Debug)]
pub(super) struct RequiredAttrs<'w> {
    /// Attributes that the update and its condition name, sorted, without those that `returned` selects.
    names: Vec<&'w Name>,
    /// Attributes to return.
    returned: Option<ReturnAttributes>,
    /// Partition keys of the indexes that project a changed attribute. An item that has one is in that index.
    index_keys: Vec<&'w Name>,
}

impl<'w> RequiredAttrs<'w> {
    /// The attributes that a conditional update needs; `None` if it needs the whole item, because it reaches into
    /// attributes or changes key attributes.
    pub(super) fn of(
        spec: &'w TableSpec,
        update: &'w Update,
        write: &'w Write,
    ) -> Option<RequiredAttrs<'w>> {
        let changed = || update.changes.iter().map(Change::path);
        let is_key = |path: &Path| spec.declared(&path.attribute).is_some();
        if changed().any(|path| !path.steps.is_empty() || is_key(path)) {
            return None;
        }
        // No changed attribute is part of a key.
        let holds =
            |index: &&IndexSpec| changed().any(|path| index.projection.holds(&path.attribute));
        let touched = spec.indexes.iter().filter(holds);
        let index_keys: Vec<&Name> = touched.map(|index| &index.partition).collect();
        let mut names = index_keys.clone();
        names.extend(changed().map(|path| &path.attribute));
        expr::check::read_by(update, &mut names);
        if let Some(condition) = &write.condition {
            expr::check::attributes(condition, &mut names);
        }
        if let Some(ReturnAttributes(is_returned)) = write.returned {
            names.retain(|name| !is_returned(name));
        }
        names.sort_unstable();
        names.dedup();
        Some(RequiredAttrs { names, returned: write.returned, index_keys })
    }

    /// Decodes these attributes, unless they are cached; or the whole item if an index projects a changed attribute.
    pub(super) fn read(
        &self,
        bytes: Arc<[u8]>,
        cached: Option<CachedAttrs>,
    ) -> Result<Image, Malformed> {
        // An earlier update may have cached the same attributes and changed nothing that an index projects.
        let is_indexed = |item: &Item| self.index_keys.iter().any(|key| item.get(key).is_some());
        let is_of_use =
            |cached: &CachedAttrs| self.matches(&cached.selection) && !is_indexed(&cached.item);
        if let Some(CachedAttrs { item, selection, .. }) = cached.filter(is_of_use) {
            return Ok(Image { item, bytes, selection: Some(selection) });
        }
        let item =
            codec::pick_named(&bytes, &self.names, self.returned.map(|returned| returned.0))?;
        if is_indexed(&item) {
            return Image::decode(bytes);
        }
        let names = self.names.iter().map(|name| (*name).clone()).collect();
        Ok(Image {
            item,
            bytes,
            selection: Some(Arc::new(AttrSelection { names, returned: self.returned })),
        })
    }

    fn matches(&self, selection: &AttrSelection) -> bool {
        self.returned == selection.returned && self.names.iter().copied().eq(&selection.names)
    }
}
