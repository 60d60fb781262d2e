//! Deletes namespaces, and recovers them.
//!
//! A deleted namespace has no item under its name any more, so only processes that cached its id find it; its item under the
//! id says `deleted`. Both items change in one transaction, so a call whose response was lost can be repeated.

use weir_table::expr::{attr, set};
use weir_table::{Backend, Write};

use super::record::{DELETED, ID, STATUS};
use super::{DEFAULT, Record, State};
use crate::audit::AuditAction;
use crate::bounds::TRIES_MAX;
use crate::error::{Error, Result};
use crate::ids::NamespaceName;
use crate::limiter::Limiter;
use crate::{keys, retry, time};

impl<B: Backend> Limiter<B> {
    /// Deletes a namespace; its data remains until it is purged. Other processes use it for as long as they cache its id,
    /// which is a minute. A namespace that is deleted already stays so.
    ///
    /// # Errors
    /// The namespace does not exist or is `default`, or the store fails.
    pub async fn delete_namespace(&self, name: &NamespaceName, actor: &str) -> Result<Record> {
        if name.as_str() == DEFAULT {
            let problem = "the namespace \"default\" cannot be deleted";
            return Err(Error::Conflict(problem.to_owned()));
        }
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            let Some(active) = self.active_namespace(name).await? else {
                self.inner.namespaces.invalidate(name);
                let removed = self.removed_namespace(name).await?;
                return removed.ok_or_else(|| Error::not_found("namespace", name.as_str()));
            };
            let now_ms = self.now_ms();
            let deleted =
                Record { state: State::Deleted, deleted_ms: Some(now_ms), ..active.clone() };
            let mark = set(STATUS, State::Deleted.as_str()).set(DELETED, time::rfc3339(now_ms));
            let is_active = attr(STATUS).eq(State::Active.as_str());
            let event = AuditAction::NamespaceDeleted;
            let writes = vec![
                Write::delete(self.table(), keys::namespace(name))
                    .when(attr(ID).eq(active.id.as_str())),
                Write::update(self.table(), keys::namespace_id(&active.id), mark).when(is_active),
                self.namespace_event(event, Some(&active), &deleted, actor, now_ms)?,
            ];
            let written = self.try_transact(writes).await;
            // Also if the response was lost: the write may have happened.
            self.inner.namespaces.invalidate(name);
            if written? {
                return Ok(deleted);
            }
        }
        Err(Error::Contended)
    }

    /// Recovers a deleted namespace.
    ///
    /// # Errors
    /// The namespace does not exist, is not deleted or is being purged, or the store fails.
    pub async fn recover_namespace(&self, name: &NamespaceName, actor: &str) -> Result<Record> {
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            if self.active_namespace(name).await?.is_some() {
                return Err(Error::Conflict(format!("namespace {name:?} is not deleted")));
            }
            let removed = self.removed_namespace(name).await?;
            let deleted = removed.ok_or_else(|| Error::not_found("namespace", name.as_str()))?;
            if deleted.state == State::Purging {
                let problem = format!("namespace {name:?} is being purged and cannot be recovered");
                return Err(Error::Conflict(problem));
            }
            let now_ms = self.now_ms();
            let active = Record { state: State::Active, deleted_ms: None, ..deleted.clone() };
            let mark = set(STATUS, State::Active.as_str()).remove(DELETED);
            let is_deleted = attr(STATUS).eq(State::Deleted.as_str());
            let event = AuditAction::NamespaceRecovered;
            let writes = vec![
                Write::put(self.table(), active.by_name()).when(attr("PK").absent()),
                Write::update(self.table(), keys::namespace_id(&active.id), mark).when(is_deleted),
                self.namespace_event(event, Some(&deleted), &active, actor, now_ms)?,
            ];
            if self.try_transact(writes).await? {
                return Ok(active);
            }
        }
        Err(Error::Contended)
    }
}
