//! One review, and what its models said.
//!
//! A writer that replaces a review raises its revision. So a reader that meets the same lookup before and after has read
//! one revision.

use weir_table::retry::Listed;
use weir_table::{Backend, Item, Query};

use crate::error::{Error, Result};
use crate::faults::{self, Fault};
use crate::ids::{ModelId, ReviewId};
use crate::items::{Lookup, State, decode_files};
use crate::keys::{self, CONSENSUS_PREFIX, FINDING_PREFIX, MODEL_PREFIX, ReviewRef};
use crate::record::Recorded;
use crate::retry::{TRIES_MAX, pause};
use crate::review::{Consensus, RecordedFinding, RecordedReview, Response, Review, ReviewStatus};
use crate::reviews::Reviews;

impl<B: Backend> Reviews<B> {
    /// Finds the pull request of a review.
    ///
    /// # Errors
    /// There is no such review, or the store fails.
    pub async fn find(&self, id: &ReviewId) -> Result<ReviewRef> {
        Ok(self.living_lookup(id).await?.review)
    }

    /// A review, without what its models said.
    ///
    /// # Errors
    /// There is no such review, or the store fails.
    pub async fn get(&self, id: &ReviewId) -> Result<Review> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let lookup = self.living_lookup(id).await?;
            let review = self.found_review(&lookup).await?;
            if self.is_unchanged(&lookup).await? {
                return review.ok_or_else(|| Error::not_found("review", id.as_str()));
            }
        }
        Err(Error::Contended)
    }

    /// The review of a lookup, with its files; `None` if readers may not see it. Parts of it are of another revision if the
    /// lookup has changed since.
    async fn found_review(&self, lookup: &Lookup) -> Result<Option<Review>> {
        let Some(item) = self.review_item(lookup).await? else { return Ok(None) };
        let mut review = described(lookup, Review::decode(&item)?);
        if Review::has_files(&item) {
            let files = self.item(keys::files(&lookup.review)).await?;
            let files = files.as_ref().map(decode_files).transpose()?;
            review.pull_request.files = files.unwrap_or_default();
        }
        Ok(Some(review))
    }

    /// The result of a call that changes nothing; `None` if the review has just changed.
    pub(crate) async fn unchanged(&self, lookup: &Lookup) -> Result<Option<Recorded>> {
        let review = self.found_review(lookup).await?;
        let is_unchanged = faults::is(Fault::TornRead) || self.is_unchanged(lookup).await?;
        Ok(review.filter(|_| is_unchanged).map(|review| Recorded { review, changed: false }))
    }

    /// A review with everything that its models said.
    ///
    /// # Errors
    /// There is no such review, or the store fails.
    pub async fn get_whole(&self, id: &ReviewId) -> Result<RecordedReview> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let lookup = self.living_lookup(id).await?;
            let item = self.review_item(&lookup).await?;
            let children = self.children(&lookup.review).await?;
            if !self.is_unchanged(&lookup).await? {
                continue;
            }
            let item = item.ok_or_else(|| Error::not_found("review", id.as_str()))?;
            let review = described(&lookup, Review::decode(&item)?);
            return whole(review, &children);
        }
        Err(Error::Contended)
    }

    /// Responses of a review, by model.
    ///
    /// # Errors
    /// There is no such review, the cursor is not of this list, or the store fails.
    pub async fn responses(
        &self,
        id: &ReviewId,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Listed<Response>> {
        self.list_below(id, MODEL_PREFIX, limit, cursor, Response::decode).await
    }

    /// Findings of a review, by model and id.
    ///
    /// # Errors
    /// There is no such review, the cursor is not of this list, or the store fails.
    pub async fn findings(
        &self,
        id: &ReviewId,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Listed<RecordedFinding>> {
        self.list_below(id, FINDING_PREFIX, limit, cursor, RecordedFinding::decode).await
    }

    /// Consensus of a review, by id.
    ///
    /// # Errors
    /// There is no such review, the cursor is not of this list, or the store fails.
    pub async fn consensus(
        &self,
        id: &ReviewId,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Listed<Consensus>> {
        self.list_below(id, CONSENSUS_PREFIX, limit, cursor, Consensus::decode).await
    }

    /// The raw output of a model.
    ///
    /// # Errors
    /// There is no such review, the model has no raw output in it, or the store fails.
    pub async fn raw(&self, id: &ReviewId, model: &ModelId) -> Result<Vec<u8>> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let lookup = self.visible_lookup(id).await?;
            let item = self.item(keys::response(&lookup.review, model)).await?;
            let response = item.as_ref().map(Response::decode).transpose()?;
            let missing = |what| Error::not_found(what, model.as_str());
            let raw_key = response.ok_or_else(|| missing("response"))?.raw_key;
            let raw_key = raw_key.ok_or_else(|| missing("raw output"))?;
            match self.raw_outputs().get(&raw_key).await? {
                Some(raw) => return Ok(raw),
                None if self.is_unchanged(&lookup).await? => return Err(missing("raw output")),
                None => {}
            }
        }
        Err(Error::Contended)
    }

    /// A page of what is in the partition of a review.
    async fn list_below<T>(
        &self,
        id: &ReviewId,
        prefix: &str,
        limit: u32,
        cursor: Option<String>,
        decode: impl Fn(&Item) -> Result<T>,
    ) -> Result<Listed<T>> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let lookup = self.visible_lookup(id).await?;
            let partition = keys::review_partition(&lookup.review);
            let query = Query::partition(self.table().clone(), partition).begins_with(prefix);
            let page = self.store().page(query, limit, cursor.clone()).await?;
            if self.is_unchanged(&lookup).await? {
                return Ok(self.living(page, &decode));
            }
        }
        Err(Error::Contended)
    }

    /// The lookup of a review that readers may see. While it is recorded in one call, only one that is replaced is.
    async fn visible_lookup(&self, id: &ReviewId) -> Result<Lookup> {
        let lookup = self.living_lookup(id).await?;
        if lookup.state == State::Recording && self.review_item(&lookup).await?.is_none() {
            return Err(Error::not_found("review", id.as_str()));
        }
        Ok(lookup)
    }

    async fn is_unchanged(&self, lookup: &Lookup) -> Result<bool> {
        let now = self.lookup(&lookup.review.id).await?;
        Ok(now.is_some_and(|now| now.revision == lookup.revision && now.state == lookup.state))
    }
}

/// Adds what only the lookup knows of a review in progress.
fn described(lookup: &Lookup, review: Review) -> Review {
    if review.status != ReviewStatus::InProgress || lookup.claims.is_empty() {
        return review;
    }
    let models = lookup.claims.keys().cloned().collect();
    Review { models, total_findings: lookup.findings, ..review }
}

fn whole(mut review: Review, children: &[Item]) -> Result<RecordedReview> {
    let (mut responses, mut findings, mut consensus) = (vec![], vec![], vec![]);
    for item in children {
        match item.s("SK").unwrap_or_default() {
            sort if sort.starts_with(MODEL_PREFIX) => responses.push(Response::decode(item)?),
            sort if sort.starts_with(FINDING_PREFIX) => {
                findings.push(RecordedFinding::decode(item)?);
            }
            sort if sort.starts_with(CONSENSUS_PREFIX) => consensus.push(Consensus::decode(item)?),
            _ if keys::is_files(item) => review.pull_request.files = decode_files(item)?,
            _ => {}
        }
    }
    Ok(RecordedReview { review, responses, findings, consensus })
}
