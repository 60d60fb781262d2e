//! Stores raw outputs before the items that name them.

use std::collections::{BTreeMap, BTreeSet};

use weir_table::Backend;

use super::NewResponse;
use crate::bounds::RAW_KEYS_MAX;
use crate::error::{Error, Result};
use crate::faults::{self, Fault};
use crate::ids::ModelId;
use crate::items::{ItemContext, Lookup};
use crate::raw::{expiry_sort, raw_key};
use crate::reviews::Reviews;

/// The keys of the raw outputs of some responses.
pub(super) fn raw_keys<'a>(
    context: &ItemContext,
    responses: impl IntoIterator<Item = &'a NewResponse>,
    revision: &str,
) -> BTreeMap<ModelId, String> {
    let with_raw = responses.into_iter().filter(|response| response.raw.is_some());
    with_raw
        .map(|response| (response.model.clone(), raw_key(context, &response.model, revision)))
        .collect()
}

/// The entries of raw outputs in the list of expiries.
pub(super) fn expiries(
    context: &ItemContext,
    raw_keys: &BTreeMap<ModelId, String>,
) -> BTreeSet<String> {
    raw_keys.values().map(|raw_key| expiry_sort(context, raw_key)).collect()
}

/// Checks that a review does not keep track of too many raw outputs.
pub(super) fn check_raws(lookup: &Lookup) -> Result<()> {
    if lookup.raws.len() <= RAW_KEYS_MAX {
        return Ok(());
    }
    let problem = "has too many unfinished replacements; finish one, or delete the review";
    Err(Error::Conflict(format!("review {:?} {problem}", lookup.review.id.as_str())))
}

impl<B: Backend> Reviews<B> {
    /// Stores raw outputs under their keys.
    pub(super) async fn store_raws<'a>(
        &self,
        responses: impl IntoIterator<Item = &'a NewResponse>,
        raw_keys: &BTreeMap<ModelId, String>,
    ) -> Result<()> {
        for response in responses {
            if let (Some(raw), Some(key)) = (&response.raw, raw_keys.get(&response.model)) {
                self.raw_outputs().put(key, raw.clone()).await?;
            }
        }
        Ok(())
    }

    /// Joins another writer of the same raw outputs, who may still store them when this one has ended the revision. Only if
    /// that is noted does a later deletion leave their expiries to the sweep. `None` when the lookup has changed.
    pub(super) async fn join_revision(&self, lookup: Lookup) -> Result<Option<Lookup>> {
        if lookup.raws.is_empty() || lookup.is_shared || faults::is(Fault::SecondWriterForgotten) {
            return Ok(Some(lookup));
        }
        let (note, lookup) = lookup.shared(self.table());
        Ok(self.write(note).await?.is_applied().then_some(lookup))
    }

    /// Removes what this writer has stored, if another one has taken the review over.
    pub(super) async fn remove_overtaken(
        &self,
        lookup: &Lookup,
        raw_keys: &BTreeMap<ModelId, String>,
    ) -> Result<()> {
        if raw_keys.is_empty() {
            return Ok(());
        }
        let now = self.lookup(&lookup.review.id).await?;
        if now.is_some_and(|now| now.revision == lookup.revision) {
            return Ok(());
        }
        for raw_key in raw_keys.values() {
            self.raw_outputs().delete(raw_key).await?;
        }
        Ok(())
    }
}
