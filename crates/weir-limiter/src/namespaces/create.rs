//! Creates namespaces.

use weir_table::expr::attr;
use weir_table::{Backend, Write};

use super::{DEFAULT, Record, State, record};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::TRIES_MAX;
use crate::error::{Error, Result};
use crate::ids::NamespaceName;
use crate::limiter::Limiter;
use crate::{keys, retry};

impl<B: Backend> Limiter<B> {
    /// Creates a namespace. Returns whether it is new.
    ///
    /// # Errors
    /// A namespace of that name is deleted and not yet purged, or the store fails.
    pub async fn create_namespace(
        &self,
        name: &NamespaceName,
        actor: &str,
    ) -> Result<(Record, bool)> {
        if let Some(active) = self.active_namespace(name).await? {
            return Ok((active, false));
        }
        if let Some(removed) = self.removed_namespace(name).await? {
            return Err(name_taken(&removed));
        }
        self.register(name, actor).await
    }

    /// Creates the namespace `default` if it is missing, even if zae-limiter deleted one of that name.
    pub(crate) async fn ensure_default_namespace(&self) -> Result<()> {
        let name = NamespaceName::new(DEFAULT)?;
        self.register(&name, keys::ACTOR_WEIR).await?;
        Ok(())
    }

    async fn register(&self, name: &NamespaceName, actor: &str) -> Result<(Record, bool)> {
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            if let Some(active) = self.active_namespace(name).await? {
                return Ok((active, false));
            }
            let now_ms = self.now_ms();
            let record = Record {
                name: name.clone(),
                id: record::new_id()?,
                state: State::Active,
                created_ms: now_ms,
                deleted_ms: None,
            };
            let absent = || attr("PK").absent();
            let writes = vec![
                Write::put(self.table(), record.by_name()).when(absent()),
                Write::put(self.table(), record.by_id()).when(absent()),
                self.namespace_event(AuditAction::NamespaceCreated, None, &record, actor, now_ms)?,
            ];
            if self.try_transact(writes).await? {
                return Ok((record, true));
            }
        }
        Err(Error::Contended)
    }

    /// The audit event of a change to a namespace, in the registry's trail.
    pub(super) fn namespace_event(
        &self,
        action: AuditAction,
        before: Option<&Record>,
        after: &Record,
        actor: &str,
        now_ms: i64,
    ) -> Result<Write> {
        let event = NewAuditEvent {
            action,
            subject: after.name.as_str(),
            actor,
            resource: None,
            before: before.map(audit_details),
            after: Some(audit_details(after)),
        };
        self.registry_audit_write(&after.id, event, now_ms)
    }
}

fn audit_details(record: &Record) -> serde_json::Value {
    serde_json::json!({ "id": record.id, "status": record.state })
}

fn name_taken(removed: &Record) -> Error {
    let name = &removed.name;
    Error::Conflict(match removed.state {
        State::Purging => {
            format!(
                "namespace {name:?} is being purged; create it again when the purge is complete"
            )
        }
        _ => format!("namespace {name:?} is deleted; recover it, or purge it first"),
    })
}
