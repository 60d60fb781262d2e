//! Updates that need a few attributes of an item: these are read and written, all others are copied
//! as the bytes they are.
//!
//! Nearly every update changes a few numbers of an item of a few dozen attributes. To read all of
//! these into memory and to write them again takes longer than all else of the update.
//!
//! What an update has read stays with the item for a while ([`Warm`]): the next one, which is most
//! likely of the same kind, reads nothing.

use std::sync::Arc;

use super::change::Image;
use super::codec::{self, Malformed};
use super::spots::Spots;
use crate::expr::{self, Change, Path, Update};
use crate::item::Item;
use crate::request::{Told, Write};
use crate::spec::{IndexSpec, TableSpec};
use crate::value::Name;

/// Bytes that an attribute takes in memory, about.
const ATTRIBUTE_WEIGHT: usize = 64;

/// Which attributes of an item have been read: these, which are in order, and those that are told.
#[derive(Debug)]
pub(super) struct Shape {
    names: Vec<Name>,
    told: Option<Told>,
}

/// What was read of an item.
#[derive(Debug)]
pub(super) struct Warm {
    pub(super) item: Item,
    pub(super) shape: Arc<Shape>,
    /// Where the last addition had its numbers, as long as nothing else has written the item.
    pub(super) spots: Option<Box<Spots>>,
}

impl Clone for Warm {
    /// Who wants a copy is about to do something else with the item.
    fn clone(&self) -> Warm {
        Warm { item: self.item.clone(), shape: Arc::clone(&self.shape), spots: None }
    }
}

impl Warm {
    /// Bytes it takes, about.
    pub(super) fn weight(&self) -> usize {
        self.item.len() * ATTRIBUTE_WEIGHT
    }

    /// Whether all that is to be told is here, if the item has it.
    pub(super) fn tells(&self, told: Told) -> bool {
        self.shape.told == Some(told)
    }

    /// Whether an attribute that is not here is not in the item either.
    pub(super) fn knows(&self, name: &Name) -> bool {
        let Shape { names, told } = &*self.shape;
        told.is_some_and(|told| told.0(name)) || names.binary_search(name).is_ok()
    }
}

/// What an update needs of an item.
#[derive(Debug)]
pub(super) struct Needs<'w> {
    /// The attributes that it and its condition name, in order, but for those that are told anyway.
    names: Vec<&'w Name>,
    /// Which attributes are told.
    told: Option<Told>,
    /// Keys of indexes that hold what it changes: an item with one of them is in an index.
    telling: Vec<&'w Name>,
}

impl<'w> Needs<'w> {
    /// What a conditional update needs of an item; nothing if it needs the item whole, because it
    /// reaches into attributes or changes those that keys are made of.
    pub(super) fn of(
        spec: &'w TableSpec,
        update: &'w Update,
        write: &'w Write,
    ) -> Option<Needs<'w>> {
        let changed = || update.changes.iter().map(Change::path);
        let is_key = |path: &Path| spec.declared(&path.attribute).is_some();
        if changed().any(|path| !path.steps.is_empty() || is_key(path)) {
            return None;
        }
        // None of them is part of a key.
        let holds =
            |index: &&IndexSpec| changed().any(|path| index.projection.holds(&path.attribute));
        let touched = spec.indexes.iter().filter(holds);
        let telling: Vec<&Name> = touched.map(|index| &index.partition).collect();
        let mut names = telling.clone();
        names.extend(changed().map(|path| &path.attribute));
        expr::check::read_by(update, &mut names);
        if let Some(condition) = &write.condition {
            expr::check::attributes(condition, &mut names);
        }
        if let Some(Told(is_told)) = write.told {
            names.retain(|name| !is_told(name));
        }
        names.sort_unstable();
        names.dedup();
        Some(Needs { names, told: write.told, telling })
    }

    /// Reads that much of an item, unless it is there already; or all of it if what is changed is in an index.
    pub(super) fn read(&self, bytes: Arc<[u8]>, warm: Option<Warm>) -> Result<Image, Malformed> {
        // An update before may have read the same, and changed nothing that an index holds.
        let is_indexed = |item: &Item| self.telling.iter().any(|key| item.get(key).is_some());
        let is_of_use = |warm: &Warm| self.are(&warm.shape) && !is_indexed(&warm.item);
        if let Some(Warm { item, shape, .. }) = warm.filter(is_of_use) {
            return Ok(Image { item, bytes, shape: Some(shape) });
        }
        let item = codec::pick_named(&bytes, &self.names, self.told.map(|told| told.0))?;
        if is_indexed(&item) {
            return Image::decode(bytes);
        }
        let names = self.names.iter().map(|name| (*name).clone()).collect();
        Ok(Image { item, bytes, shape: Some(Arc::new(Shape { names, told: self.told })) })
    }

    fn are(&self, shape: &Shape) -> bool {
        self.told == shape.told && self.names.iter().copied().eq(&shape.names)
    }
}
