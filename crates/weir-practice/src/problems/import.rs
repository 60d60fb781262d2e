//! Imports problems, with their list entries and large texts. Test cases are imported apart.

use weir_table::expr::attr;
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Item, Value, Write};

use super::entries::{entries, index};
use super::item::{
    DELETED, DELETED_AT, DELETED_REASON, NEEDS_REVIEW, REVIEW_NOTES, REVIEWED_AT, TEXTS, VERIFIED,
    decode_summary, is_whole,
};
use super::{NewProblem, Problem, check};
use crate::error::{Error, Result};
use crate::import::{Imported, OnDifference, Step, step};
use crate::item::{CREATED, UPDATED, VERSION};
use crate::keys;
use crate::objects::ObjectOwner;
use crate::practice::Practice;
use crate::update::{REVISION, set_field, unchanged, update_between};

impl Problem {
    fn to_new(&self) -> NewProblem {
        let summary = self.summary.clone();
        NewProblem {
            url: summary.url,
            tags: summary.tags,
            solution_code: self.solution_code.clone(),
            language: summary.language,
            constraints: self.constraints.clone(),
            metadata: summary.metadata,
            is_published: summary.is_published,
            ..NewProblem::new(summary.at, summary.title)
        }
    }

    /// Checks a problem from elsewhere.
    pub(crate) fn check_import(&self) -> Result<()> {
        self.to_new().check()?;
        let summary = &self.summary;
        check::note("review_notes", summary.review_notes.as_deref())?;
        let reason = summary.deletion.as_ref().and_then(|deletion| deletion.reason.as_deref());
        check::note("deleted_reason", reason)
    }

    /// Whether two problems are the same, whatever their version and who registered them.
    pub(crate) fn is_same(&self, other: &Problem) -> bool {
        let mut summary = other.summary.clone();
        summary.version = self.summary.version;
        summary.registered_by.clone_from(&self.summary.registered_by);
        summary == self.summary
            && other.solution_code == self.solution_code
            && other.constraints == self.constraints
    }
}

impl<B: Backend> Practice<B> {
    /// Stores a problem as it is elsewhere.
    ///
    /// # Errors
    /// A field is invalid, the problem is being created or removed, or the store fails.
    pub(crate) async fn import_problem(
        &self,
        problem: &Problem,
        on: OnDifference,
    ) -> Result<Imported> {
        problem.check_import()?;
        let at = &problem.summary.at;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let old = self.item(keys::problem(at)).await?;
            let stored = match &old {
                Some(item) if !is_whole(item) => {
                    return Err(Error::conflict("the problem is being created or removed"));
                }
                Some(item) => match self.read_problem(item).await? {
                    Some(stored) => Some(stored),
                    None => continue,
                },
                None => None,
            };
            let found =
                stored.as_ref().map(|stored| (stored.is_same(problem), stored.summary.updated_s));
            if let Step::Done(done) = step(found, problem.summary.updated_s, on) {
                return Ok(done);
            }
            if self.write_import(problem, old.as_ref()).await? {
                return Ok(Imported::by(old.is_some()));
            }
        }
        Err(Error::Contended)
    }

    /// False when another writer was faster.
    async fn write_import(&self, problem: &Problem, old: Option<&Item>) -> Result<bool> {
        let at = &problem.summary.at;
        let mut new = self.imported_item(problem, old).await?;
        let summary = decode_summary(&new)?;
        index(&mut new, &summary);
        let listed = match old.filter(|old| old.get(VERSION).is_some()) {
            Some(old) => entries(&decode_summary(old)?),
            None => Vec::new(),
        };
        let fitted = self.fit(new, &ObjectOwner::Problem(at.clone()), TEXTS).await?;
        let table = self.table().clone();
        let (write, dropped) = match old {
            None => (Write::put(table, fitted.item.clone()).when(attr("PK").absent()), Vec::new()),
            Some(old) => {
                let update = update_between(old, &fitted.item);
                let update = Write::update(table, keys::problem(at), update).when(unchanged(old));
                (update, self.dropped(old, Some(&fitted.item), TEXTS))
            }
        };
        let mut writes = vec![write];
        writes.extend(self.entry_writes(&listed, &entries(&summary)));
        writes.extend(fitted.unmark(self.table()).chain(self.marks(&dropped)));
        if self.transact(writes).await?.is_applied() {
            self.discard(&dropped).await;
            return Ok(true);
        }
        self.discard(fitted.objects()).await;
        Ok(false)
    }

    /// The item of a problem, with what only the stored one has.
    async fn imported_item(&self, problem: &Problem, old: Option<&Item>) -> Result<Item> {
        let summary = &problem.summary;
        let now_ms = self.now_ms();
        let registrar = old.map(decode_summary).transpose()?.and_then(|old| old.registered_by);
        let mut item = self.problem_item(&problem.to_new(), registrar.as_ref(), now_ms).await?;
        let text = |text: Option<&String>| text.map_or(Value::Null, |text| text.as_str().into());
        let deletion = summary.deletion.as_ref();
        let fields = [
            (DELETED, deletion.is_some().into()),
            (DELETED_AT, deletion.map_or(Value::Null, |deletion| deletion.at_s.into())),
            (DELETED_REASON, text(deletion.and_then(|deletion| deletion.reason.as_ref()))),
            (NEEDS_REVIEW, summary.needs_review.into()),
            (REVIEW_NOTES, text(summary.review_notes.as_ref())),
            (VERIFIED, summary.is_verified.into()),
            (REVIEWED_AT, summary.reviewed_at_s.map_or(Value::Null, Value::from)),
        ];
        for (name, value) in fields {
            set_field(&mut item, name, value);
        }
        item.set(CREATED, summary.created_s);
        item.set(UPDATED, summary.updated_s);
        if let Some(old) = old {
            item.set(VERSION, crate::update::version_of(old) + 1);
            match old.get(REVISION) {
                Some(revision) => item.set(REVISION, revision.clone()),
                None => drop(item.remove(REVISION)),
            }
        }
        Ok(item)
    }
}
