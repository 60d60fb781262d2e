//! Recording: a whole review in one call, or step by step.
//!
//! A review has a lookup item, which says what happens to it (`State`), and which every transaction below the
//! review checks. In one call:
//! 1. Everything is checked and computed in memory.
//! 2. A first transaction puts the lookup into the state `recording`, with as many responses, findings and consensus items as
//!    fit. Raw outputs go to the object storage, and further transactions write the rest.
//! 3. The last transaction writes the review itself and completes the lookup. Only then do readers see the review. It writes
//!    nothing else, because a query may meet a part of a transaction.
//!
//! The same content again continues where an earlier attempt failed, or changes nothing. Replacing a review first makes it
//! one in progress, and then does the same. Step by step, [`Reviews::open_review`] shows a review in progress,
//! [`Reviews::add_response`] adds responses, and [`Reviews::complete`] does step 3.
//!
//! [`Reviews::open_review`]: crate::Reviews::open_review
//! [`Reviews::add_response`]: crate::Reviews::add_response
//! [`Reviews::complete`]: crate::Reviews::complete

mod assemble;
mod check;
mod complete;
mod hash;
mod new;
mod one_call;
mod open;
mod raws;
mod reconcile;
mod respond;
mod rollups;
#[cfg(test)]
mod samples;

use weir_table::Backend;

use self::assemble::units as units_of;
pub use self::new::{Completion, NewConsensus, NewHead, NewResponse, NewReview, Recorded};
pub(crate) use self::reconcile::{removal, transactions};
use crate::error::{Error, Result};
use crate::ids::ReviewId;
use crate::items::{Lookup, State};
use crate::keys::{self, ReviewRef};
use crate::review::PullRequest;
use crate::reviews::Reviews;

impl<B: Backend> Reviews<B> {
    /// The lookup of a review, in any state.
    pub(crate) async fn lookup(&self, id: &ReviewId) -> Result<Option<Lookup>> {
        self.item(keys::lookup(id)).await?.as_ref().map(Lookup::decode).transpose()
    }

    /// The lookup of a review that is neither deleted nor expired.
    pub(crate) async fn living_lookup(&self, id: &ReviewId) -> Result<Lookup> {
        let now_ms = self.now_ms();
        let is_living = |l: &Lookup| l.state != State::Deleting && !l.is_expired(now_ms);
        let lookup = self.lookup(id).await?.filter(is_living);
        let lookup = lookup.filter(|lookup| self.is_visible(&lookup.review));
        lookup.ok_or_else(|| Error::not_found("review", id.as_str()))
    }

    /// The review item of a lookup, without files.
    pub(crate) async fn review_item(&self, lookup: &Lookup) -> Result<Option<weir_table::Item>> {
        self.item(keys::review(&lookup.review, lookup.created_at_ms)).await
    }

    /// Frees an id whose review is being deleted or has expired. Returns whether there was anything to do.
    async fn free_id(&self, lookup: &Lookup) -> Result<bool> {
        if lookup.state != State::Deleting && !lookup.is_expired(self.now_ms()) {
            return Ok(false);
        }
        self.delete_found(lookup.clone()).await?;
        Ok(true)
    }
}

/// The review of a pull request with this id.
fn review_ref(id: ReviewId, of: &PullRequest) -> ReviewRef {
    ReviewRef { id, owner: of.owner.clone(), repo: of.repo.clone(), pr_number: of.number }
}

/// A new id.
fn new_id() -> Result<ReviewId> {
    ReviewId::new(uuid::Uuid::new_v4().to_string())
}

fn conflict(id: &ReviewId, problem: &str) -> Error {
    Error::Conflict(format!("review {:?} {problem}", id.as_str()))
}
