//! Where an addition finds its numbers in an item: among the attributes that have been read, and in the encoding.
//!
//! They are looked for once, and then move with every addition. Any other write of the item forgets them.

use std::sync::Arc;

use super::codec;
use super::partial::Warm;
use crate::addition::{Guard, Prepared};
use crate::item::Attrs;
use crate::number::Number;
use crate::spec::TableSpec;
use crate::value::{Name, Value};

/// The places of an addition's numbers in one item.
#[derive(Debug)]
pub(super) struct Spots {
    prepared: Arc<Prepared>,
    /// Of the attributes that are added to, in the order of the encoding.
    adds: Vec<Spot>,
    /// Of the attributes that guards look at, as far as they are there.
    guards: Vec<Option<usize>>,
}

/// Where an attribute is.
#[derive(Debug)]
struct Spot {
    /// Which of the addition's attributes it is.
    number: usize,
    /// Its place among those that have been read.
    place: usize,
    /// Where its value is in the encoding.
    start: usize,
    end: usize,
}

/// What an addition makes of an attribute.
#[derive(Debug)]
pub(super) struct Sum {
    sum: Number,
    /// Where its value now ends.
    end: usize,
}

impl Spots {
    /// Looks for the numbers in an item of which `warm` has been read. Nothing if not all of them are there, or if an index or
    /// the expiry depends on them.
    pub(super) fn find(
        prepared: &Arc<Prepared>,
        spec: &TableSpec,
        warm: &Warm,
        bytes: &[u8],
    ) -> Option<Spots> {
        let addition = prepared.addition();
        let is_plain = |name: &Name| {
            warm.knows(name) && spec.declared(name).is_none() && spec.ttl.as_ref() != Some(name)
        };
        let is_elsewhere = spec.indexes.iter().any(|index| {
            let is_held = addition.adds.iter().any(|name| index.projection.holds(name));
            let is_out = warm.knows(&index.partition) && warm.item.get(&index.partition).is_none();
            is_held && !is_out
        });
        let are_known = addition.guards.iter().all(|guard| warm.knows(guard.name()));
        let is_read = are_known && warm.tells(addition.told);
        if is_elsewhere || !is_read || !addition.adds.iter().all(is_plain) {
            return None;
        }
        let mut adds = Vec::with_capacity(addition.adds.len());
        for (number, name) in addition.adds.iter().enumerate() {
            let (place, _) = warm.item.attrs().find(name)?;
            let (start, end) = codec::span(bytes, name).ok()??;
            adds.push(Spot { number, place, start, end });
        }
        adds.sort_by_key(|spot| spot.start);
        let place = |guard: &Guard| warm.item.attrs().find(guard.name()).map(|(place, _)| place);
        let guards = addition.guards.iter().map(place).collect();
        Some(Spots { prepared: Arc::clone(prepared), adds, guards })
    }

    /// Whether they are of this addition.
    pub(super) fn are_of(&self, prepared: &Arc<Prepared>) -> bool {
        Arc::ptr_eq(&self.prepared, prepared)
    }

    /// Whether all guards hold.
    pub(super) fn hold(&self, attrs: &Attrs, than: &[i64]) -> bool {
        let mut than = than.iter().copied();
        self.prepared.addition().guards.iter().zip(&self.guards).all(|(guard, place)| {
            let than = if guard.compares() { than.next() } else { None };
            let than = Number::from(than.unwrap_or_default());
            match (guard, place.and_then(|place| attrs.at(place))) {
                (Guard::AtLeast(_), Some(Value::N(number))) => *number >= than,
                (Guard::AbsentOrOver(_), Some(Value::N(number))) => *number > than,
                (Guard::AbsentOrOver(_), None) => true,
                (Guard::Is(_, value), Some(found)) => found == value,
                _ => false,
            }
        })
    }

    /// Writes the encoding after the addition to `new`, and what the item had before it to `delta`. Nothing if one of the sums
    /// cannot be made or changes nothing.
    pub(super) fn sums(
        &self,
        attrs: &Attrs,
        old: &[u8],
        add: &[i64],
        new: &mut Vec<u8>,
        delta: &mut Vec<u8>,
    ) -> Option<Vec<Sum>> {
        let mut sums = Vec::with_capacity(self.adds.len());
        let mut copied = 0;
        codec::put_unlost(delta, self.adds.len());
        for spot in &self.adds {
            let add = *add.get(spot.number).filter(|add| **add != 0)?;
            let number = attrs.at(spot.place)?.as_n()?;
            let sum = number.checked_add(Number::from(add)).ok()?;
            new.extend_from_slice(old.get(copied..spot.start)?);
            codec::put_value(new, &Value::N(sum));
            copied = spot.end;
            sums.push(Sum { sum, end: new.len() });
            let name = self.prepared.addition().adds.get(spot.number)?;
            codec::put_bytes(delta, name.as_bytes());
            delta.extend_from_slice(old.get(spot.start..spot.end)?);
        }
        new.extend_from_slice(old.get(copied..)?);
        Some(sums)
    }

    /// Moves to where the numbers are after the addition, and sets them.
    pub(super) fn advance(&mut self, attrs: &mut Attrs, sums: Vec<Sum>) {
        // By how much the encoding has grown before a value.
        let mut grown: isize = 0;
        for (spot, Sum { sum, end }) in self.adds.iter_mut().zip(sums) {
            if let Some(value) = attrs.at_mut(spot.place) {
                *value = Value::N(sum);
            }
            spot.start = spot.start.saturating_add_signed(grown);
            grown += end.cast_signed() - spot.end.saturating_add_signed(grown).cast_signed();
            spot.end = end;
        }
    }
}
