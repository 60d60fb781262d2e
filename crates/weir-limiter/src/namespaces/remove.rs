//! Taking namespaces out of use, and putting them back.
//!
//! A deleted namespace has no item under its name any more, so nobody finds it who does not remember it; its item under the id
//! says `deleted`. Both change in one transaction, so a call whose answer was lost can be made again.

use weir_table::expr::{attr, set};
use weir_table::{Backend, Write};

use super::record::{DELETED, ID, STATUS};
use super::{DEFAULT, Record, State};
use crate::audit::Action;
use crate::bounds::TRIES_MAX;
use crate::error::{Error, Result};
use crate::ids::NamespaceName;
use crate::limiter::Limiter;
use crate::{keys, retry, time};

impl<B: Backend> Limiter<B> {
    /// Takes a namespace out of use; its data stays until it is purged. Other processes use it for as long as they remember
    /// it, which is a minute. One that is deleted already stays so.
    ///
    /// # Errors
    /// There is none, it is `default`, or the store fails.
    pub async fn delete_namespace(&self, name: &NamespaceName, by: &str) -> Result<Record> {
        if name.as_str() == DEFAULT {
            let problem = "the namespace \"default\" is always there and cannot be deleted";
            return Err(Error::Conflict(problem.to_owned()));
        }
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            let Some(active) = self.active_namespace(name).await? else {
                self.inner.names.forget(name);
                let removed = self.removed_namespace(name).await?;
                return removed.ok_or_else(|| Error::not_found("namespace", name.as_str()));
            };
            let now_ms = self.now_ms();
            let deleted =
                Record { state: State::Deleted, deleted_ms: Some(now_ms), ..active.clone() };
            let mark = set(STATUS, State::Deleted.text()).set(DELETED, time::rfc3339(now_ms));
            let is_active = attr(STATUS).eq(State::Active.text());
            let event = Action::NamespaceDeleted;
            let writes = vec![
                Write::delete(self.table(), keys::namespace(name))
                    .when(attr(ID).eq(active.id.as_str())),
                Write::update(self.table(), keys::namespace_id(&active.id), mark).when(is_active),
                self.namespace_event(event, Some(&active), &deleted, by, now_ms),
            ];
            let done = self.try_transact(writes).await;
            // Also when the answer was lost: it may be done.
            self.inner.names.forget(name);
            if done? {
                return Ok(deleted);
            }
        }
        Err(Error::Contended)
    }

    /// Puts a deleted namespace back into use.
    ///
    /// # Errors
    /// There is none, it is not deleted or already being purged, or the store fails.
    pub async fn recover_namespace(&self, name: &NamespaceName, by: &str) -> Result<Record> {
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            if self.active_namespace(name).await?.is_some() {
                return Err(Error::Conflict(format!("namespace {name:?} is in use, not deleted")));
            }
            let removed = self.removed_namespace(name).await?;
            let deleted = removed.ok_or_else(|| Error::not_found("namespace", name.as_str()))?;
            if deleted.state == State::Purging {
                let problem = format!("namespace {name:?} is being purged; its data is gone");
                return Err(Error::Conflict(problem));
            }
            let now_ms = self.now_ms();
            let active = Record { state: State::Active, deleted_ms: None, ..deleted.clone() };
            let mark = set(STATUS, State::Active.text()).remove(DELETED);
            let is_deleted = attr(STATUS).eq(State::Deleted.text());
            let event = Action::NamespaceRecovered;
            let writes = vec![
                Write::put(self.table(), active.by_name()).when(attr("PK").absent()),
                Write::update(self.table(), keys::namespace_id(&active.id), mark).when(is_deleted),
                self.namespace_event(event, Some(&deleted), &active, by, now_ms),
            ];
            if self.try_transact(writes).await? {
                return Ok(active);
            }
        }
        Err(Error::Contended)
    }
}
