//! The store at one moment, whether its commits are folded or not.

use std::collections::BTreeMap;

use super::super::base::Snapshot;
use super::super::dirty::{Generation, Payload, Space};
use super::super::engine::Engine;
use super::super::keys::Bytes;
use crate::error::{Error, Result};

/// A snapshot of the base store, and the commits that are not folded into it.
pub(super) struct View {
    pub(super) snapshot: Snapshot,
    /// Sequence number of the last commit.
    pub(super) seq: u64,
    unfolded: Vec<(Space, BTreeMap<Bytes, Payload>)>,
}

impl View {
    /// Takes a view of the store.
    pub(super) fn of(engine: &Engine) -> Result<View> {
        // Between two folds the base store is at exactly one sequence number.
        let _no_fold = engine.checkpointing.lock();
        match engine.fold_active() {
            Ok(_) => {
                let (snapshot, seq) = (engine.base.snapshot()?, engine.base.applied()?);
                Ok(View { snapshot, seq, unfolded: Vec::new() })
            }
            // When no more can be folded, a backup to another disk matters most.
            Err(Error::DiskFull) => View::of_unfolded(engine),
            Err(error) => Err(error),
        }
    }

    fn of_unfolded(engine: &Engine) -> Result<View> {
        let was_full = engine.log.is_full();
        if was_full && engine.log.shows_dropped() {
            return Err(Error::DiskFull);
        }
        let snapshot = engine.base.snapshot()?;
        let (unfolded, seq) = {
            // For writing, so that commits are whole.
            let gate = engine.generations.write();
            engine.delayed.apply_all(&gate.active);
            let frozen = gate.frozen.as_ref().map(|frozen| frozen.generation.as_ref());
            (merge(frozen, &gate.active), engine.log.last_seq())
        };
        // A commit that finds no room in the log is not part of the store.
        match engine.log.sync() {
            Err(Error::DiskFull) if was_full => {}
            synced => synced?,
        }
        Ok(View { snapshot, seq, unfolded })
    }

    /// Calls `each` with every entry of a space, in order.
    pub(super) fn for_each(
        &self,
        space: Space,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let none = BTreeMap::new();
        let unfolded = self.unfolded.iter().find(|(other, _)| *other == space);
        let mut unfolded = unfolded.map_or(&none, |(_, entries)| entries).iter().peekable();
        for next in self.snapshot.entries(space) {
            let (key, value) = next?;
            while let Some((key, payload)) = unfolded.next_if(|(other, _)| ***other < *key) {
                payload.bytes().map_or(Ok(()), |value| each(key, value))?;
            }
            match unfolded.next_if(|(other, _)| ***other == *key) {
                Some((_, payload)) => payload.bytes().map_or(Ok(()), |new| each(&key, new))?,
                None => each(&key, &value)?,
            }
        }
        unfolded
            .try_for_each(|(key, payload)| payload.bytes().map_or(Ok(()), |value| each(key, value)))
    }
}

/// The entries of two generations; the later one wins.
fn merge(
    earlier: Option<&Generation>,
    later: &Generation,
) -> Vec<(Space, BTreeMap<Bytes, Payload>)> {
    let entries = |space| {
        let mut entries = BTreeMap::new();
        for generation in earlier.into_iter().chain([later]) {
            generation.for_each(space, |key, entry| {
                entries.insert(key.clone(), entry.payload.clone());
            });
        }
        (space, entries)
    };
    super::super::dirty::SPACES.map(entries).into()
}
