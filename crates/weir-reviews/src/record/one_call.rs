//! Records a whole review in one call.

use std::collections::BTreeMap;

use weir_table::expr::attr;
use weir_table::limits::TRANSACT_MAX;
use weir_table::{Backend, Item, Write};

use super::assemble::{Head, assemble, in_progress, units};
use super::raws::{check_raws, expiries, raw_keys};
use super::{Completion, NewResponse, NewReview, Recorded, conflict, new_id, review_ref};
use crate::bounds::TRANSACTION_BYTES_MAX;
use crate::consensus::Options;
use crate::error::{Error, Result};
use crate::ids::{ModelId, ReviewId};
use crate::items::{ItemContext, Lookup, State, new_revision};
use crate::keys;
use crate::retry::{TRIES_MAX, pause};
use crate::review::RecordedReview;
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
        lookup.consensus_options = Some(self.settings().consensus.clone());
        let plan = Plan::new(request, &context, &lookup, self.consensus_options(&lookup)).await?;
        lookup.raws = expiries(&context, &plan.raw_keys);
        lookup.begun_at_ms = Some(self.now_ms());
        let begin = Write::put(self.table().clone(), lookup.encode()).when(attr("PK").absent());
        let expiries = self.expiry_writes(&context, &lookup.raws);
        let mut writes: Vec<Write> = [begin].into_iter().chain(expiries).collect();
        // Items that name raw outputs are written after those.
        let first = if plan.raw_keys.is_empty() {
            first_units(units(&context, &plan.recorded))
        } else {
            Vec::new()
        };
        let items = first.iter().flatten().cloned();
        writes.extend(items.map(|item| Write::put(self.table().clone(), item)));
        if !self.transact(writes).await?.is_applied() {
            return Ok(None);
        }
        let existing: Vec<Item> =
            first.into_iter().filter_map(|unit| unit.into_iter().next()).collect();
        self.finish_recording(request, &lookup, plan, &existing).await
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
            let Some(lookup) = self.join_revision(lookup).await? else { return Ok(None) };
            return self.continue_recording(request, &lookup).await;
        }
        if !request.replace {
            return Err(conflict(&request.id, "is recorded already with other content"));
        }
        match self.take_over(request, &lookup).await? {
            Some(lookup) => self.continue_recording(request, &lookup).await,
            None => Ok(None),
        }
    }

    /// Takes a review from its readers and from its writer, to replace it. `None` when another writer was faster.
    async fn take_over(&self, request: &Request, old: &Lookup) -> Result<Option<Lookup>> {
        let context = self.context(request, old.created_at_ms);
        let hashes = (request.content_hash.clone(), request.head_hash.clone());
        let mut lookup = Lookup::new(&context, State::Recording, hashes);
        lookup.revision = new_revision();
        lookup.consensus_options = Some(self.settings().consensus.clone());
        let raw_keys = raw_keys(&context, &request.new.responses, &lookup.revision);
        let new_raws = expiries(&context, &raw_keys);
        lookup.raws = old.raws.union(&new_raws).cloned().collect();
        lookup.raws_in_flight = old.may_store_raws();
        check_raws(&lookup)?;
        let review = in_progress(&context, head_of(request)).encode(&context);
        let mut writes = vec![old.exact_fence().put(self.table(), &lookup)];
        writes.extend(self.withdrawal(old));
        let old_key = keys::review(&old.review, old.created_at_ms);
        if keys::key_of(&review).as_ref() != Some(&old_key) {
            writes.push(Write::delete(self.table().clone(), old_key));
        }
        writes.push(Write::put(self.table().clone(), review));
        writes.extend(self.expiry_writes(&context, &new_raws));
        Ok(self.transact(writes).await?.is_applied().then_some(lookup))
    }

    /// The writes that take a review out of its rollups.
    pub(crate) fn withdrawal(&self, lookup: &Lookup) -> Vec<Write> {
        if !lookup.is_ended() {
            return Vec::new();
        }
        self.rollups_of_withdrawal(&lookup.review, lookup.created_at_ms)
    }

    /// Writes what is missing of a review whose id is claimed. `None` when another writer was faster.
    async fn continue_recording(
        &self,
        request: &Request,
        lookup: &Lookup,
    ) -> Result<Option<Recorded>> {
        let existing = self.children(&lookup.review).await?;
        let context =
            ItemContext::new(lookup.review.clone(), lookup.created_at_ms, self.settings());
        let plan = Plan::new(request, &context, lookup, self.consensus_options(lookup)).await?;
        self.finish_recording(request, lookup, plan, &existing).await
    }

    async fn finish_recording(
        &self,
        request: &Request,
        lookup: &Lookup,
        plan: Plan,
        existing: &[Item],
    ) -> Result<Option<Recorded>> {
        let context =
            ItemContext::new(lookup.review.clone(), lookup.created_at_ms, self.settings());
        let Plan { raw_keys, mut recorded } = plan;
        self.store_raws(&request.new.responses, &raw_keys).await?;
        if self.end_revision(lookup, &context, &mut recorded, existing).await? {
            return Ok(Some(Recorded { review: recorded.review, changed: true }));
        }
        self.remove_overtaken(lookup, &raw_keys).await?;
        Ok(None)
    }

    /// The options that a review was first compared with, so that its consensus is the same whoever writes the rest of it.
    pub(super) fn consensus_options(&self, lookup: &Lookup) -> Options {
        lookup.consensus_options.as_ref().unwrap_or(&self.settings().consensus).clone()
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

/// The items that a request stores.
struct Plan {
    raw_keys: BTreeMap<ModelId, String>,
    recorded: RecordedReview,
}

impl Plan {
    async fn new(
        request: &Request,
        context: &ItemContext,
        lookup: &Lookup,
        options: Options,
    ) -> Result<Plan> {
        let new = &request.new.responses;
        let raw_keys = raw_keys(context, new, &lookup.revision);
        let response = |r: &NewResponse| r.to_response(raw_keys.get(&r.model).cloned());
        let responses = new.iter().map(response).collect();
        let findings = new.iter().flat_map(|response| response.findings.clone()).collect();
        let completion = Completion::Completed(request.new.consensus.clone());
        let recorded =
            assemble(context, head_of(request), responses, findings, &completion, options).await?;
        Ok(Plan { raw_keys, recorded })
    }
}

/// The first units, as many as fit into a transaction beside the lookup.
fn first_units(units: Vec<Vec<Item>>) -> Vec<Vec<Item>> {
    let (mut count, mut bytes) = (1, 0);
    let fits = |unit: &Vec<Item>| {
        count += unit.len();
        bytes += unit.iter().map(Item::size).sum::<usize>();
        count <= TRANSACT_MAX && bytes <= TRANSACTION_BYTES_MAX
    };
    units.into_iter().take_while(fits).collect()
}
