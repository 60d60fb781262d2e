//! What follows the change feed.
//!
//! - [`Limiter::tally_usage`] and [`Limiter::tallied_writes`] count what was used.
//! - [`Limiter::look`] gathers what the others act on. [`Limiter::tend`] refills buckets in use before they run dry and splits hot ones ahead of need.
//! - [`Limiter::errand_writes`] notes which buckets a changed config or a changed family reaches; the note is written with the
//!   feed's position, so it is not forgotten, and [`Limiter::run_errands`] works it off page by page, so a resource with a
//!   million buckets does not hold up the feed.
//!
//! Every step is safe to do again: counting goes by the feed's position, a refill by `rf`, an errand by what is stored.

mod errand;
mod errands;
mod in_use;
mod pace;
mod refill;

use weir_table::feed::{Change, Merge};
use weir_table::limits::BATCH_GET_MAX;
use weir_table::{Backend, Key, Write};

use crate::error::Result;
use crate::ids::{NamespaceId, NamespaceName};
use crate::limiter::{Limiter, Namespace};
use crate::usage;

pub(crate) use errand::Whose;
pub use in_use::Seen;
pub use pace::Pace;

/// Buckets that are decoded at once.
const AT_ONCE: usize = 16;

impl<B: Backend> Limiter<B> {
    /// Adds what `changes` used to a tally. Returns how many entries it has.
    ///
    /// # Errors
    /// A change cannot be read.
    pub fn tally_usage(&self, tally: &mut usage::Tally, changes: &[Change]) -> Result<usize> {
        let shared = self.settings().is_shared();
        for change in changes {
            tally.count(change, shared)?;
        }
        Ok(tally.len())
    }

    /// Which changes may be told to [`Limiter::tally_usage`] as one.
    #[must_use]
    pub fn usage_merge(&self) -> Option<Merge> {
        usage::count::merge(self.settings().is_shared())
    }

    /// Which changes may be told to [`Limiter::look`] as one: those of buckets, of which it keeps the first and the last.
    #[must_use]
    pub fn look_merge(&self) -> Merge {
        let items = |key: &Key| usage::count::bucket_in(key).is_some();
        Merge { items, within_ms: u64::MAX, counted: |_| false }
    }

    /// The writes that count a tally, no item twice: three for each entity and resource. They depend on the changes alone,
    /// so that those who write them in several transactions can go on after a crash.
    #[must_use]
    pub fn tallied_writes(&self, tally: usage::Tally) -> Vec<Write> {
        tally.writes(&self.table(), self.settings().is_shared())
    }

    /// The writes that count `changes` as usage, as [`Limiter::tallied_writes`]. Written in one transaction with the
    /// position of the feed, each change counts once.
    ///
    /// # Errors
    /// A change cannot be read.
    pub fn usage_writes(&self, changes: &[Change]) -> Result<Vec<Write>> {
        let mut tally = usage::Tally::default();
        self.tally_usage(&mut tally, changes)?;
        Ok(self.tallied_writes(tally))
    }

    /// Looks at `changes` of buckets, config and entities. Returns how many things were seen.
    ///
    /// # Errors
    /// A change cannot be read.
    pub fn look(
        &self,
        seen: &mut Seen,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<usize> {
        // In a table shared with zae-limiter nothing is tended: that program's own aggregator refills and doubles by
        // other rules, and nothing in the table tells whether it runs.
        let tended = !self.settings().is_shared();
        for change in changes {
            seen.look(change, tended)?;
        }
        Ok(seen.len())
    }

    /// Refills buckets that were seen in use before they run dry, and doubles shards ahead of need. Safe to do again. Returns
    /// how many buckets it wrote; none in a table shared with zae-limiter.
    ///
    /// # Errors
    /// The store fails.
    pub async fn tend(&self, seen: &Seen) -> Result<u64> {
        let now_ms = self.now_ms();
        let (mut needy, mut hot) = (Vec::new(), Vec::new());
        let mut written = 0;
        for (number, one) in (1..).zip(seen.in_use()) {
            // To decode them takes a while, and whoever runs this may have other things to do.
            if number % AT_ONCE == 0 {
                tokio::task::yield_now().await;
            }
            let Some(one) = one? else { continue };
            if self.settings().sharded && self.is_hot(&one) {
                hot.push((one.id.clone(), one.last.shard_count));
            }
            if refill::helps(&one, now_ms) {
                needy.push(one);
            }
            if needy.len() == BATCH_GET_MAX {
                written += self.refill(&std::mem::take(&mut needy), now_ms).await?;
            }
        }
        written += self.refill(&needy, now_ms).await?;
        // Last, because many write to a bucket that hot: it may take a while, or fail.
        for (id, shards) in hot {
            written += u64::from(self.double(&id, shards).await?);
        }
        Ok(written)
    }

    /// The writes that note what changes of config and of entities ask for, no item twice. To be written with the position of
    /// the feed.
    #[must_use]
    pub fn errand_writes(&self, seen: &Seen) -> Vec<Write> {
        let now_ms = self.now_ms();
        let write =
            |(ns, whose): &(NamespaceId, Whose)| errand::write(self.table(), ns, whose, now_ms);
        seen.errands.iter().map(write).collect()
    }

    /// A namespace by its id, for work on its items. Its name is not known here and does not matter to that.
    fn namespace_of(&self, id: &NamespaceId) -> Namespace<B> {
        let name = NamespaceName::stored(id.as_str());
        Namespace { limiter: self.clone(), id: id.clone(), name }
    }
}
