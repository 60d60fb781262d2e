//! Background work that follows the table's change feed.
//!
//! - Usage: [`Limiter::accumulate_usage`] sums what changes consumed, and [`Limiter::usage_writes`] records it.
//! - Maintenance: [`Limiter::observe`] collects the buckets that changed, and [`Limiter::maintain`] refills them before they
//!   run dry and splits hot ones early.
//! - Propagation: [`Limiter::propagation_writes`] stores a task for every changed config level or parent, in the transaction
//!   that advances the feed's checkpoint. [`Limiter::run_propagation`] works the tasks off page by page, so a resource with
//!   a million buckets does not hold up the feed.
//!
//! Every step can be repeated safely: usage is recorded with the checkpoint, a refill is conditional on `rf`, and
//! propagation compares with what is stored.

mod observed;
mod propagate;
mod propagation_task;
mod refill;
mod write_rate;

use weir_table::feed::{Change, Merge};
use weir_table::limits::BATCH_GET_MAX;
use weir_table::{Backend, Key, Write};

use crate::error::Result;
use crate::ids::{NamespaceId, NamespaceName};
use crate::limiter::{Limiter, Namespace};
use crate::usage;

pub use observed::ObservedChanges;
pub(crate) use propagation_task::PropagationScope;
pub(crate) use write_rate::WriteRates;

/// Buckets to decode before other tasks get a turn.
const DECODED_AT_ONCE: usize = 16;

impl<B: Backend> Limiter<B> {
    /// Adds the usage of `changes` to an accumulator. Returns its number of entries.
    ///
    /// # Errors
    /// A change cannot be decoded.
    pub fn accumulate_usage(
        &self,
        usage: &mut usage::UsageAccumulator,
        changes: &[Change],
    ) -> Result<usize> {
        let shared = self.settings().is_shared();
        for change in changes {
            usage.add(change, shared)?;
        }
        Ok(usage.len())
    }

    /// Which changes the feed may merge before [`Limiter::accumulate_usage`].
    #[must_use]
    pub fn usage_merge(&self) -> Option<Merge> {
        usage::accumulate::merge(self.settings().is_shared())
    }

    /// Which changes the feed may merge before [`Limiter::observe`]: those of a bucket, of which the first and the last image
    /// matter.
    #[must_use]
    pub fn observe_merge(&self) -> Merge {
        let items = |key: &Key| usage::accumulate::bucket_in(key).is_some();
        Merge { items, within_ms: u64::MAX, counted: |_| false }
    }

    /// The writes that record accumulated usage, no item twice: three for each entity and resource. They depend on the
    /// changes alone, so a driver that splits them over several transactions can continue after a crash.
    #[must_use]
    pub fn usage_writes(&self, usage: usage::UsageAccumulator) -> Vec<Write> {
        usage.writes(&self.table(), self.settings().is_shared())
    }

    /// Collects changed buckets, config levels and entities. Returns how many are collected.
    ///
    /// # Errors
    /// A change cannot be decoded.
    pub fn observe(
        &self,
        observed: &mut ObservedChanges,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<usize> {
        // In a table shared with zae-limiter buckets are not maintained: that program's aggregator refills and splits by
        // other rules, and nothing in the table shows whether it runs.
        let with_buckets = !self.settings().is_shared();
        for change in changes {
            observed.add(change, with_buckets)?;
        }
        Ok(observed.len())
    }

    /// Refills observed buckets before they run dry, and splits hot ones early. Can be repeated safely. Returns how many
    /// buckets it wrote; none in a table shared with zae-limiter.
    ///
    /// # Errors
    /// The store fails.
    pub async fn maintain(&self, observed: &ObservedChanges) -> Result<u64> {
        let now_ms = self.now_ms();
        let (mut low, mut hot) = (Vec::new(), Vec::new());
        let mut written = 0;
        for (number, shard) in (1..).zip(observed.active_shards()) {
            // Decoding takes a while: other tasks of this thread get their turn.
            if number % DECODED_AT_ONCE == 0 {
                tokio::task::yield_now().await;
            }
            let Some(shard) = shard? else { continue };
            if self.settings().sharded && self.is_hot(&shard) {
                hot.push((shard.id.clone(), shard.last.shard_count));
            }
            if refill::is_running_low(&shard, now_ms) {
                low.push(shard);
            }
            if low.len() == BATCH_GET_MAX {
                written += self.refill(&std::mem::take(&mut low), now_ms).await?;
            }
        }
        written += self.refill(&low, now_ms).await?;
        // Hot buckets last: they have many writers, so splitting one may take a while, or fail.
        for (id, shards) in hot {
            written += u64::from(self.split(&id, shards).await?);
        }
        Ok(written)
    }

    /// The writes that store a propagation task for each observed change of config or parent, no item twice. They belong
    /// into the transaction that advances the feed's checkpoint.
    #[must_use]
    pub fn propagation_writes(&self, observed: &ObservedChanges) -> Vec<Write> {
        let now_ms = self.now_ms();
        let tasks = observed.propagation.iter();
        tasks
            .map(|(ns, scope)| propagation_task::schedule(self.table(), ns, scope, now_ms))
            .collect()
    }

    /// A namespace by its id, for work on its items. Its name is unknown and not needed for that.
    fn namespace_of(&self, id: &NamespaceId) -> Namespace<B> {
        let name = NamespaceName::stored(id.as_str());
        Namespace { limiter: self.clone(), id: id.clone(), name }
    }
}
