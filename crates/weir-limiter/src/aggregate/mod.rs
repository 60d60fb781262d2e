//! What follows the change feed.
//!
//! - [`Limiter::usage_writes`] counts what was used.
//! - [`Limiter::tend`] refills buckets in use before they run dry and splits hot ones ahead of need.
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

use weir_table::feed::Change;
use weir_table::{Backend, Write};

use crate::error::Result;
use crate::ids::{NamespaceId, NamespaceName};
use crate::limiter::{Limiter, Namespace};
use crate::usage;

pub(crate) use errand::Whose;
pub use pace::Pace;

impl<B: Backend> Limiter<B> {
    /// The writes that count `changes` as usage, no item twice: three for each entity and resource. They are more
    /// than a transaction takes when the changes are of more than 33 of them; then it is to be asked with fewer. Written
    /// in one transaction with the position of the feed, each change counts once.
    ///
    /// # Errors
    /// None of its own.
    pub fn usage_writes(&self, changes: &[Change]) -> Result<Vec<Write>> {
        let shared = self.settings().is_shared();
        Ok(usage::count::writes(&self.table(), changes, shared))
    }

    /// Refills buckets in use before they run dry, and doubles shards ahead of need. Safe to do again. Returns how many buckets
    /// it wrote.
    ///
    /// In a table shared with zae-limiter it does nothing: that program's own aggregator refills and doubles by other
    /// rules, and nothing in the table tells whether it runs.
    ///
    /// # Errors
    /// The store fails.
    pub async fn tend(&self, changes: &[Change]) -> Result<u64> {
        if self.settings().is_shared() {
            return Ok(0);
        }
        let now_ms = self.now_ms();
        let in_use = in_use::in_use(changes);
        let refilled = self.refill(&in_use, now_ms).await?;
        let doubled = if self.settings().sharded { self.double_hot(&in_use).await? } else { 0 };
        Ok(refilled + doubled)
    }

    /// The writes that note what `changes` of config and of entities ask for, no item twice. To be written in one
    /// transaction with the position of the feed.
    #[must_use]
    pub fn errand_writes(&self, changes: &[Change]) -> Vec<Write> {
        errand::writes(&self.table(), changes, self.now_ms())
    }

    /// A namespace by its id, for work on its items. Its name is not known here and does not matter to that.
    fn namespace_of(&self, id: &NamespaceId) -> Namespace<B> {
        let name = NamespaceName::stored(id.as_str());
        Namespace { limiter: self.clone(), id: id.clone(), name }
    }
}
