//! Raw outputs of models, in object storage.
//!
//! Each is stored under `{owner}/{repo}/{pr}/{model}/{time}-{unique}.json`, before the item that names it. The unique part is
//! that of the revision, so that no two revisions of a review share an object. The lookup item of the review and an entry in
//! the list of expiries name the object before it exists; so a deletion and [`Reviews::sweep_raw`] find it whatever fails.

use std::collections::BTreeSet;
use std::sync::Arc;

use object_store::path::{Path, PathPart};
use object_store::{Error as ObjectError, ObjectStore, ObjectStoreExt as _};
use sha2::{Digest as _, Sha256};
use weir_table::{Backend, Get, Item, Query, SortRange, Write};

use crate::bounds::{RAW_EXPIRY_SHARDS, RAW_MODEL_MAX};
use crate::error::{Error, Result};
use crate::ids::ModelId;
use crate::items::{ItemContext, Lookup};
use crate::keys::{self, ReviewRef};
use crate::record::NewResponse;
use crate::reviews::Reviews;
use crate::time::rfc3339;

const REVIEW_ID: &str = "review_id";

/// Where raw outputs are. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RawOutputs {
    objects: Option<Arc<dyn ObjectStore>>,
    prefix: Path,
}

impl RawOutputs {
    /// Raw outputs in object storage, below a prefix.
    pub fn new(objects: Arc<dyn ObjectStore>, prefix: &str) -> RawOutputs {
        RawOutputs { objects: Some(objects), prefix: Path::from(prefix) }
    }

    /// No object storage: reviews with raw outputs are refused.
    #[must_use]
    pub fn unavailable() -> RawOutputs {
        RawOutputs { objects: None, prefix: Path::default() }
    }

    /// Refuses a raw output that cannot be stored.
    pub(crate) fn check(&self, response: &NewResponse) -> Result<()> {
        if self.objects.is_some() || response.raw.is_none() {
            return Ok(());
        }
        Err(Error::invalid("raw", "cannot be stored, because no object storage is configured"))
    }

    fn objects(&self) -> Result<&dyn ObjectStore> {
        let missing = || Error::Objects("none is configured".to_owned());
        self.objects.as_deref().ok_or_else(missing)
    }

    pub(crate) async fn put(&self, raw_key: &str, content: Vec<u8>) -> Result<()> {
        self.objects()?.put(&self.at(raw_key)?, content.into()).await.map_err(failed)?;
        Ok(())
    }

    pub(crate) async fn get(&self, raw_key: &str) -> Result<Option<Vec<u8>>> {
        match self.objects()?.get(&self.at(raw_key)?).await {
            Ok(found) => Ok(Some(found.bytes().await.map_err(failed)?.to_vec())),
            Err(ObjectError::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Deletes an object; a missing one is fine.
    pub(crate) async fn delete(&self, raw_key: &str) -> Result<()> {
        match self.objects()?.delete(&self.at(raw_key)?).await {
            Ok(()) | Err(ObjectError::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    fn at(&self, raw_key: &str) -> Result<Path> {
        let path = Path::parse(raw_key)
            .map_err(|_| Error::damaged(format!("the raw output {raw_key:?}"), "its key"))?;
        Ok(self.prefix.parts().chain(path.parts()).collect())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(error: ObjectError) -> Error {
    Error::Objects(error.to_string())
}

/// The key of the raw output of a model.
pub(crate) fn raw_key(context: &ItemContext, model: &ModelId, revision: &str) -> String {
    let ReviewRef { id, owner, repo, pr_number } = &context.review;
    let time = rfc3339(context.created_at_ms);
    let unique = short_hash(&format!("{id}/{revision}"));
    let parts = [
        owner.to_string(),
        repo.to_string(),
        pr_number.to_string(),
        model_part(model),
        format!("{time}-{unique}.json"),
    ];
    parts.iter().map(|part| PathPart::from(part.as_str())).collect::<Path>().to_string()
}

/// The part of the key that names a model. Characters like `/` are escaped; a long name ends in its hash.
fn model_part(model: &ModelId) -> String {
    let text = model.as_str();
    if PathPart::from(text).as_ref().len() <= RAW_MODEL_MAX {
        return text.to_owned();
    }
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let start: String = text.chars().filter(is_plain).take(RAW_MODEL_MAX / 2).collect();
    format!("{start}-{}", short_hash(text))
}

fn short_hash(text: &str) -> String {
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The entry of a raw output in the list of expiries.
pub(crate) fn expiry_sort(context: &ItemContext, raw_key: &str) -> String {
    keys::raw_expiry_sort(context.review_ttl.saturating_mul(1000), raw_key)
}

/// The result of one sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SweepReport {
    /// Raw outputs deleted.
    pub deleted: u64,
    /// Whether more may have expired.
    pub more: bool,
}

impl<B: Backend> Reviews<B> {
    /// The writes that enter raw outputs, by their sort keys, into the list of expiries.
    pub(crate) fn expiry_writes(
        &self,
        context: &ItemContext,
        sorts: &BTreeSet<String>,
    ) -> Vec<Write> {
        let entry = |sort: &String| {
            let (at_ms, raw_key) = keys::parse_raw_expiry_sort(sort)?;
            let item = keys::item(keys::raw_expiry(at_ms, raw_key));
            let item = item.with(REVIEW_ID, context.review.id.as_str());
            Some(Write::put(self.table().clone(), item))
        };
        sorts.iter().filter_map(entry).collect()
    }

    /// Deletes raw outputs, and their entries in the list of expiries unless a slow writer may still store them.
    pub(crate) async fn delete_raws(
        &self,
        sorts: impl IntoIterator<Item = &String>,
        in_flight: bool,
    ) -> Result<()> {
        for sort in sorts {
            let Some((at_ms, raw_key)) = keys::parse_raw_expiry_sort(sort) else { continue };
            self.raw_outputs().delete(raw_key).await?;
            if !in_flight {
                let key = keys::raw_expiry(at_ms, raw_key);
                self.write(Write::delete(self.table().clone(), key)).await?;
            }
        }
        Ok(())
    }

    /// Deletes up to `limit` raw outputs whose reviews have expired.
    ///
    /// # Errors
    /// The store or the object storage fails. The next sweep continues.
    pub async fn sweep_raw(&self, now_ms: i64, limit: u32) -> Result<SweepReport> {
        let mut report = SweepReport::default();
        for shard in 0..RAW_EXPIRY_SHARDS {
            let left = limit - small(report.deleted, limit);
            if left == 0 {
                return Ok(SweepReport { more: true, ..report });
            }
            let due = SortRange::Lt(keys::raw_expiry_sort(now_ms.saturating_add(1), "").into());
            let partition = keys::raw_expiry_partition(shard);
            let query = Query::partition(self.table().clone(), partition).sort(due);
            let page = self.store().page(query, left, None).await?;
            for entry in &page.items {
                self.sweep_entry(entry, now_ms).await?;
                report.deleted += 1;
            }
            report.more |= page.cursor.is_some();
        }
        Ok(report)
    }

    /// Deletes an expired raw output, unless its review was recorded again with a longer retention.
    async fn sweep_entry(&self, entry: &Item, now_ms: i64) -> Result<()> {
        let (Some(sort), Some(key)) = (entry.s("SK"), keys::key_of(entry)) else { return Ok(()) };
        let Some((_, raw_key)) = keys::parse_raw_expiry_sort(sort) else { return Ok(()) };
        let lookup = match entry.s(REVIEW_ID).and_then(|id| crate::ids::ReviewId::new(id).ok()) {
            Some(id) => {
                self.store().get(&Get::new(self.table().clone(), keys::lookup(&id))).await?
            }
            None => None,
        };
        let lookup = lookup.as_ref().map(Lookup::decode).transpose()?;
        if !lookup.is_some_and(|lookup| names_elsewhere(&lookup, sort, raw_key, now_ms)) {
            self.raw_outputs().delete(raw_key).await?;
        }
        self.write(Write::delete(self.table().clone(), key)).await?;
        Ok(())
    }
}

/// Whether a living review names a raw output with another expiry.
fn names_elsewhere(lookup: &Lookup, sort: &str, raw_key: &str, now_ms: i64) -> bool {
    let is_other = |entry: &String| {
        entry != sort
            && keys::parse_raw_expiry_sort(entry)
                .is_some_and(|(at_ms, key)| key == raw_key && at_ms > now_ms)
    };
    lookup.raws.iter().any(is_other)
}

fn small(count: u64, limit: u32) -> u32 {
    u32::try_from(count).unwrap_or(limit).min(limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Owner, Repo, ReviewId};
    use crate::settings::Settings;

    fn context() -> ItemContext {
        let review = ReviewRef {
            id: ReviewId::new("r-1").unwrap(),
            owner: Owner::new("acme").unwrap(),
            repo: Repo::new("...").unwrap(),
            pr_number: 7,
        };
        ItemContext::new(review, 1_736_937_000_000, &Settings::default())
    }

    #[test]
    fn a_key_has_five_parts_whatever_the_model() {
        let key = |model: &str| raw_key(&context(), &ModelId::new(model).unwrap(), "1");
        assert_eq!(key("gpt-5"), "acme/.../7/gpt-5/2025-01-15T10:30:00.000Z-9500024ec336e323.json");
        let names = ["a/b", "a%2Fb", "..", ".", "a:b", "a\\b", &"/".repeat(256), &"m".repeat(256)];
        let mut seen = BTreeSet::new();
        for name in names {
            let key = key(name);
            assert_eq!(key.split('/').count(), 5, "{key}");
            assert!(key.split('/').all(|part| part != "." && part != ".." && part.len() < 255));
            assert_eq!(Path::parse(&key).unwrap().to_string(), key);
            assert!(key.len() <= crate::bounds::RAW_KEY_MAX);
            assert!(seen.insert(key), "{name}");
        }
        let model = ModelId::new("gpt-5").unwrap();
        assert_ne!(raw_key(&context(), &model, "1"), raw_key(&context(), &model, "2"));
    }
}
