//! Changes of problems. Each reads the item, decides, and writes the difference on condition of the version it has read,
//! with the entries of lists and the audit event in the same transaction.

use serde_json::Value as Json;
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Item, Value, Write};

use super::ProblemSummary;
use super::check;
use super::entries::{entries, index};
use super::item::{
    CONSTRAINTS, DELETED, DELETED_AT, DELETED_REASON, LANGUAGE, METADATA, NEEDS_REVIEW, PUBLISHED,
    REVIEW_NOTES, REVIEWED_AT, SOLUTION, TAGS, TEXTS, TITLE, URL, VERIFIED, decode_summary,
    is_deleted, is_whole, tags_value,
};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::METADATA_MAX;
use crate::error::{Error, Result};
use crate::ids::{ProblemRef, Tag};
use crate::item::{VERSION, secs};
use crate::json::object_value;
use crate::keys;
use crate::objects::ObjectOwner;
use crate::practice::Practice;
use crate::update::{set_field, touch, unchanged, update_between, version_of};

/// Fields of a problem to change. `None` leaves a field as it is, `Some(None)` clears it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProblemPatch {
    /// Title.
    pub title: Option<String>,
    /// Address of the problem on its platform.
    pub url: Option<Option<String>>,
    /// Tags, all of them.
    pub tags: Option<Vec<Tag>>,
    /// Code that solves the problem.
    pub solution_code: Option<Option<String>>,
    /// Language of the solution.
    pub language: Option<Option<String>>,
    /// Constraints of the input.
    pub constraints: Option<Option<String>>,
    /// Further fields of the client, all of them: an object.
    pub metadata: Option<Json>,
    /// The version that the caller has read; another one is a conflict.
    pub version: Option<u64>,
}

/// Fields to set.
type Changes = Vec<(&'static str, Value)>;

/// The actor and the audit event of a change.
struct Event<'a> {
    action: AuditAction,
    actor: &'a str,
    detail: Option<String>,
}

impl<'a> Event<'a> {
    fn new(action: AuditAction, actor: &'a str) -> Event<'a> {
        Event { action, actor, detail: None }
    }
}

impl<B: Backend> Practice<B> {
    /// Changes fields of a problem.
    ///
    /// # Errors
    /// A field is invalid, the problem is missing or deleted or has another version, or the store fails.
    pub async fn update_problem(
        &self,
        at: &ProblemRef,
        patch: ProblemPatch,
        actor: &str,
    ) -> Result<ProblemSummary> {
        let version = patch.version;
        let changes = self.patch_changes(patch).await?;
        self.change_problem(at, &Event::new(AuditAction::ProblemUpdated, actor), |item| {
            check_version(at, item, version)?;
            refuse_deleted(at, item)?;
            Ok(changes.clone())
        })
        .await
    }

    async fn patch_changes(&self, patch: ProblemPatch) -> Result<Changes> {
        let ProblemPatch {
            title, url, tags, solution_code, language, constraints, metadata, ..
        } = patch;
        let mut changes = Changes::new();
        if let Some(title) = title {
            check::title(&title)?;
            changes.push((TITLE, title.into()));
        }
        if let Some(url) = url {
            check::url(url.as_deref())?;
            changes.push((URL, or_null(url)));
        }
        if let Some(tags) = tags {
            check::tags(&tags)?;
            changes.push((TAGS, tags_value(&tags)));
        }
        if let Some(text) = solution_code {
            changes.push((SOLUTION, self.optional_text("solution_code", text).await?));
        }
        if let Some(language) = language {
            check::language(language.as_deref())?;
            changes.push((LANGUAGE, or_null(language)));
        }
        if let Some(text) = constraints {
            changes.push((CONSTRAINTS, self.optional_text("constraints", text).await?));
        }
        if let Some(metadata) = metadata {
            changes.push((METADATA, object_value("metadata", &metadata, METADATA_MAX)?));
        }
        Ok(changes)
    }

    /// Publishes a problem.
    ///
    /// # Errors
    /// The problem is missing or deleted, or the store fails.
    pub async fn publish_problem(&self, at: &ProblemRef, actor: &str) -> Result<ProblemSummary> {
        self.change_problem(at, &Event::new(AuditAction::ProblemPublished, actor), |item| {
            refuse_deleted(at, item)?;
            Ok(vec![(PUBLISHED, true.into())])
        })
        .await
    }

    /// Hides a problem from all lists but that of deleted ones. [`Practice::restore_problem`] undoes it.
    ///
    /// # Errors
    /// The reason is too long, the problem is missing, or the store fails.
    pub async fn delete_problem(
        &self,
        at: &ProblemRef,
        reason: Option<String>,
        actor: &str,
    ) -> Result<ProblemSummary> {
        check::note("reason", reason.as_deref())?;
        let now_s = secs(self.now_ms());
        self.change_problem(at, &Event::new(AuditAction::ProblemDeleted, actor), |item| {
            let first = (DELETED, true.into());
            if is_deleted(item) {
                return Ok(vec![first]);
            }
            let reason = or_null(reason.clone());
            Ok(vec![first, (DELETED_AT, now_s.into()), (DELETED_REASON, reason)])
        })
        .await
    }

    /// Brings a deleted problem back into its lists.
    ///
    /// # Errors
    /// The problem is missing, or the store fails.
    pub async fn restore_problem(&self, at: &ProblemRef, actor: &str) -> Result<ProblemSummary> {
        self.change_problem(at, &Event::new(AuditAction::ProblemRestored, actor), |_| {
            let cleared = [DELETED_AT, DELETED_REASON].map(|name| (name, Value::Null));
            Ok([(DELETED, false.into())].into_iter().chain(cleared).collect())
        })
        .await
    }

    /// Marks a problem for review; until then it is not verified.
    ///
    /// # Errors
    /// The notes are too long, the problem is missing or deleted, or the store fails.
    pub async fn request_review(
        &self,
        at: &ProblemRef,
        notes: Option<String>,
        actor: &str,
    ) -> Result<ProblemSummary> {
        check::note("notes", notes.as_deref())?;
        let event = Event::new(AuditAction::ProblemReviewRequested, actor);
        self.change_problem(at, &event, |item| {
            refuse_deleted(at, item)?;
            let notes = or_null(notes.clone());
            Ok(vec![(NEEDS_REVIEW, true.into()), (REVIEW_NOTES, notes), (VERIFIED, false.into())])
        })
        .await
    }

    /// Verifies a problem, which ends its review.
    ///
    /// # Errors
    /// The problem is missing or deleted, or the store fails.
    pub async fn verify_problem(&self, at: &ProblemRef, actor: &str) -> Result<ProblemSummary> {
        let now_s = secs(self.now_ms());
        self.change_problem(at, &Event::new(AuditAction::ProblemVerified, actor), |item| {
            refuse_deleted(at, item)?;
            let flags = [(VERIFIED, true.into()), (NEEDS_REVIEW, false.into())];
            Ok(flags.into_iter().chain([(REVIEWED_AT, now_s.into())]).collect())
        })
        .await
    }

    /// Reads a problem, sets the fields that `decide` returns, and writes what differs.
    async fn change_problem(
        &self,
        at: &ProblemRef,
        event: &Event<'_>,
        decide: impl Fn(&Item) -> Result<Changes>,
    ) -> Result<ProblemSummary> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let old = self.item(keys::problem(at)).await?.filter(is_whole);
            let old = old.ok_or_else(|| Error::not_found("problem", at))?;
            let mut new = old.clone();
            for (name, value) in decide(&old)? {
                set_field(&mut new, name, value);
            }
            if new == old && old.get(VERSION).is_some() {
                return decode_summary(&old);
            }
            if let Some(changed) = self.write_problem(at, &old, new, event).await? {
                return Ok(changed);
            }
        }
        Err(Error::Contended)
    }

    /// `None` when another writer was faster.
    async fn write_problem(
        &self,
        at: &ProblemRef,
        old: &Item,
        mut new: Item,
        event: &Event<'_>,
    ) -> Result<Option<ProblemSummary>> {
        let now_ms = self.now_ms();
        touch(&mut new, secs(now_ms));
        let summary = decode_summary(&new)?;
        index(&mut new, &summary);
        // A problem that another program wrote is in no list yet.
        let is_listed = old.get(VERSION).is_some();
        let listed = if is_listed { entries(&decode_summary(old)?) } else { Vec::new() };
        let fitted = self.fit(new, &ObjectOwner::Problem(at.clone()), TEXTS).await?;
        let dropped = self.dropped(old, Some(&fitted.item), TEXTS);
        let update = update_between(old, &fitted.item);
        let update = Write::update(self.table().clone(), keys::problem(at), update);
        let mut writes = vec![update.when(unchanged(old))];
        writes.extend(self.entry_writes(&listed, &entries(&summary)));
        writes.extend(fitted.unmark(self.table()).chain(self.marks(&dropped)));
        writes.push(self.problem_event(at, event, now_ms)?);
        if self.transact(writes).await?.is_applied() {
            self.discard(&dropped).await;
            return Ok(Some(summary));
        }
        self.discard(fitted.objects()).await;
        Ok(None)
    }

    fn problem_event(&self, at: &ProblemRef, event: &Event<'_>, now_ms: i64) -> Result<Write> {
        let Event { action, actor, detail } = event;
        let subject = format!("problem {at}");
        let event = NewAuditEvent { action: *action, subject, actor, detail: detail.clone() };
        self.audit_write(event, now_ms)
    }
}

fn or_null(text: Option<String>) -> Value {
    text.map_or(Value::Null, Value::from)
}

fn refuse_deleted(at: &ProblemRef, item: &Item) -> Result<()> {
    if !is_deleted(item) {
        return Ok(());
    }
    Err(Error::conflict(format!("the problem {at} is deleted; restore it first")))
}

fn check_version(at: &ProblemRef, item: &Item, expected: Option<u64>) -> Result<()> {
    let found = version_of(item);
    if expected.is_none_or(|expected| expected == found) {
        return Ok(());
    }
    Err(Error::conflict(format!("the problem {at} has version {found}; read it again")))
}
