//! The audit events of a migration: one for each table that a run has changed.

use weir_table::Backend;

use super::Migration;
use super::backfill::Counts;
use super::entity::Entity;
use super::error::Result;
use crate::audit::{AuditAction, NewAuditEvent};

/// The actor of a migration in the audit log.
pub(super) const ACTOR: &str = "practice-migrate";

impl<B: Backend> Migration<B> {
    /// Notes that records were copied.
    pub(super) async fn audit_copy(&self, entity: Entity, counts: Counts) -> Result<()> {
        let Counts { created, updated, .. } = counts;
        if created + updated == 0 {
            return Ok(());
        }
        let event = NewAuditEvent {
            action: AuditAction::RecordsMigrated,
            subject: format!("table {entity}"),
            actor: ACTOR,
            detail: Some(format!(
                "{created} created, {updated} updated from {}",
                self.source().name()
            )),
        };
        let practice = self.practice();
        practice.write(practice.audit_write(event, practice.now_ms())?).await?;
        Ok(())
    }
}
