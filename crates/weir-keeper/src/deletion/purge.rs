//! Purges what was deleted too long ago to be restored.
//!
//! An app of an org in use keeps its item as long as its totals, without credentials, because the org's totals include the
//! app's; its id is free. A purged org is removed with everything below it but its audit events, which expire.

use weir_table::expr::Update;
use weir_table::{Backend, Query, Write};

use super::{DAY_MS, Deletion, still_deleted};
use crate::audit::AuditAction;
use crate::bounds::{APP_PAGES_MAX, PURGE_DELAY_MS, PURGE_PROFILES_MAX, TRIES_MAX};
use crate::config::{DELETED_AT, PURGED_AT};
use crate::credentials::{CREDENTIALS, TokenRevocation};
use crate::error::{Error, Result};
use crate::ids::{AppId, OrgId, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::retry::pause;
use crate::table::TTL;

/// The actor of a purge in the audit log.
const ACTOR: &str = "keeper-purge";

/// The result of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PurgeReport {
    /// Orgs and apps purged.
    pub purged: u64,
    /// Whether more wait.
    pub more: bool,
}

impl<B: Backend> Keeper<B> {
    /// Purges up to `limit` orgs and apps whose time to be restored has passed.
    ///
    /// # Errors
    /// The store fails. What was purged stays purged, and the next run continues.
    pub async fn purge_deleted(
        &self,
        limit: u32,
        tokens: &impl TokenRevocation,
    ) -> Result<PurgeReport> {
        let due = self.now_ms().saturating_sub(PURGE_DELAY_MS);
        let query = Query::partition(self.tables().config.clone(), keys::DELETIONS)
            .between(keys::deletion_due(0), keys::deletion_due(due));
        let page = self.store().page(query, limit, None).await?;
        let mut report = PurgeReport { purged: 0, more: page.cursor.is_some() };
        for item in &page.items {
            let marker = item.s("SK").and_then(keys::parse_deletion);
            let (until_ms, scope) = marker
                .ok_or_else(|| Error::damaged("the list of deletions", "a key is invalid"))?;
            self.purge(&scope, until_ms, tokens).await?;
            report.purged += 1;
        }
        Ok(report)
    }

    async fn purge(
        &self,
        scope: &Scope,
        until_ms: i64,
        tokens: &impl TokenRevocation,
    ) -> Result<()> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let item = self.read_config(keys::config(scope)).await?;
            let deleted_at = item.as_ref().and_then(|item| item.i64(DELETED_AT));
            let deleted_at =
                deleted_at.filter(|at| Deletion::at(*at).restorable_until_ms == until_ms);
            let marker =
                Write::delete(self.tables().config.clone(), keys::deletion(until_ms, scope));
            let is_purged = match (scope, item, deleted_at) {
                (Scope::Org(org), Some(_), Some(at)) => {
                    self.purge_org(org, at, marker, tokens).await?
                }
                (Scope::App(org, app), Some(item), Some(at)) if item.get(PURGED_AT).is_none() => {
                    self.purge_app((org, app), at, marker, tokens).await?
                }
                // Its org was purged before.
                _ => self.write(marker).await?.is_applied(),
            };
            if is_purged {
                self.inner.configs.invalidate(scope.org());
                return Ok(());
            }
        }
        Err(Error::Contended)
    }

    /// False when a concurrent writer was faster.
    async fn purge_app(
        &self,
        (org, app): (&OrgId, &AppId),
        deleted_at: i64,
        marker: Write,
        tokens: &impl TokenRevocation,
    ) -> Result<bool> {
        let now_ms = self.now_ms();
        let retention_ms = i64::from(self.settings().retention_days).saturating_mul(DAY_MS);
        let expires = now_ms.saturating_add(retention_ms).div_euclid(1000);
        let (scope, config) = (Scope::App(org.clone(), app.clone()), &self.tables().config);
        let strip = CREDENTIALS.iter().fold(Update::default(), |update, name| update.remove(*name));
        let strip = strip.set(PURGED_AT, now_ms.div_euclid(1000)).set(TTL, expires);
        let last = vec![
            Write::update(config.clone(), keys::app(org, app), strip)
                .when(still_deleted(deleted_at)),
            marker,
            self.deletion_event(AuditAction::AppPurged, &scope, ACTOR, now_ms)?,
            tokens.end_tokens(&scope.client_id()).await?,
        ];
        let profiles = self.profiles_to_end(org, app).await?;
        let profiles = profiles.into_iter().map(|profile| self.end_profile(profile, now_ms));
        let guard = Write::check(config.clone(), keys::app(org, app), still_deleted(deleted_at));
        let is_purged = self.purge_with(profiles.collect(), guard, last).await;
        tokens.ended(&scope.client_id());
        is_purged
    }

    /// False when a concurrent writer was faster.
    async fn purge_org(
        &self,
        org: &OrgId,
        deleted_at: i64,
        marker: Write,
        tokens: &impl TokenRevocation,
    ) -> Result<bool> {
        let (scope, config) = (Scope::Org(org.clone()), &self.tables().config);
        let guard = || Write::check(config.clone(), keys::org(org), still_deleted(deleted_at));
        let mut is_empty = false;
        for _ in 0..APP_PAGES_MAX {
            // The first page again, because its apps are gone.
            let (apps, _) = self.app_ids(org, None).await?;
            is_empty = apps.is_empty();
            if is_empty {
                break;
            }
            for app in apps {
                let client_id = Scope::App(org.clone(), app.clone()).client_id();
                let profiles = self.all_profile_keys(org, &app).await?;
                let profiles = profiles.into_iter().map(|key| Write::delete(config.clone(), key));
                let last = vec![
                    guard(),
                    Write::delete(config.clone(), keys::app(org, &app)),
                    tokens.end_tokens(&client_id).await?,
                ];
                let is_purged = self.purge_with(profiles.collect(), guard(), last).await;
                tokens.ended(&client_id);
                if !is_purged? {
                    return Ok(false);
                }
            }
        }
        if !is_empty {
            return Err(Error::Overflow("the number of apps"));
        }
        let now_ms = self.now_ms();
        let mut writes = vec![
            Write::delete(config.clone(), keys::org(org)).when(still_deleted(deleted_at)),
            Write::delete(config.clone(), keys::org_entry(org)),
            marker,
            self.deletion_event(AuditAction::OrgPurged, &scope, ACTOR, now_ms)?,
            tokens.end_tokens(&scope.client_id()).await?,
        ];
        let webhooks = Query::partition(config.clone(), keys::org_partition(org))
            .begins_with(keys::WEBHOOK_PREFIX);
        let webhooks = self.store().query(&webhooks).await?;
        let keys = webhooks.items.iter().filter_map(keys::item_key);
        writes.extend(keys.map(|key| Write::delete(config.clone(), key)));
        let committed = self.commit(writes).await;
        tokens.ended(&scope.client_id());
        committed
    }

    /// Does `writes` and `last` in as few transactions as they fit. `last` is in the last; the others have the `guard`.
    async fn purge_with(&self, writes: Vec<Write>, guard: Write, last: Vec<Write>) -> Result<bool> {
        let mut chunks = writes.chunks(PURGE_PROFILES_MAX).peekable();
        while let Some(chunk) = chunks.next() {
            if chunks.peek().is_none() {
                return self.commit(chunk.iter().cloned().chain(last).collect()).await;
            }
            let guarded = [guard.clone()].into_iter().chain(chunk.iter().cloned());
            if !self.commit(guarded.collect()).await? {
                return Ok(false);
            }
        }
        self.commit(last).await
    }
}
