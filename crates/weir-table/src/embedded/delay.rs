//! For tests: index entries become visible late, as they may on DynamoDB.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::change::SideEntry;
use super::dirty::{Entry, Generation};

#[derive(Debug)]
struct Waiting {
    due: Instant,
    seq: u64,
    synced: u64,
    entry: SideEntry,
}

/// Index entries that wait for their delay; without a delay they are applied at once.
#[derive(Debug)]
pub(super) struct DelayedIndex {
    delay: Option<Duration>,
    waiting: Mutex<VecDeque<Waiting>>,
}

impl DelayedIndex {
    pub(super) fn new(delay: Option<Duration>) -> DelayedIndex {
        DelayedIndex { delay, waiting: Mutex::default() }
    }

    /// Applies an entry, now or later.
    pub(super) fn apply(&self, generation: &Generation, seq: u64, synced: u64, entry: SideEntry) {
        match self.delay {
            None => put(generation, seq, synced, entry),
            Some(delay) => {
                let due = Instant::now() + delay;
                self.waiting.lock().push_back(Waiting { due, seq, synced, entry });
            }
        }
    }

    /// Applies the entries that are due.
    pub(super) fn apply_due(&self, generation: &Generation) {
        self.apply_until(generation, Some(Instant::now()));
    }

    /// Applies all entries, so that a checkpoint has those of all commits that it covers.
    pub(super) fn apply_all(&self, generation: &Generation) {
        if self.delay.is_some() {
            self.apply_until(generation, None);
        }
    }

    /// Forgets all entries.
    pub(super) fn clear(&self) {
        self.waiting.lock().clear();
    }

    fn apply_until(&self, generation: &Generation, until: Option<Instant>) {
        let mut waiting = self.waiting.lock();
        while let Some(next) =
            waiting.pop_front_if(|next| until.is_none_or(|until| next.due <= until))
        {
            put(generation, next.seq, next.synced, next.entry);
        }
    }
}

fn put(generation: &Generation, seq: u64, synced: u64, entry: SideEntry) {
    let (space, key, payload) = entry;
    generation.insert(space, &key, Entry::new(seq, synced, payload));
}
