//! Records runs. The id of a run that may be repeated comes from the client, or derives from its key; so a repeat meets the
//! item of the first attempt, and its hash says whether it is the same request.

use sha2::{Digest as _, Sha256};
use weir_table::expr::attr;
use weir_table::{Backend, Item, Transacted, Verdict, Write};

use super::item::{TEXTS, decode_summary};
use super::{NewRun, RunSummary};
use crate::error::{Error, Result};
use crate::ids::{HistoryId, UserId};
use crate::item::TYPE;
use crate::keys;
use crate::kinds::EntityType;
use crate::objects::ObjectOwner;
use crate::practice::Practice;

/// Hash of the request that recorded a run.
pub(super) const REQUEST_HASH: &str = "hash";

/// The result of recording a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRun {
    /// The run.
    pub run: RunSummary,
    /// Whether this request recorded it; false for a repeat.
    pub is_new: bool,
}

impl<B: Backend> Practice<B> {
    /// Records a run. A repeat with the same id or key and the same content changes nothing.
    ///
    /// # Errors
    /// A field is invalid, the user was deleted, another run has the id or the key, or the store fails.
    pub async fn record_run(&self, new: NewRun) -> Result<RecordedRun> {
        new.check()?;
        let (now_ms, hash) = (self.now_ms(), request_hash(&new));
        let id = self.run_id(&new, now_ms)?;
        let (is_public, user) = (new.is_public, new.user_id.clone());
        let mut item = self.run_item(&id, new, now_ms).await?.with(REQUEST_HASH, hash.as_str());
        let summary = decode_summary(&item)?;
        if let Some(user) = &user {
            item = keys::run_of_user(user, summary.created_s, &id).put_on(item);
        }
        if is_public {
            item = self.feed_key(summary.created_s, &id).await?.put_on(item);
        }
        let fitted = self.fit(item, &ObjectOwner::History(id.clone()), TEXTS).await?;
        let put = Write::put(self.table().clone(), fitted.item.clone()).when(attr("PK").absent());
        let mut writes = vec![put];
        writes.extend(user.as_ref().map(|user| self.not_erased(user)));
        writes.extend(fitted.unmark(self.table()));
        let verdicts = match self.transact(writes).await? {
            Transacted::Applied => return Ok(RecordedRun { run: summary, is_new: true }),
            Transacted::Refused(verdicts) => verdicts,
        };
        self.discard(fitted.objects()).await;
        match (self.item(keys::history(&id)).await?, user) {
            (None, Some(user)) if matches!(verdicts.get(1), Some(Verdict::Failed(_))) => {
                Err(Error::not_found("user", user))
            }
            (found, _) => repeated(&id, found, &hash),
        }
    }

    /// Requires that the user is not deleted: the deletion would not find the run. A user that only another program knows may
    /// have runs.
    pub(super) fn not_erased(&self, user: &UserId) -> Write {
        let is_user = attr(TYPE).absent().or(attr(TYPE).ne(EntityType::Erasure.as_str()));
        Write::check(self.table().clone(), keys::user(user), is_user)
    }

    fn run_id(&self, new: &NewRun, now_ms: i64) -> Result<HistoryId> {
        match (&new.id, &new.idempotency_key) {
            (Some(id), _) => Ok(id.clone()),
            (None, Some(key)) => {
                let user = new.user_id.as_ref().map_or("", |user| user.as_str());
                let digest = Sha256::digest(format!("{user}\n{}", key.as_str()));
                let hash = digest.iter().take(20).map(|byte| format!("{byte:02x}"));
                HistoryId::new(format!("k{}", hash.collect::<String>()))
            }
            (None, None) => Ok(HistoryId::next(self.event_ids(), now_ms)),
        }
    }

    /// Forgets a run with its objects, for the deletion of its user. Returns whether there was one.
    ///
    /// # Errors
    /// The store fails, or another writer keeps changing the run.
    pub async fn delete_run(&self, id: &HistoryId) -> Result<bool> {
        for attempt in 0..weir_table::retry::TRIES_MAX {
            weir_table::retry::pause(attempt).await;
            let Some(old) = self.item(keys::history(id)).await? else { return Ok(false) };
            let dropped = self.dropped(&old, None, TEXTS);
            let delete = Write::delete(self.table().clone(), keys::history(id));
            let delete = delete.when(crate::update::unchanged(&old)).essential();
            let writes = [delete].into_iter().chain(self.marks(&dropped)).collect();
            if self.transact(writes).await?.is_applied() {
                self.discard(&dropped).await;
                return Ok(true);
            }
        }
        Err(Error::Contended)
    }

    /// The key of a public run in the feed.
    pub(super) async fn feed_key(&self, created_s: i64, id: &HistoryId) -> Result<keys::IndexKey> {
        let list = self.settings().public_feed_partitioning.list(created_s);
        if let keys::List::Feed(Some(day)) = &list {
            self.note_feed_day(*day).await?;
        }
        Ok(list.run(created_s, id).index)
    }
}

fn repeated(id: &HistoryId, found: Option<Item>, hash: &str) -> Result<RecordedRun> {
    // A mark of an object was claimed by the sweep: the request took an hour.
    let found = found.ok_or(Error::Contended)?;
    if found.s(REQUEST_HASH) != Some(hash) {
        return Err(Error::conflict(format!("another run has the id {:?}", id.as_str())));
    }
    Ok(RecordedRun { run: decode_summary(&found)?, is_new: false })
}

/// Hash of everything that a client sends.
pub(super) fn request_hash(new: &NewRun) -> String {
    let texts = [
        new.user_id.as_ref().map(|id| id.as_str()),
        new.user_identifier.as_deref(),
        new.problem_id.as_deref(),
        Some(new.platform.as_str()),
        Some(new.problem_number.as_str()),
        new.problem_title.as_deref(),
        new.language.as_deref(),
        Some(new.code.as_str()),
    ];
    let counts = [new.passed_count, new.failed_count, new.total_count];
    let rest = serde_json::json!([
        counts,
        new.is_public,
        new.result_summary,
        new.test_results,
        new.hints,
        new.metadata
    ]);
    let all = serde_json::json!([texts, rest]).to_string();
    Sha256::digest(all).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
