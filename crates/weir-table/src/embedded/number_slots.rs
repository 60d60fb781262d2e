//! Where an item stores the numbers of an addition: their positions among the cached attributes and in the encoding.
//!
//! They are found once and then move with every addition. Any other write of the item drops them.

use std::sync::Arc;

use super::codec;
use super::partial_item::CachedAttrs;
use crate::addition::{Guard, Prepared};
use crate::item::Attrs;
use crate::number::Number;
use crate::spec::TableSpec;
use crate::value::{Name, Value};

/// The slots of an addition's numbers in one item.
#[derive(Debug)]
pub(super) struct NumberSlots {
    prepared: Arc<Prepared>,
    /// Attributes to add to, in the order of the encoding.
    adds: Vec<NumberSlot>,
    /// Positions of the attributes that guards read; `None` for a missing one.
    guards: Vec<Option<usize>>,
}

/// Where an attribute is stored.
#[derive(Debug)]
struct NumberSlot {
    /// Index of the attribute in the addition.
    number: usize,
    /// Position among the cached attributes.
    position: usize,
    /// Range of the value in the encoding.
    start: usize,
    end: usize,
}

/// The new value of an attribute.
#[derive(Debug)]
pub(super) struct Sum {
    sum: Number,
    /// End of the value in the new encoding.
    end: usize,
}

impl NumberSlots {
    /// Finds the numbers in an item with the cached attributes `cached`. `None` if one is missing, or if an index or the
    /// expiry depends on one.
    pub(super) fn find(
        prepared: &Arc<Prepared>,
        spec: &TableSpec,
        cached: &CachedAttrs,
        bytes: &[u8],
    ) -> Option<NumberSlots> {
        let addition = prepared.addition();
        let is_plain = |name: &Name| {
            cached.knows(name) && spec.declared(name).is_none() && spec.ttl.as_ref() != Some(name)
        };
        let is_elsewhere = spec.indexes.iter().any(|index| {
            let is_held = addition.adds.iter().any(|name| index.projection.holds(name));
            let is_out =
                cached.knows(&index.partition) && cached.item.get(&index.partition).is_none();
            is_held && !is_out
        });
        let are_known = addition.guards.iter().all(|guard| cached.knows(guard.name()));
        let is_read = are_known && cached.covers(addition.returned);
        if is_elsewhere || !is_read || !addition.adds.iter().all(is_plain) {
            return None;
        }
        let mut adds = Vec::with_capacity(addition.adds.len());
        for (number, name) in addition.adds.iter().enumerate() {
            let (position, _) = cached.item.attrs().find(name)?;
            let (start, end) = codec::span(bytes, name).ok()??;
            adds.push(NumberSlot { number, position, start, end });
        }
        adds.sort_by_key(|slot| slot.start);
        let position = |guard: &Guard| cached.item.attrs().find(guard.name()).map(|(at, _)| at);
        let guards = addition.guards.iter().map(position).collect();
        Some(NumberSlots { prepared: Arc::clone(prepared), adds, guards })
    }

    /// Whether these are the slots of `prepared`.
    pub(super) fn belong_to(&self, prepared: &Arc<Prepared>) -> bool {
        Arc::ptr_eq(&self.prepared, prepared)
    }

    /// Whether all guards are true.
    pub(super) fn guards_hold(&self, attrs: &Attrs, than: &[i64]) -> bool {
        let mut than = than.iter().copied();
        self.prepared.addition().guards.iter().zip(&self.guards).all(|(guard, position)| {
            let than = if guard.compares() { than.next() } else { None };
            let compare = |number: &Number| number.cmp_i64(than.unwrap_or_default());
            match (guard, position.and_then(|position| attrs.at(position))) {
                (Guard::AtLeast(_), Some(Value::N(number))) => compare(number).is_ge(),
                (Guard::AtMost(_), Some(Value::N(number))) => compare(number).is_le(),
                (Guard::Equals(_) | Guard::AbsentOrEquals(_), Some(Value::N(number))) => {
                    compare(number).is_eq()
                }
                (Guard::AbsentOrOver(_), Some(Value::N(number))) => compare(number).is_gt(),
                (Guard::AbsentOrOver(_) | Guard::AbsentOrEquals(_) | Guard::Absent(_), None) => {
                    true
                }
                (Guard::Is(_, value), Some(found)) => found == value,
                _ => false,
            }
        })
    }

    /// Writes the new encoding to `new` and the old values to `delta`. `None` if a sum overflows or nothing changes.
    pub(super) fn sums(
        &self,
        attrs: &Attrs,
        old: &[u8],
        add: &[i64],
        new: &mut Vec<u8>,
        delta: &mut Vec<u8>,
    ) -> Option<Vec<Sum>> {
        if add.iter().all(|add| *add == 0) {
            return None;
        }
        let mut sums = Vec::with_capacity(self.adds.len());
        let mut copied = 0;
        codec::put_unlost(delta, add.iter().filter(|add| **add != 0).count());
        for slot in &self.adds {
            let add = *add.get(slot.number)?;
            let number = attrs.at(slot.position)?.as_n()?;
            if add == 0 {
                new.extend_from_slice(old.get(copied..slot.end)?);
                copied = slot.end;
                sums.push(Sum { sum: number, end: new.len() });
                continue;
            }
            let sum = number.checked_add_i64(add).ok()?;
            new.extend_from_slice(old.get(copied..slot.start)?);
            codec::put_value(new, &Value::N(sum));
            copied = slot.end;
            sums.push(Sum { sum, end: new.len() });
            let name = self.prepared.addition().adds.get(slot.number)?;
            codec::put_bytes(delta, name.as_bytes());
            delta.extend_from_slice(old.get(slot.start..slot.end)?);
        }
        new.extend_from_slice(old.get(copied..)?);
        Some(sums)
    }

    /// Moves the slots to their ranges in the new encoding, and sets the cached numbers.
    pub(super) fn advance(&mut self, attrs: &mut Attrs, sums: Vec<Sum>) {
        // By how much the encoding has grown before the current value.
        let mut grown: isize = 0;
        for (slot, Sum { sum, end }) in self.adds.iter_mut().zip(sums) {
            if let Some(value) = attrs.at_mut(slot.position) {
                *value = Value::N(sum);
            }
            slot.start = slot.start.saturating_add_signed(grown);
            grown += end.cast_signed() - slot.end.saturating_add_signed(grown).cast_signed();
            slot.end = end;
        }
    }
}
