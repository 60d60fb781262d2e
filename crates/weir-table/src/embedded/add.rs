//! Additions in place: to items in memory, with one lookup, and nothing of the item is copied but its encoding.
//!
//! The fast path writes the same log record and the same entry as the equivalent update. When it does not apply, it has
//! changed nothing, and the addition falls back to `commit`. [`super::Stats`] counts both.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::catalog::Table;
use super::change;
use super::dirty::{Entry, Payload, Space};
use super::engine::{Barrier, Engine};
use super::keys;
use super::number_slots::NumberSlots;
use crate::addition::{Add, Added};
use crate::check;
use crate::error::Result;
use crate::item::Item;

/// Capacity that a thread retains for the next addition.
const SCRATCH_MAX: usize = 64 * 1024;

/// Buffers in which an addition is encoded.
#[derive(Debug, Default)]
struct Scratch {
    new: Vec<u8>,
    delta: Vec<u8>,
    body: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Scratch {
    fn clear(&mut self) {
        for bytes in [&mut self.new, &mut self.delta, &mut self.body] {
            bytes.clear();
            bytes.shrink_to(SCRATCH_MAX);
        }
    }
}

impl Engine {
    /// Adds numbers to attributes of an item, and reads the new item.
    pub(super) async fn add<T>(
        self: &Arc<Self>,
        add: Add<'_>,
        read: impl Fn(&Item) -> T,
    ) -> Result<Added<T>> {
        tokio::task::coop::consume_budget().await;
        if self.is_calm()
            && let Some((item, barrier)) = self.add_in_place(add)?
        {
            self.additions_in_place.fetch_add(1, Ordering::Relaxed);
            // Dropped early, so that the next addition finds the attributes unshared.
            let result = read(&item);
            drop(item);
            self.wait_durable(barrier).await?;
            return Ok(Added::Done(result));
        }
        self.additions_fallback.fetch_add(1, Ordering::Relaxed);
        // Boxed, so that the future of the fast path stays small.
        let written = Box::pin(self.write(add.write())).await?;
        Ok(Added::from_written(written, read))
    }

    /// Makes an addition in place; returns `None`, with nothing changed, if it has to fall back.
    fn add_in_place(&self, add: Add<'_>) -> Result<Option<(Item, Barrier)>> {
        let table = self.table(&add.prepared.addition().table)?;
        let place = keys::item(table.id, add.key);
        let _locked = self.lock_stripe(Engine::stripe_of(&place));
        let gate = self.generations.read();
        let added = gate.active.alter(Space::Items, &place, |entry| {
            SCRATCH.with_borrow_mut(|scratch| {
                scratch.clear();
                self.add_to(entry, &table, &place, add, scratch)
            })
        });
        added.unwrap_or(Ok(None))
    }

    fn add_to(
        &self,
        entry: &mut Entry,
        table: &Table,
        place: &[u8],
        Add { prepared, add, than, .. }: Add<'_>,
        scratch: &mut Scratch,
    ) -> Result<Option<(Item, Barrier)>> {
        let seen = Barrier::from(&*entry);
        let Entry { payload: Payload::Bytes(bytes), cached: Some(cached), .. } = entry else {
            return Ok(None);
        };
        if !cached.slots.as_ref().is_some_and(|slots| slots.belong_to(prepared)) {
            cached.slots = NumberSlots::find(prepared, &table.spec, cached, bytes).map(Box::new);
        }
        let Some(slots) = &mut cached.slots else { return Ok(None) };
        let Scratch { new, delta, body } = scratch;
        if !slots.guards_hold(cached.item.attrs(), than) {
            return Ok(None);
        }
        let Some(sums) = slots.sums(cached.item.attrs(), bytes, add, new, delta) else {
            return Ok(None);
        };
        if check::may_be_too_large(new.len()) {
            return Ok(None);
        }
        let durability = prepared.addition().durability;
        change::put_updated(body, durability, place, new, delta);
        let seq = self.log.append(body, self.options.clock.now_ms())?;
        self.appended.fetch_add(body.len() as u64, Ordering::Relaxed);
        let barrier = Barrier { flushed: seq, synced: seen.synced }.at_least(durability);
        slots.advance(cached.item.attrs_mut(), sums);
        replace(bytes, new);
        let item = cached.item.clone();
        (entry.seq, entry.synced) = (seq, barrier.synced);
        Ok(Some((item, barrier)))
    }
}

/// Replaces bytes, in place if they are unshared and of equal length. Freeing an allocation of another thread is costly.
fn replace(bytes: &mut Arc<[u8]>, new: &[u8]) {
    match Arc::get_mut(bytes).filter(|bytes| bytes.len() == new.len()) {
        Some(bytes) => bytes.copy_from_slice(new),
        None => *bytes = Arc::from(new),
    }
}
