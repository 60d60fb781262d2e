//! Adds the response of a model to a review in progress.

use weir_table::{Backend, Write};

use super::assemble::response_unit;
use super::raws::{expiries, raw_keys};
use super::reconcile::{Unit, transactions};
use super::{NewResponse, conflict};
use crate::bounds::{FINDINGS_MAX, MODELS_MAX};
use crate::error::{Error, Result};
use crate::ids::ReviewId;
use crate::items::{Claim, ItemContext, Lookup, State};
use crate::retry::{TRIES_MAX, pause};
use crate::review::RecordedFinding;
use crate::reviews::Reviews;

impl<B: Backend> Reviews<B> {
    /// Adds the response of a model with its findings. Returns whether it is new; the same again changes nothing.
    ///
    /// # Errors
    /// A field is invalid, there is no such review, it is not in progress, the model has another response, or the store
    /// fails; then the call can be repeated.
    pub async fn add_response(&self, id: &ReviewId, response: &NewResponse) -> Result<bool> {
        response.check()?;
        self.raw_outputs().check(response)?;
        let hash = response.hash();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let lookup = self.living_lookup(id).await?;
            match lookup.claims.get(&response.model) {
                Some(claim) if claim.hash != hash => {
                    let problem = format!("has another response of model {:?}", response.model);
                    return Err(conflict(id, &problem));
                }
                Some(claim) if claim.is_whole => return Ok(false),
                _ if lookup.state != State::InProgress => {
                    return Err(conflict(id, "is not in progress"));
                }
                Some(_) => {}
                None => check_room(&lookup, response)?,
            }
            let is_second = lookup.claims.contains_key(&response.model) && response.raw.is_some();
            let lookup = if is_second { self.join_revision(lookup).await? } else { Some(lookup) };
            let Some(lookup) = lookup else { continue };
            if self.try_add(&lookup, response, &hash).await? {
                return Ok(true);
            }
        }
        Err(Error::Contended)
    }

    /// False when another writer was faster.
    async fn try_add(&self, lookup: &Lookup, response: &NewResponse, hash: &str) -> Result<bool> {
        let context =
            ItemContext::new(lookup.review.clone(), lookup.created_at_ms, self.settings());
        let raw_keys = raw_keys(&context, [response], &lookup.revision);
        let units = self.response_units(&context, response, raw_keys.values().next().cloned());
        let mut transactions = transactions(units);
        let is_claimed = lookup.claims.contains_key(&response.model);
        if !is_claimed && raw_keys.is_empty() && transactions.len() == 1 {
            let claim = self.claim(lookup, response, hash, true, None);
            let writes = transactions.pop().unwrap_or_default();
            let writes = [claim].into_iter().chain(writes).collect();
            return Ok(self.transact(writes).await?.is_applied());
        }
        if !is_claimed {
            let expiries = expiries(&context, &raw_keys);
            let raw = expiries.first().cloned();
            let mut writes = vec![self.claim(lookup, response, hash, false, raw)];
            writes.extend(self.expiry_writes(&context, &expiries));
            if !self.transact(writes).await?.is_applied() {
                return Ok(false);
            }
        }
        self.store_raws([response], &raw_keys).await?;
        let fence = lookup.fence().with_open_claim(&response.model, hash);
        let mut last = transactions.pop().unwrap_or_default();
        last.push(fence.update(self.table(), Claim::is_whole_update(&response.model)));
        let is_added = self.write_fenced(&fence, transactions).await?
            && self.transact(last).await?.is_applied();
        if !is_added {
            self.remove_overtaken(lookup, &raw_keys).await?;
        }
        Ok(is_added)
    }

    fn claim(
        &self,
        lookup: &Lookup,
        response: &NewResponse,
        hash: &str,
        is_whole: bool,
        raw: Option<String>,
    ) -> Write {
        let findings = response.findings.len() as u64;
        let room = (FINDINGS_MAX as u64).saturating_sub(findings);
        let fence = lookup.fence().without_claim(&response.model, room, MODELS_MAX as u64);
        let claim = Claim { hash: hash.to_owned(), is_whole };
        fence.update(self.table(), claim.update(&response.model, findings, raw))
    }

    fn response_units(
        &self,
        context: &ItemContext,
        response: &NewResponse,
        raw_key: Option<String>,
    ) -> Vec<Unit> {
        let finding = |finding: &crate::finding::Finding| {
            let finding = finding.clone();
            let recorded = RecordedFinding { finding, in_consensus: false, feedback: None };
            vec![recorded.encode(context)]
        };
        let own = response_unit(context, &response.to_response(raw_key));
        let items = response.findings.iter().map(finding).chain([own]);
        let put = |item| Write::put(self.table().clone(), item);
        items.map(|unit| unit.into_iter().map(put).collect()).collect()
    }
}

fn check_room(lookup: &Lookup, response: &NewResponse) -> Result<()> {
    if lookup.claims.len() >= MODELS_MAX {
        let problem = format!("are {MODELS_MAX} already, which is the most that are allowed");
        return Err(Error::too_large("responses", problem));
    }
    let findings = lookup.findings.saturating_add(response.findings.len() as u64);
    if findings > FINDINGS_MAX as u64 {
        let problem = format!("of the review are {findings}; at most {FINDINGS_MAX} are allowed");
        return Err(Error::too_large("findings", problem));
    }
    Ok(())
}
