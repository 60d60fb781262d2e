//! Records a whole review in one call.

use std::collections::BTreeMap;

use weir_table::expr::attr;
use weir_table::limits::TRANSACT_MAX;
use weir_table::{Backend, Item, Write};

use super::assemble::{Head, assemble, in_progress, units};
use super::raws::{check_raws, expiries, raw_keys};
use super::reconcile::{ended, transactions};
use super::{Completion, NewReview, Recorded, RollupChange, RollupKind, rollup_writes};
use super::{conflict, new_id, review_ref};
use crate::error::{Error, Result};
use crate::ids::{ModelId, ReviewId};
use crate::items::{ItemContext, Lookup, State, new_revision};
use crate::keys;
use crate::retry::{TRIES_MAX, pause};
use crate::review::{RecordedReview, Review};
use crate::reviews::Reviews;

/// A checked request.
struct Request {
    id: ReviewId,
    new: NewReview,
    content_hash: String,
    head_hash: String,
    replace: bool,
}

impl<B: Backend> Reviews<B> {
    /// Records a review with everything that its models said. The same content again changes nothing; other content of the
    /// same id is refused unless `replace` is true, which removes what is no longer there.
    ///
    /// # Errors
    /// A field is invalid, the id has other content, or the store fails; then the call can be repeated.
    pub async fn record(&self, new: NewReview, replace: bool) -> Result<Recorded> {
        new.check(self.now_ms(), self.settings().review_days)?;
        for (number, response) in new.responses.iter().enumerate() {
            let checked = self.raw_outputs().check(response);
            checked.map_err(|error| error.inside(&format!("responses[{number}]")))?;
        }
        let id = new.head.id.clone().map_or_else(new_id, Ok)?;
        let (content_hash, head_hash) = (new.hash(), new.head.hash());
        let request = Request { id, new, content_hash, head_hash, replace };
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let recorded = match self.lookup(&request.id).await? {
                None => self.record_new(&request).await?,
                Some(lookup) => self.record_again(&request, lookup).await?,
            };
            if let Some(recorded) = recorded {
                return Ok(recorded);
            }
        }
        Err(Error::Contended)
    }

    /// `None` when another writer was faster.
    async fn record_new(&self, request: &Request) -> Result<Option<Recorded>> {
        let context = self.context(request, self.now_ms());
        let hashes = (request.content_hash.clone(), request.head_hash.clone());
        let mut lookup = Lookup::new(&context, State::Recording, hashes);
        let raw_keys = raw_keys(&context, &request.new.responses, &lookup.revision);
        lookup.raws = expiries(&context, &raw_keys);
        let recorded = assembled(request, &context, &raw_keys);
        if raw_keys.is_empty()
            && let Some(writes) = self.in_one_transaction(&lookup, &context, &recorded)
        {
            let is_applied = self.transact(writes).await?.is_applied();
            return Ok(is_applied.then_some(Recorded { review: recorded.review, changed: true }));
        }
        let begin = Write::put(self.table().clone(), lookup.encode()).when(attr("PK").absent());
        let expiries = self.expiry_writes(&context, &lookup.raws);
        if !self.transact([begin].into_iter().chain(expiries).collect()).await?.is_applied() {
            return Ok(None);
        }
        self.finish_recording(request, &lookup, Vec::new()).await
    }

    /// All writes of a new review, if they fit into one transaction.
    fn in_one_transaction(
        &self,
        lookup: &Lookup,
        context: &ItemContext,
        recorded: &RecordedReview,
    ) -> Option<Vec<Write>> {
        let put = |item: Item| Write::put(self.table().clone(), item);
        let units = units(context, recorded);
        let units = units.into_iter().map(|unit| unit.into_iter().map(put).collect()).collect();
        let last = self.last_writes(lookup, &ended(lookup, context, recorded), context, recorded);
        let [writes] = <[_; 1]>::try_from(transactions(units, last.len())).ok()?;
        let mut writes: Vec<Write> = last.into_iter().chain(writes).collect();
        let first = writes.first_mut()?;
        *first = first.clone().when(attr("PK").absent());
        (writes.len() <= TRANSACT_MAX).then_some(writes)
    }

    /// `None` when another writer was faster.
    async fn record_again(&self, request: &Request, lookup: Lookup) -> Result<Option<Recorded>> {
        if self.free_id(&lookup).await? {
            return Ok(None);
        }
        if lookup.review != review_ref(request.id.clone(), &request.new.head.pull_request) {
            return Err(conflict(&request.id, "is of another pull request"));
        }
        if lookup.content_hash == request.content_hash {
            if lookup.is_ended() {
                return self.unchanged(&lookup).await;
            }
            let existing = self.children(&lookup.review).await?;
            return self.finish_recording(request, &lookup, existing).await;
        }
        if !request.replace {
            return Err(conflict(&request.id, "is recorded already with other content"));
        }
        let Some(lookup) = self.take_over(request, &lookup).await? else { return Ok(None) };
        let existing = self.children(&lookup.review).await?;
        self.finish_recording(request, &lookup, existing).await
    }

    /// Takes a review from its readers and from its writer, to replace it. `None` when another writer was faster.
    async fn take_over(&self, request: &Request, old: &Lookup) -> Result<Option<Lookup>> {
        let context = self.context(request, old.created_at_ms);
        let hashes = (request.content_hash.clone(), request.head_hash.clone());
        let mut lookup = Lookup::new(&context, State::Recording, hashes);
        lookup.revision = new_revision();
        let raw_keys = raw_keys(&context, &request.new.responses, &lookup.revision);
        let new_raws = expiries(&context, &raw_keys);
        lookup.raws = old.raws.union(&new_raws).cloned().collect();
        lookup.raws_in_flight = old.may_store_raws();
        check_raws(&lookup)?;
        let review = in_progress(&context, head_of(request)).encode(&context);
        let mut writes = vec![old.exact_fence().put(self.table(), &lookup)];
        writes.extend(self.withdrawal(old).await?);
        let old_key = keys::review(&old.review, old.created_at_ms);
        if keys::key_of(&review).as_ref() != Some(&old_key) {
            writes.push(Write::delete(self.table().clone(), old_key));
        }
        writes.push(Write::put(self.table().clone(), review));
        writes.extend(self.expiry_writes(&context, &new_raws));
        Ok(self.transact(writes).await?.is_applied().then_some(lookup))
    }

    /// The writes that take a review out of its rollups.
    pub(crate) async fn withdrawal(&self, lookup: &Lookup) -> Result<Vec<Write>> {
        if !lookup.is_ended() {
            return Ok(Vec::new());
        }
        let item = self.review_item(lookup).await?;
        let review = item.as_ref().map(Review::decode).transpose()?;
        Ok(review.map_or_else(Vec::new, |review| {
            rollup_writes(&RollupChange {
                review: &lookup.review,
                created_at_ms: lookup.created_at_ms,
                models: &review.models,
                kind: RollupKind::Withdrawn,
            })
        }))
    }

    /// Writes what is missing of a review in the state `recording`. `None` when another writer was faster.
    async fn finish_recording(
        &self,
        request: &Request,
        lookup: &Lookup,
        existing: Vec<Item>,
    ) -> Result<Option<Recorded>> {
        let context =
            ItemContext::new(lookup.review.clone(), lookup.created_at_ms, self.settings());
        let raw_keys = raw_keys(&context, &request.new.responses, &lookup.revision);
        let mut recorded = assembled(request, &context, &raw_keys);
        self.store_raws(&request.new.responses, &raw_keys).await?;
        if self.end_revision(lookup, &context, &mut recorded, &existing).await? {
            return Ok(Some(Recorded { review: recorded.review, changed: true }));
        }
        self.remove_overtaken(lookup, &raw_keys).await?;
        Ok(None)
    }

    fn context(&self, request: &Request, otherwise_ms: i64) -> ItemContext {
        let review = review_ref(request.id.clone(), &request.new.head.pull_request);
        let created_at_ms = request.new.head.created_at_ms.unwrap_or(otherwise_ms);
        ItemContext::new(review, created_at_ms, self.settings())
    }
}

fn head_of(request: &Request) -> Head {
    Head {
        pull_request: request.new.head.pull_request.clone(),
        requested_by: request.new.head.requested_by.clone(),
    }
}

fn assembled(
    request: &Request,
    context: &ItemContext,
    raw_keys: &BTreeMap<ModelId, String>,
) -> RecordedReview {
    let new = &request.new.responses;
    let responses = new.iter().map(|r| r.to_response(raw_keys.get(&r.model).cloned())).collect();
    let findings = new.iter().flat_map(|response| response.findings.clone()).collect();
    let completion = Completion::Completed(request.new.consensus.clone());
    assemble(context, head_of(request), responses, findings, &completion)
}
