//! Who changed what, and when.

pub mod archive;
mod item;
mod value;

use serde::{Deserialize, Serialize};
use weir_table::{Backend, Query, Write, event_ids};

use crate::bounds::ARCHIVE_GRACE_DAYS;
use crate::error::Result;
use crate::keys;
use crate::limiter::{Limiter, Namespace};

const DAY_SECONDS: i64 = 86_400;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// An entity was made.
    EntityCreated,
    /// An entity was changed.
    EntityUpdated,
    /// An entity was removed.
    EntityDeleted,
    /// An entity has another parent.
    EntityParentChanged,
    /// A level's limits were set.
    LimitsSet,
    /// A level was removed.
    LimitsDeleted,
    /// A namespace was made.
    NamespaceCreated,
    /// A namespace was taken out of use.
    NamespaceDeleted,
    /// A deleted namespace was put back into use.
    NamespaceRecovered,
    /// A namespace's data was removed.
    NamespacePurged,
    /// A bucket was filled up by an operator.
    BucketReset,
    /// A bucket got tokens from an operator.
    BucketToppedUp,
}

impl Action {
    /// The text in items.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Action::EntityCreated => "entity_created",
            Action::EntityUpdated => "entity_updated",
            Action::EntityDeleted => "entity_deleted",
            Action::EntityParentChanged => "entity_parent_changed",
            Action::LimitsSet => "limits_set",
            Action::LimitsDeleted => "limits_deleted",
            Action::NamespaceCreated => "namespace_created",
            Action::NamespaceDeleted => "namespace_deleted",
            Action::NamespaceRecovered => "namespace_recovered",
            Action::NamespacePurged => "namespace_purged",
            Action::BucketReset => "bucket_reset",
            Action::BucketToppedUp => "bucket_topped_up",
        }
    }
}

/// An event of the trail.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its id: a ULID, so that ids are in order of time.
    pub id: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What was done.
    pub action: Action,
    /// To what: an entity, `$SYSTEM`, `$RESOURCE:{name}`, or a namespace's name.
    pub subject: String,
    /// By whom.
    pub principal: String,
    /// On which resource.
    pub resource: Option<String>,
    /// How it was before.
    pub before: Option<serde_json::Value>,
    /// How it is now.
    pub after: Option<serde_json::Value>,
}

/// An event that is about to be written.
#[derive(Debug, Clone)]
pub(crate) struct NewEvent<'a> {
    pub(crate) action: Action,
    pub(crate) subject: &'a str,
    pub(crate) principal: &'a str,
    pub(crate) resource: Option<&'a str>,
    pub(crate) before: Option<serde_json::Value>,
    pub(crate) after: Option<serde_json::Value>,
}

impl<B: Backend> Limiter<B> {
    /// The write of an audit event, to stand in the transaction with what it tells of. `ns` is a namespace's id, or `_`.
    pub(crate) fn audit_write(&self, ns: &str, event: NewEvent<'_>, now_ms: i64) -> Write {
        let id = self.inner.event_ids.next(now_ms);
        let settings = &self.inner.settings;
        // An archive copies events past their retention, so they must still be there then.
        let grace = if settings.archive { ARCHIVE_GRACE_DAYS } else { 0 };
        let days = i64::from(settings.audit_retention_days) + i64::from(grace);
        let expires = now_ms / 1000 + days * DAY_SECONDS;
        Write::put(self.table(), item::encode(ns, id, &event, now_ms, expires))
    }

    /// Events of the registry of namespaces.
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
        let page = self.page(query, filter.limit, filter.cursor.clone()).await?;
        Ok((page.items.iter().filter_map(item::decode).collect(), page.cursor))
    }
}

/// Which events.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Of which subject: an entity, `$SYSTEM`, `$RESOURCE:{name}`.
    pub subject: String,
    /// Not before, in milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// Before.
    pub to_ms: Option<i64>,
    /// How many at most.
    pub limit: u32,
    /// Where to go on.
    pub cursor: Option<String>,
}

impl<B: Backend> Namespace<B> {
    /// Events of a subject, the newest first, and where to go on.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn audit(&self, filter: &Filter) -> Result<(Vec<Event>, Option<String>)> {
        self.limiter.events(self.id.as_str(), filter).await
    }
}
