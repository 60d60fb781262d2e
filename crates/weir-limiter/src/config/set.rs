//! Writes a config level: its item, its registry and the audit event are one transaction.

use serde_json::json;
use weir_table::expr::attr;
use weir_table::{Backend, Get, Item, Write};

use super::check::check;
use super::level::LevelRef;
use super::registry::Registry;
use super::{Level, LevelConfig, item};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::TRIES_MAX;
use crate::error::{Error, Result};
use crate::limiter::Namespace;
use crate::retry;

/// A level before and after a change.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub(super) before: Option<LevelConfig>,
    pub(super) after: Option<LevelConfig>,
}

impl<B: Backend> Namespace<B> {
    /// Replaces a level by `to`, or deletes it. Live buckets stay as they are.
    pub(super) async fn change_level(
        &self,
        level: &Level,
        to: Option<&LevelConfig>,
        actor: &str,
    ) -> Result<Change> {
        if let Some(config) = to {
            check(level, config, self.limiter.settings().is_shared())?;
        }
        let now_ms = self.limiter.now_ms();
        let at = LevelRef::of(&self.id, level);
        let cache = &self.limiter.inner.configs;
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            let epoch = cache.epoch();
            let (old, registry) = self.read_for_change(at).await?;
            let before = old.as_ref().map(item::decode).transpose();
            let before = before.map_err(|unknown| unknown.of(at))?;
            let version = before.as_ref().map_or(0, |before| before.version).saturating_add(1);
            let after = to.map(|config| LevelConfig { version, ..config.clone() });
            let change = Change { before, after };
            if change.before.is_none() && change.after.is_none() {
                return Ok(change);
            }
            let writes = self.level_writes(at, old.as_ref(), &registry, &change, actor, now_ms)?;
            let written = self.limiter.try_transact(writes).await;
            if written.is_err() {
                // The write may have happened.
                cache.invalidate(at);
            }
            if written? {
                cache.on_write(
                    at,
                    change.after.clone().map(|after| Ok(after.into())),
                    now_ms,
                    epoch,
                );
                return Ok(change);
            }
        }
        Err(Error::Contended)
    }

    /// Reads the level and its registry entry, strongly consistent.
    async fn read_for_change(&self, at: LevelRef<'_>) -> Result<(Option<Item>, Registry)> {
        let mut gets = vec![Get::new(self.limiter.table(), at.key())];
        gets.extend(Registry::key(at).map(|key| Get::new(self.limiter.table(), key)));
        let mut items = self.limiter.store().batch_get(&gets).await?.into_iter();
        let level = items.next().flatten();
        Ok((level, Registry::read(at, items.next().flatten().as_ref())))
    }

    fn level_writes(
        &self,
        at: LevelRef<'_>,
        old: Option<&Item>,
        registry: &Registry,
        change: &Change,
        actor: &str,
        now_ms: i64,
    ) -> Result<Vec<Write>> {
        let table = || self.limiter.table();
        let unchanged = match old {
            None => attr("PK").absent(),
            Some(item) => match item.get(item::VERSION) {
                Some(version) => attr(item::VERSION).eq(version.clone()),
                None => attr("PK").exists().and(attr(item::VERSION).absent()),
            },
        };
        let write = match &change.after {
            Some(config) => Write::put(table(), item::encode(at, config, old)),
            None => Write::delete(table(), at.key()),
        };
        let event = NewAuditEvent {
            action: change
                .after
                .as_ref()
                .map_or(AuditAction::LimitsDeleted, |_| AuditAction::LimitsSet),
            subject: &at.subject(),
            actor,
            resource: at.named_resource(),
            before: change.before.as_ref().map(audit_details),
            after: change.after.as_ref().map(audit_details),
        };
        let mut writes = vec![write.when(unchanged)];
        writes.extend(registry.write(table(), at, change.before.is_some(), change.after.is_some()));
        writes.push(self.limiter.audit_write(self.id.as_str(), event, now_ms)?);
        Ok(writes)
    }
}

/// The details of a level in the audit trail.
fn audit_details(config: &LevelConfig) -> serde_json::Value {
    let mut details = json!({ "limits": config.limits, "version": config.version });
    for (name, value) in [
        ("on_unavailable", config.on_unavailable.map(|choice| json!(choice.as_str()))),
        ("auto_update", config.auto_update.map(|flag| json!(flag))),
        ("strict_version", config.strict_version.map(|flag| json!(flag))),
    ] {
        if let (Some(value), Some(details)) = (value, details.as_object_mut()) {
            details.insert(name.to_owned(), value);
        }
    }
    details
}
