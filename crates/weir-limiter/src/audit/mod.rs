//! The audit trail: which actor changed what, and when.
//!
//! Every change writes its event in the same transaction (`item` is the stored form). `archive` moves events past their
//! retention to object storage.

pub mod archive;
mod item;
mod json;

use weir_table::{Backend, Query, Write, event_ids};

use crate::bounds::ARCHIVE_GRACE_DAYS;
use crate::error::Result;
use crate::keys;
use crate::limiter::{Limiter, Namespace};

const DAY_SECONDS: i64 = 86_400;

/// The action that an event records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// An entity was created.
    EntityCreated,
    /// An entity was updated.
    EntityUpdated,
    /// An entity was deleted.
    EntityDeleted,
    /// An entity got another parent.
    EntityParentChanged,
    /// The limits of a config level were set.
    LimitsSet,
    /// A config level was deleted.
    LimitsDeleted,
    /// A namespace was created.
    NamespaceCreated,
    /// A namespace was deleted; its data remains.
    NamespaceDeleted,
    /// A deleted namespace was recovered.
    NamespaceRecovered,
    /// A purge of a namespace's data was started.
    NamespacePurged,
    /// An operator refilled a bucket completely.
    BucketReset,
    /// An operator added tokens to a bucket.
    BucketToppedUp,
}

const ACTIONS: [(Action, &str); 12] = [
    (Action::EntityCreated, "entity_created"),
    (Action::EntityUpdated, "entity_updated"),
    (Action::EntityDeleted, "entity_deleted"),
    (Action::EntityParentChanged, "entity_parent_changed"),
    (Action::LimitsSet, "limits_set"),
    (Action::LimitsDeleted, "limits_deleted"),
    (Action::NamespaceCreated, "namespace_created"),
    (Action::NamespaceDeleted, "namespace_deleted"),
    (Action::NamespaceRecovered, "namespace_recovered"),
    (Action::NamespacePurged, "namespace_purged"),
    (Action::BucketReset, "bucket_reset"),
    (Action::BucketToppedUp, "bucket_topped_up"),
];

impl Action {
    /// The stored text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        ACTIONS.iter().find(|(action, _)| *action == self).map_or("", |(_, text)| text)
    }

    fn parse(text: &str) -> Option<Action> {
        ACTIONS.iter().find(|(_, stored)| *stored == text).map(|(action, _)| *action)
    }
}

/// An audit event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The id: a ULID, so that ids sort by time.
    pub id: String,
    /// The time of the action, in milliseconds since 1970.
    pub at_ms: i64,
    /// The action.
    pub action: Action,
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
pub(crate) struct NewEvent<'a> {
    pub(crate) action: Action,
    pub(crate) subject: &'a str,
    pub(crate) actor: &'a str,
    pub(crate) resource: Option<&'a str>,
    pub(crate) before: Option<serde_json::Value>,
    pub(crate) after: Option<serde_json::Value>,
}

impl<B: Backend> Limiter<B> {
    /// The write of an audit event, for the transaction of the change it records. `ns` is a namespace's id, or `_`.
    pub(crate) fn audit_write(&self, ns: &str, event: NewEvent<'_>, now_ms: i64) -> Write {
        let id = self.inner.event_ids.next(now_ms);
        let settings = &self.inner.settings;
        // An archive copies events after their retention, so they must outlive it.
        let grace = if settings.archive { ARCHIVE_GRACE_DAYS } else { 0 };
        let days = i64::from(settings.audit_retention_days) + i64::from(grace);
        let expires = now_ms / 1000 + days * DAY_SECONDS;
        Write::put(self.table(), item::encode(ns, id, &event, now_ms, expires))
    }

    /// Lists events of the registry of namespaces.
    ///
    /// # Errors
    /// As [`Namespace::audit`].
    pub async fn registry_audit(&self, filter: &Filter) -> Result<(Vec<Event>, Option<String>)> {
        self.events(keys::REGISTRY, filter).await
    }

    async fn events(&self, ns: &str, filter: &Filter) -> Result<(Vec<Event>, Option<String>)> {
        let Some((first, last)) = event_ids::bounds(filter.from_ms, filter.to_ms) else {
            return Ok((Vec::new(), None));
        };
        let query = Query::partition(self.table(), keys::audit_partition(ns, &filter.subject))
            .between(keys::audit_sort(&first), keys::audit_sort(&last))
            .reverse();
        let page = self.store().page(query, filter.limit, filter.cursor.clone()).await?;
        Ok((page.items.iter().filter_map(item::decode).collect(), page.cursor))
    }
}

/// Selects audit events.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The subject: an entity, `$SYSTEM`, `$RESOURCE:{name}`.
    pub subject: String,
    /// Start of the time range, in milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// End of the time range, exclusive.
    pub to_ms: Option<i64>,
    /// Most events to return.
    pub limit: u32,
    /// The cursor of the previous page.
    pub cursor: Option<String>,
}

impl<B: Backend> Namespace<B> {
    /// Lists events of a subject, newest first. Returns a cursor if there are more.
    ///
    /// # Errors
    /// The cursor belongs to another list, or the store fails.
    pub async fn audit(&self, filter: &Filter) -> Result<(Vec<Event>, Option<String>)> {
        self.limiter.events(self.id.as_str(), filter).await
    }
}
