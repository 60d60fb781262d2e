//! Power cuts: the store loses what it had not synced, and the model follows it back.

use super::Simulation;
use super::buckets::{BucketName, Buckets, Deltas};
use super::keyed::Keyed;
use crate::model::lease::Lease;

/// An fsync starts so soon after a write.
const SYNCED_AFTER_MS: i64 = 100;

/// The model before a write that a power cut may undo.
struct Snapshot {
    buckets: Buckets,
    keyed: Keyed,
    /// Changes of leases before it.
    lease_changes: usize,
    /// Takes that were given back before it.
    returned: usize,
}

/// The model before each write since the last sync.
#[derive(Default)]
pub(super) struct Unsynced {
    snapshots: Vec<Snapshot>,
    /// Leases as they were before each change.
    leases: Vec<(usize, Lease)>,
    /// Takes without a response that were given back.
    pub(super) returned: Vec<(BucketName, Deltas)>,
}

impl Simulation {
    /// Remembers the model before a write.
    pub(super) fn before_write(&mut self, is_synced: bool) {
        if is_synced {
            self.unsynced = Unsynced::default();
            return;
        }
        self.unsynced.snapshots.push(Snapshot {
            buckets: self.buckets.clone(),
            keyed: self.keyed.clone(),
            lease_changes: self.unsynced.leases.len(),
            returned: self.unsynced.returned.len(),
        });
    }

    /// Remembers a lease before it changes.
    pub(super) fn before_lease_change(&mut self, index: usize) {
        if let Some(lease) = self.leases.get(index) {
            self.unsynced.leases.push((index, lease.clone()));
        }
    }

    /// So much time has passed.
    pub(super) fn sync_after(&mut self, ms: i64) {
        if ms >= SYNCED_AFTER_MS {
            self.run.store.sync();
            self.unsynced = Unsynced::default();
        }
    }

    /// The machine of an embedded store loses power: the end of the log is gone, and all instances start again.
    pub(super) fn cut_power(&mut self) {
        if self.settings.sharded {
            return;
        }
        let Unsynced { snapshots, mut leases, mut returned } = std::mem::take(&mut self.unsynced);
        assert_eq!(snapshots.len(), self.run.store.unsynced(), "a snapshot for each write");
        let kept = self.run.random.index(snapshots.len() + 1);
        let lost = snapshots.len() - kept;
        self.run
            .trace
            .say(format_args!("the power is cut, {lost} of {} writes are lost", lost + kept));
        self.run.store.cut_power(kept);
        if let Some(snapshot) = snapshots.into_iter().nth(kept) {
            self.buckets = snapshot.buckets;
            self.keyed = snapshot.keyed;
            self.unanswered.extend(returned.drain(snapshot.returned..));
            for (index, lease) in leases.drain(snapshot.lease_changes..).rev() {
                self.leases[index] = lease;
            }
        }
        self.run.commits += 1;
        for instance in 0..self.instances.len() {
            self.restart(instance);
        }
    }
}
