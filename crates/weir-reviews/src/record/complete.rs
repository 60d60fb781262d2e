//! Completes a review that was recorded step by step.

use std::collections::BTreeMap;

use weir_table::{Backend, Item};

use super::assemble::{Head, assemble};
use super::check::check_consensus;
use super::hash::content_hash;
use super::{Completion, Recorded, conflict};
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::ids::{ModelId, ReviewId};
use crate::items::{ItemContext, Lookup, State, decode_files};
use crate::keys;
use crate::retry::{TRIES_MAX, pause};
use crate::review::{RecordedFinding, RecordedReview, Response, ResponseStatus, Review};
use crate::reviews::Reviews;

impl<B: Backend> Reviews<B> {
    /// Completes a review in progress, or gives it up. The same again changes nothing.
    ///
    /// # Errors
    /// There is no such review, it was ended otherwise, a response is not whole yet, the consensus is invalid, or the store
    /// fails; then the call can be repeated.
    pub async fn complete(&self, id: &ReviewId, completion: &Completion) -> Result<Recorded> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let lookup = self.living_lookup(id).await?;
            let hash = hash_of(&lookup, completion);
            let recorded = match lookup.state {
                State::InProgress => self.begin_completing(lookup, completion, hash).await?,
                State::Recording | State::Deleting => {
                    return Err(conflict(id, "is being recorded in one call"));
                }
                _ if lookup.content_hash != hash => {
                    return Err(conflict(id, "is completed already with other content"));
                }
                State::Completing => self.finish_completing(&lookup, completion).await?,
                State::Completed | State::Failed => self.unchanged(&lookup).await?,
            };
            if let Some(recorded) = recorded {
                return Ok(recorded);
            }
        }
        Err(Error::Contended)
    }

    /// From here on no response can be added. `None` when another writer was faster.
    async fn begin_completing(
        &self,
        lookup: Lookup,
        completion: &Completion,
        hash: String,
    ) -> Result<Option<Recorded>> {
        let partial = lookup.claims.iter().find(|(_, claim)| !claim.is_whole);
        if let (Some((model, _)), Completion::Completed(_)) = (partial, completion) {
            let problem = format!("still lacks a part of the response of model {model:?}");
            return Err(conflict(&lookup.review.id, &problem));
        }
        if let Completion::Completed(Some(consensus)) = completion {
            let existing = Existing::decode(&lookup, &self.children(&lookup.review).await?)?;
            check_consensus(consensus, existing.of_succeeded())?;
        }
        let fence = lookup.exact_fence();
        let version = lookup.version + 1;
        let completing = Lookup {
            state: State::Completing,
            content_hash: hash,
            version,
            consensus_options: Some(self.settings().consensus.clone()),
            ..lookup
        };
        if !self.write(fence.put(self.table(), &completing)).await?.is_applied() {
            return Ok(None);
        }
        self.finish_completing(&completing, completion).await
    }

    /// `None` when another writer was faster.
    async fn finish_completing(
        &self,
        lookup: &Lookup,
        completion: &Completion,
    ) -> Result<Option<Recorded>> {
        let items = self.children(&lookup.review).await?;
        let Some(item) = self.review_item(lookup).await? else { return Ok(None) };
        let open = Review::decode(&item)?;
        let existing = Existing::decode(lookup, &items)?;
        let context =
            ItemContext::new(lookup.review.clone(), lookup.created_at_ms, self.settings());
        let mut pull_request = open.pull_request;
        pull_request.files = existing.files;
        let head = Head { pull_request, requested_by: open.requested_by };
        let Existing { responses, findings, .. } = existing;
        let options = self.consensus_options(lookup);
        let mut recorded: RecordedReview =
            assemble(&context, head, responses, findings, completion, options).await?;
        let is_ended = self.end_revision(lookup, &context, &mut recorded, &items).await?;
        Ok(is_ended.then_some(Recorded { review: recorded.review, changed: true }))
    }
}

fn hash_of(lookup: &Lookup, completion: &Completion) -> String {
    let claims = lookup.claims.iter().map(|(model, claim)| (model.as_str(), claim.hash.clone()));
    content_hash(&lookup.head_hash, claims.collect::<BTreeMap<_, _>>(), completion)
}

/// The complete responses so far; responses of which parts are missing are left out.
struct Existing {
    responses: Vec<Response>,
    findings: Vec<Finding>,
    files: Vec<String>,
}

impl Existing {
    fn decode(lookup: &Lookup, items: &[Item]) -> Result<Existing> {
        let mut existing = Existing { responses: vec![], findings: vec![], files: vec![] };
        let is_whole =
            |model: &ModelId| lookup.claims.get(model).is_some_and(|claim| claim.is_whole);
        for item in items {
            let sort = item.s("SK").unwrap_or_default();
            if sort.starts_with(keys::MODEL_PREFIX) {
                existing.responses.push(Response::decode(item)?);
            } else if sort.starts_with(keys::FINDING_PREFIX) {
                existing.findings.push(RecordedFinding::decode(item)?.finding);
            } else if keys::is_files(item) {
                existing.files = decode_files(item)?;
            }
        }
        existing.responses.retain(|response| is_whole(&response.model));
        existing.findings.retain(|finding| is_whole(&finding.model));
        Ok(existing)
    }

    /// The findings of the models that succeeded.
    fn of_succeeded(&self) -> impl Iterator<Item = &Finding> {
        let succeeded = |finding: &&Finding| {
            self.responses.iter().any(|response| {
                response.model == finding.model && response.status == ResponseStatus::Success
            })
        };
        self.findings.iter().filter(succeeded)
    }
}
