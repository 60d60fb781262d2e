//! Writing a level: its item, the registry that counts it and the audit event are one transaction.

use serde_json::json;
use weir_table::expr::attr;
use weir_table::{Backend, Get, Item, Write};

use super::check::check;
use super::level::LevelRef;
use super::registry::Registry;
use super::{Level, LevelConfig, item};
use crate::audit::{Action, NewEvent};
use crate::bounds::TRIES_MAX;
use crate::error::{Error, Result};
use crate::limiter::Namespace;
use crate::retry;

/// A level before and after.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub(super) before: Option<LevelConfig>,
    pub(super) after: Option<LevelConfig>,
}

impl<B: Backend> Namespace<B> {
    /// Makes a level say `to`, or removes it. Live buckets are not touched.
    pub(super) async fn change_level(
        &self,
        level: &Level,
        to: Option<&LevelConfig>,
        by: &str,
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
            let before = old.as_ref().map(item::decode);
            let version = before.as_ref().map_or(0, |before| before.version).saturating_add(1);
            let after = to.map(|config| LevelConfig { version, ..config.clone() });
            let change = Change { before, after };
            if change.before.is_none() && change.after.is_none() {
                return Ok(change);
            }
            let writes = self.writes_of(at, old.as_ref(), &registry, &change, by, now_ms);
            let done = self.limiter.try_transact(writes).await;
            if done.is_err() {
                // It may have happened.
                cache.forget(at);
            }
            if done? {
                cache.written(at, change.after.clone().map(Into::into), now_ms, epoch);
                return Ok(change);
            }
        }
        Err(Error::Contended)
    }

    /// The level and what the registry knows of its resource, strongly read.
    async fn read_for_change(&self, at: LevelRef<'_>) -> Result<(Option<Item>, Registry)> {
        let mut gets = vec![Get::new(self.limiter.table(), at.stored())];
        gets.extend(Registry::key(at).map(|key| Get::new(self.limiter.table(), key)));
        let mut items = self.limiter.store().batch_get(&gets).await?.into_iter();
        let level = items.next().flatten();
        Ok((level, Registry::read(at, items.next().flatten().as_ref())))
    }

    fn writes_of(
        &self,
        at: LevelRef<'_>,
        old: Option<&Item>,
        registry: &Registry,
        change: &Change,
        by: &str,
        now_ms: i64,
    ) -> Vec<Write> {
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
            None => Write::delete(table(), at.stored()),
        };
        let event = NewEvent {
            action: change.after.as_ref().map_or(Action::LimitsDeleted, |_| Action::LimitsSet),
            subject: &at.subject(),
            principal: by,
            resource: at.named_resource(),
            before: change.before.as_ref().map(told),
            after: change.after.as_ref().map(told),
        };
        let mut writes = vec![write.when(unchanged)];
        writes.extend(registry.write(table(), at, change.before.is_some(), change.after.is_some()));
        writes.push(self.limiter.audit_write(self.id.as_str(), event, now_ms));
        writes
    }
}

/// A level as the audit trail tells it.
fn told(config: &LevelConfig) -> serde_json::Value {
    let mut told = json!({ "limits": config.limits, "version": config.version });
    for (name, value) in [
        ("on_unavailable", config.on_unavailable.map(|choice| json!(choice))),
        ("auto_update", config.auto_update.map(|flag| json!(flag))),
        ("strict_version", config.strict_version.map(|flag| json!(flag))),
    ] {
        if let (Some(value), Some(told)) = (value, told.as_object_mut()) {
            told.insert(name.to_owned(), value);
        }
    }
    told
}
