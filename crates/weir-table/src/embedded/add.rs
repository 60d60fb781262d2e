//! Additions to items that are in memory, in their place: one look-up, and nothing of the item is copied but its encoding.
//!
//! What is not plain goes the long way of every update, through `commit`; nothing has been done then. The short way does
//! what the long way would: the same record in the log, the same entry for readers.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::catalog::Table;
use super::change;
use super::dirty::{Entry, Payload, Space};
use super::engine::{Engine, Rests};
use super::keys;
use super::spots::Spots;
use crate::addition::{Add, Added};
use crate::check;
use crate::error::Result;
use crate::item::Item;

/// Bytes that a thread keeps for the next addition.
const SCRATCH_MAX: usize = 64 * 1024;

/// What an addition is put together in.
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
    /// Adds numbers to attributes of an item, and reads the item after it.
    pub(super) async fn add<T>(
        self: &Arc<Self>,
        add: Add<'_>,
        read: impl Fn(&Item) -> T,
    ) -> Result<Added<T>> {
        tokio::task::coop::consume_budget().await;
        if self.is_calm()
            && let Some((item, rests)) = self.add_now(add)?
        {
            // The item is let go before others add to it.
            let told = read(&item);
            drop(item);
            self.settle(rests).await?;
            return Ok(Added::Done(told));
        }
        // In a box: the short way has a small future.
        let written = Box::pin(self.write(add.write())).await?;
        Ok(Added::of(written, read))
    }

    /// Does an addition with what is in memory; nothing is done if that is not enough.
    fn add_now(&self, add: Add<'_>) -> Result<Option<(Item, Rests)>> {
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
    ) -> Result<Option<(Item, Rests)>> {
        let seen = Rests::from(&*entry);
        let Entry { payload: Payload::Bytes(bytes), warm: Some(warm), .. } = entry else {
            return Ok(None);
        };
        if !warm.spots.as_ref().is_some_and(|spots| spots.are_of(prepared)) {
            warm.spots = Spots::find(prepared, &table.spec, warm, bytes).map(Box::new);
        }
        let Some(spots) = &mut warm.spots else { return Ok(None) };
        let Scratch { new, delta, body } = scratch;
        if !spots.hold(warm.item.attrs(), than) {
            return Ok(None);
        }
        let Some(sums) = spots.sums(warm.item.attrs(), bytes, add, new, delta) else {
            return Ok(None);
        };
        if check::may_be_too_large(new.len()) {
            return Ok(None);
        }
        let durability = prepared.addition().durability;
        change::put_updated(body, durability, place, new, delta);
        let seq = self.log.append(body, self.options.clock.now_ms())?;
        self.appended.fetch_add(body.len() as u64, Ordering::Relaxed);
        let rests = Rests { flushed: seq, synced: seen.synced }.at_least(durability);
        spots.advance(warm.item.attrs_mut(), sums);
        replace(bytes, new);
        let item = warm.item.clone();
        (entry.seq, entry.synced) = (seq, rests.synced);
        Ok(Some((item, rests)))
    }
}

/// Puts other bytes in place of some; if nobody else has those, where they are. An allocation that another thread has made
/// is costly to give back.
fn replace(bytes: &mut Arc<[u8]>, new: &[u8]) {
    match Arc::get_mut(bytes).filter(|bytes| bytes.len() == new.len()) {
        Some(bytes) => bytes.copy_from_slice(new),
        None => *bytes = Arc::from(new),
    }
}
