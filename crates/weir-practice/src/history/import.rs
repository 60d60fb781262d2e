//! Imports runs, with their entries in the history of their user and in the feed.

use weir_table::expr::attr;
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Item, Transacted, Verdict, Write};

use super::item::TEXTS;
use super::record::{REQUEST_HASH, request_hash};
use super::{NewRun, Run};
use crate::error::{Error, Result};
use crate::ids::{Platform, UserId};
use crate::import::{Imported, OnDifference, Step, step};
use crate::item::{CREATED, UPDATED, VERSION};
use crate::keys;
use crate::objects::ObjectOwner;
use crate::practice::Practice;
use crate::update::{unchanged, version_of};

/// The outcome of one attempt to write a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Written,
    /// Another writer was faster.
    Overtaken,
    /// The user of the run was deleted here.
    Erased,
}

impl Run {
    fn to_new(&self) -> Result<NewRun> {
        let run = self.summary.clone();
        let platform = Platform::new(run.platform.unwrap_or_default())?;
        let count = |field: &str, count: i64| {
            u32::try_from(count).map_err(|_| Error::invalid(field, "is not a count"))
        };
        Ok(NewRun {
            user_id: run.user_id,
            user_identifier: run.user_identifier,
            problem_id: run.problem_id,
            problem_title: run.problem_title,
            language: run.language,
            result_summary: run.result_summary,
            passed_count: count("passed_count", run.passed_count)?,
            failed_count: count("failed_count", run.failed_count)?,
            total_count: count("total_count", run.total_count)?,
            is_public: run.is_public,
            test_results: self.test_results.clone(),
            hints: run.hints,
            metadata: run.metadata,
            ..NewRun::new(platform, run.problem_number.unwrap_or_default(), self.code.clone())
        })
    }

    /// Checks a run from elsewhere.
    pub(crate) fn check_import(&self) -> Result<()> {
        let new = self.to_new()?;
        new.check()?;
        new.check_json()
    }
}

impl<B: Backend> Practice<B> {
    /// Stores a run as it is elsewhere. Runs of a deleted user stay deleted.
    ///
    /// # Errors
    /// A field is invalid, or the store fails.
    pub(crate) async fn import_run(&self, run: &Run, on: OnDifference) -> Result<Imported> {
        run.check_import()?;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let old = self.item(keys::history(&run.summary.id)).await?;
            let stored = match &old {
                Some(item) => match self.read_run(item).await? {
                    Some(stored) => Some(stored),
                    None => continue,
                },
                None => None,
            };
            let found = stored.as_ref().map(|stored| (stored == run, stored.summary.updated_s));
            if let Step::Done(done) = step(found, run.summary.updated_s, on) {
                return Ok(done);
            }
            match self.write_imported_run(run, old.as_ref()).await? {
                Attempt::Written => return Ok(Imported::by(old.is_some())),
                Attempt::Erased => return Ok(Imported::Kept),
                Attempt::Overtaken => {}
            }
        }
        Err(Error::Contended)
    }

    async fn write_imported_run(&self, run: &Run, old: Option<&Item>) -> Result<Attempt> {
        let item = self.imported_run(run, old).await?;
        let owner = ObjectOwner::History(run.summary.id.clone());
        let fitted = self.fit(item, &owner, TEXTS).await?;
        let dropped =
            old.map(|old| self.dropped(old, Some(&fitted.item), TEXTS)).unwrap_or_default();
        let condition = old.map_or_else(|| attr("PK").absent(), unchanged);
        let put = Write::put(self.table().clone(), fitted.item.clone()).when(condition);
        let beside = fitted.unmark(self.table()).chain(self.marks(&dropped)).collect();
        let attempt = self.put_run(put, run.summary.user_id.as_ref(), beside).await?;
        let is_written = attempt == Attempt::Written;
        self.discard(if is_written { &dropped } else { fitted.objects() }).await;
        Ok(attempt)
    }

    async fn put_run(
        &self,
        put: Write,
        user: Option<&UserId>,
        beside: Vec<Write>,
    ) -> Result<Attempt> {
        // A transaction costs twice as much, so a run that stands alone does without.
        if user.is_none() && beside.is_empty() {
            let is_written = self.write(put).await?.is_applied();
            return Ok(if is_written { Attempt::Written } else { Attempt::Overtaken });
        }
        let check = user.map(|user| self.not_erased(user));
        let writes = [put].into_iter().chain(check).chain(beside).collect();
        Ok(match self.transact(writes).await? {
            Transacted::Applied => Attempt::Written,
            Transacted::Refused(verdicts)
                if user.is_some() && matches!(verdicts.get(1), Some(Verdict::Failed(_))) =>
            {
                Attempt::Erased
            }
            Transacted::Refused(_) => Attempt::Overtaken,
        })
    }

    async fn imported_run(&self, run: &Run, old: Option<&Item>) -> Result<Item> {
        let (summary, new) = (&run.summary, run.to_new()?);
        let hash = request_hash(&new);
        let mut item = self.run_item(&summary.id, new, self.now_ms()).await?;
        item.set(REQUEST_HASH, hash);
        item.set(CREATED, summary.created_s);
        item.set(UPDATED, summary.updated_s);
        if let Some(user) = &summary.user_id {
            item = keys::run_of_user(user, summary.created_s, &summary.id).put_on(item);
        }
        if summary.is_public {
            item = self.feed_key(summary.created_s, &summary.id).await?.put_on(item);
        }
        if let Some(old) = old {
            item.set(VERSION, version_of(old) + 1);
        }
        Ok(item)
    }
}
