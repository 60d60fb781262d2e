//! The audit trail: which actor changed what, and when.
//!
//! Every change writes its event in the same transaction (`item` is the stored form). `archive` moves events past their
//! retention to object storage.

pub mod archive;
mod item;
mod json;

use weir_table::audit::{EventRange, checked_actor, expiry};
use weir_table::retry::Listed;
use weir_table::{Backend, Query, Write, audit_actions};

use crate::bounds::ARCHIVE_GRACE_DAYS;
use crate::error::{Error, Result};
use crate::ids::NamespaceId;
use crate::keys;
use crate::limiter::{Limiter, Namespace};
use crate::table::GSI1;

audit_actions! { AuditAction:
    /// An entity was created.
    EntityCreated = "entity_created",
    /// An entity was updated.
    EntityUpdated = "entity_updated",
    /// An entity was deleted.
    EntityDeleted = "entity_deleted",
    /// An entity got another parent.
    EntityParentChanged = "entity_parent_changed",
    /// The limits of a config level were set.
    LimitsSet = "limits_set",
    /// A config level was deleted.
    LimitsDeleted = "limits_deleted",
    /// A namespace was created.
    NamespaceCreated = "namespace_created",
    /// A namespace was deleted; its data remains.
    NamespaceDeleted = "namespace_deleted",
    /// A deleted namespace was recovered.
    NamespaceRecovered = "namespace_recovered",
    /// A purge of a namespace's data was started.
    NamespacePurged = "namespace_purged",
    /// Items were imported into a namespace from a table of zae-limiter.
    NamespaceImported = "namespace_imported",
    /// An operator refilled a bucket completely.
    BucketReset = "bucket_reset",
    /// An operator added tokens to a bucket.
    BucketToppedUp = "bucket_topped_up",
}

impl AuditAction {
    /// Whether the action is a deletion. A nearly full disk accepts it, and so its event.
    fn is_deletion(self) -> bool {
        use AuditAction::{EntityDeleted, LimitsDeleted, NamespaceDeleted, NamespacePurged};
        matches!(self, EntityDeleted | LimitsDeleted | NamespaceDeleted | NamespacePurged)
    }
}

/// An audit event.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEvent {
    /// The id: a ULID, so that ids sort by time.
    pub id: String,
    /// The time of the action, in milliseconds since 1970.
    pub at_ms: i64,
    /// The action.
    pub action: AuditAction,
    /// The subject: an entity, `$SYSTEM`, `$RESOURCE:{name}`, or a namespace's name.
    pub subject: String,
    /// The actor: who did it.
    pub actor: String,
    /// The resource that was affected.
    pub resource: Option<String>,
    /// The subject before the action.
    pub before: Option<serde_json::Value>,
    /// The subject after the action.
    pub after: Option<serde_json::Value>,
}

/// An event that is about to be written.
#[derive(Debug, Clone)]
pub(crate) struct NewAuditEvent<'a> {
    pub(crate) action: AuditAction,
    pub(crate) subject: &'a str,
    pub(crate) actor: &'a str,
    pub(crate) resource: Option<&'a str>,
    pub(crate) before: Option<serde_json::Value>,
    pub(crate) after: Option<serde_json::Value>,
}

impl<B: Backend> Limiter<B> {
    /// The write of an event of the registry about the namespace `id`, whose list shows it too.
    ///
    /// # Errors
    /// As [`Limiter::audit_write`].
    pub(crate) fn registry_audit_write(
        &self,
        id: &NamespaceId,
        event: NewAuditEvent<'_>,
        now_ms: i64,
    ) -> Result<Write> {
        self.event_write(keys::REGISTRY, id.as_str(), event, now_ms)
    }

    /// The write of an audit event, for the transaction of the change it records. `ns` is a namespace's id.
    ///
    /// # Errors
    /// The actor is empty, too long or has control characters.
    pub(crate) fn audit_write(
        &self,
        ns: &str,
        event: NewAuditEvent<'_>,
        now_ms: i64,
    ) -> Result<Write> {
        self.event_write(ns, ns, event, now_ms)
    }

    /// `ns` has the event, and the list of all events of `listed` shows it.
    fn event_write(
        &self,
        ns: &str,
        listed: &str,
        event: NewAuditEvent<'_>,
        now_ms: i64,
    ) -> Result<Write> {
        checked_actor(event.actor).map_err(|problem| Error::invalid("actor", problem))?;
        let id = self.inner.event_ids.next(now_ms);
        let settings = &self.inner.settings;
        // An archive copies events after their retention, so they must outlive it.
        let grace = if settings.archive { ARCHIVE_GRACE_DAYS } else { 0 };
        let expires = expiry(now_ms, settings.audit_retention_days.saturating_add(grace));
        let item = item::encode((ns, listed), id, &event, now_ms, expires);
        let write = Write::put(self.table(), item);
        Ok(if event.action.is_deletion() { write.essential() } else { write })
    }

    /// Lists events of a namespace in the registry.
    ///
    /// # Errors
    /// As [`Namespace::audit`].
    pub async fn registry_audit(
        &self,
        name: &str,
        range: &EventRange,
    ) -> Result<Listed<AuditEvent>> {
        self.events(keys::REGISTRY, name, range).await
    }

    async fn events(
        &self,
        ns: &str,
        subject: &str,
        range: &EventRange,
    ) -> Result<Listed<AuditEvent>> {
        let query = Query::partition(self.table(), keys::audit_partition(ns, subject));
        let now_ms = self.now_ms();
        Ok(self.store().events(query, keys::audit_sort, range, now_ms, item::decode).await?)
    }
}

impl<B: Backend> Namespace<B> {
    /// Lists events of a subject (an entity, `$SYSTEM`, `$RESOURCE:{name}`) as [`weir_table::Store::events`] does.
    ///
    /// # Errors
    /// The cursor belongs to another list, or the store fails.
    pub async fn audit(&self, subject: &str, range: &EventRange) -> Result<Listed<AuditEvent>> {
        self.limiter.events(self.id.as_str(), subject, range).await
    }

    /// Lists the events of all subjects of the namespace, itself included, as [`weir_table::Store::events`] does. The index
    /// that shows them may lag.
    ///
    /// # Errors
    /// As [`Namespace::audit`].
    pub async fn audit_of_all(&self, range: &EventRange) -> Result<Listed<AuditEvent>> {
        let limiter = &self.limiter;
        let partition = keys::gsi1_audit(self.id.as_str());
        let query = Query::partition(limiter.table(), partition).index(GSI1);
        let now_ms = limiter.now_ms();
        Ok(limiter.store().events(query, str::to_owned, range, now_ms, item::decode).await?)
    }
}
