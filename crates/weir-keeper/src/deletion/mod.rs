//! Deletion of orgs and apps, with undo.
//!
//! 1. A deletion marks the item of the org or app, ends the client's tokens, and puts a marker into the list of deletions, in
//!    one transaction. From then on it does not exist for anyone but readers of its totals. An org's apps are deleted with it,
//!    because every read of an app also reads its org; so restoring the org restores exactly those.
//! 2. A restore within [`RESTORE_DAYS`] days removes the mark. Secrets work again, tokens do not.
//! 3. After that a job purges what the list names ([`Keeper::purge_deleted`]). Totals keep their own retention.
//!
//! Deleting or restoring again continues where a failure stopped it.

mod purge;

use weir_calendar::rfc3339;
use weir_table::expr::{Update, attr, set};
use weir_table::{Backend, Item, Query, Write};

pub use self::purge::PurgeReport;
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::{APP_PAGES_MAX, PAGE_MAX, RESTORE_DAYS, TRIES_MAX};
use crate::config::{DELETED_AT, EffectiveConfig, PURGED_AT, VERSION};
use crate::credentials::{PENDING_TOKEN, TokenRevocation};
use crate::error::{Error, Result};
use crate::ids::{AppId, OrgId, Scope};
use crate::item_diff::unchanged_since;
use crate::keeper::Keeper;
use crate::keys;
use crate::retry::pause;

const DAY_MS: i64 = 86_400_000;

/// Whether a list includes deleted entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Deleted {
    /// It does not.
    #[default]
    Hidden,
    /// It does, with the time of their deletion.
    Included,
}

impl Deleted {
    /// Whether a list includes an entry that was deleted at this time.
    #[must_use]
    pub fn includes(self, deleted_at_epoch: Option<i64>) -> bool {
        self == Deleted::Included || deleted_at_epoch.is_none()
    }
}

/// The deletion of an org or app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deletion {
    /// Time of the deletion, in milliseconds since 1970.
    pub deleted_at_ms: i64,
    /// The end of the time in which it can be restored, in milliseconds since 1970.
    pub restorable_until_ms: i64,
}

impl Deletion {
    fn at(epoch: i64) -> Deletion {
        let deleted_at_ms = epoch.saturating_mul(1000);
        let restorable_until_ms = deleted_at_ms.saturating_add(RESTORE_DAYS * DAY_MS);
        Deletion { deleted_at_ms, restorable_until_ms }
    }
}

/// The error of creating an org or app under the id of a deleted one. A new one would inherit its totals and its client id.
pub(crate) fn deleted_id(scope: &Scope, deleted_at_epoch: i64) -> Error {
    let (kind, id) = match scope {
        Scope::Org(org) => ("org", org.as_str()),
        Scope::App(_, app) => ("app", app.as_str()),
    };
    let until = rfc3339(Deletion::at(deleted_at_epoch).restorable_until_ms);
    Error::AlreadyExists(format!(
        "{kind} {id:?} is deleted: restore it (`weir keeper {kind} restore`), or choose another id; this one is free after {until}"
    ))
}

impl<B: Backend> Keeper<B> {
    /// Deletes an org with its apps, or an app. Its tokens end, and it can be restored for [`RESTORE_DAYS`] days. Deleting it
    /// again changes nothing.
    ///
    /// # Errors
    /// It does not exist, or the store fails; then it may be deleted already, and can be deleted again.
    pub async fn delete(
        &self,
        scope: &Scope,
        actor: &str,
        tokens: &impl TokenRevocation,
    ) -> Result<Deletion> {
        let now_ms = self.now_ms();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let item = self.item_or_deleted(scope).await?;
            let deletion = match item.i64(DELETED_AT) {
                Some(at) => Some(Deletion::at(at)),
                None => self.try_delete(scope, &item, actor, tokens, now_ms).await?,
            };
            let Some(deletion) = deletion else { continue };
            self.inner.configs.invalidate(scope.org());
            self.end_app_tokens(scope, tokens).await?;
            return Ok(deletion);
        }
        Err(Error::Contended)
    }

    /// `None` when a concurrent writer was faster.
    async fn try_delete(
        &self,
        scope: &Scope,
        item: &Item,
        actor: &str,
        tokens: &impl TokenRevocation,
        now_ms: i64,
    ) -> Result<Option<Deletion>> {
        let deletion = Deletion::at(now_ms.div_euclid(1000));
        let action = match scope {
            Scope::Org(_) => AuditAction::OrgDeleted,
            Scope::App(..) => AuditAction::AppDeleted,
        };
        let change = changed(item).set(DELETED_AT, now_ms.div_euclid(1000));
        let marker = keys::item(keys::deletion(deletion.restorable_until_ms, scope));
        let config = &self.tables().config;
        let mut writes = vec![
            Write::update(config.clone(), keys::config(scope), change.remove(PENDING_TOKEN))
                .when(unchanged_since(item, VERSION).and(attr(DELETED_AT).absent())),
            Write::put(config.clone(), marker),
            self.deletion_event(action, scope, actor, now_ms)?,
        ];
        writes.push(tokens.end_tokens(&scope.client_id()).await?);
        let committed = self.commit(writes).await;
        tokens.ended(&scope.client_id());
        Ok(committed?.then_some(deletion))
    }

    /// Restores a deleted org with the apps that it had, or a deleted app. Tokens issued before do not work again. Restoring it
    /// again changes nothing.
    ///
    /// # Errors
    /// It does not exist, it was deleted too long ago, or the store fails.
    pub async fn restore(
        &self,
        scope: &Scope,
        actor: &str,
        tokens: &impl TokenRevocation,
    ) -> Result<EffectiveConfig> {
        let now_ms = self.now_ms();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let item = self.item_or_deleted(scope).await?;
            let is_restored = match item.i64(DELETED_AT) {
                None => true,
                Some(at) if Deletion::at(at).restorable_until_ms <= now_ms => {
                    return Err(scope.not_found());
                }
                Some(at) => {
                    // The deletion may have failed before it reached all of them.
                    self.end_app_tokens(scope, tokens).await?;
                    self.try_restore(scope, (&item, at), actor, tokens, now_ms).await?
                }
            };
            if is_restored {
                return match scope {
                    Scope::Org(org) => self.get_org(org).await,
                    Scope::App(org, app) => self.get_app(org, app).await,
                };
            }
        }
        Err(Error::Contended)
    }

    /// False when a concurrent writer was faster.
    async fn try_restore(
        &self,
        scope: &Scope,
        (item, deleted_at): (&Item, i64),
        actor: &str,
        tokens: &impl TokenRevocation,
        now_ms: i64,
    ) -> Result<bool> {
        let until_ms = Deletion::at(deleted_at).restorable_until_ms;
        let action = match scope {
            Scope::Org(_) => AuditAction::OrgRestored,
            Scope::App(..) => AuditAction::AppRestored,
        };
        let config = &self.tables().config;
        let change = changed(item).remove(DELETED_AT);
        let mut writes = vec![
            Write::update(config.clone(), keys::config(scope), change)
                .when(still_deleted(deleted_at).and(unchanged_since(item, VERSION))),
            Write::delete(config.clone(), keys::deletion(until_ms, scope)),
            self.deletion_event(action, scope, actor, now_ms)?,
        ];
        writes.push(tokens.end_tokens(&scope.client_id()).await?);
        let committed = self.commit(writes).await;
        tokens.ended(&scope.client_id());
        let is_restored = committed?;
        self.inner.configs.invalidate(scope.org());
        Ok(is_restored)
    }

    /// The item of an org, or of an app of an org in use; not of a purged app.
    async fn item_or_deleted(&self, scope: &Scope) -> Result<Item> {
        let item = match scope {
            Scope::Org(org) => self.read_config(keys::org(org)).await?,
            Scope::App(org, app) => {
                let (org_item, item) = self.read_org_and_app(org, app).await?;
                if org_item.is_none_or(|item| item.get(DELETED_AT).is_some()) {
                    return Err(Error::not_found("org", org.as_str()));
                }
                item
            }
        };
        item.filter(|item| item.get(PURGED_AT).is_none()).ok_or_else(|| scope.not_found())
    }

    /// Ends the tokens of all apps of an org.
    async fn end_app_tokens(&self, scope: &Scope, tokens: &impl TokenRevocation) -> Result<()> {
        let Scope::Org(org) = scope else { return Ok(()) };
        let mut cursor = None;
        for _ in 0..APP_PAGES_MAX {
            let (apps, next) = self.app_ids(org, cursor).await?;
            for app in apps {
                let client_id = Scope::App(org.clone(), app).client_id();
                self.end_tokens_of(&client_id, tokens).await?;
            }
            cursor = next;
            if cursor.is_none() {
                return Ok(());
            }
        }
        Err(Error::Overflow("the number of apps"))
    }

    async fn end_tokens_of(&self, client_id: &str, tokens: &impl TokenRevocation) -> Result<()> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let ended = self.write(tokens.end_tokens(client_id).await?).await;
            tokens.ended(client_id);
            if ended?.is_applied() {
                return Ok(());
            }
        }
        Err(Error::Contended)
    }

    /// A page of the ids of an org's apps, deleted or not.
    async fn app_ids(
        &self,
        org: &OrgId,
        cursor: Option<String>,
    ) -> Result<(Vec<AppId>, Option<String>)> {
        let query = Query::partition(self.tables().config.clone(), keys::org_partition(org))
            .begins_with(keys::APP_PREFIX)
            .project(["PK", "SK"]);
        let page = self.store().page(query, PAGE_MAX, cursor).await?;
        let id = |item: &Item| keys::parse_app(item.s("SK")?);
        Ok((page.items.iter().filter_map(id).collect(), page.cursor))
    }

    fn deletion_event(
        &self,
        action: AuditAction,
        scope: &Scope,
        actor: &str,
        now_ms: i64,
    ) -> Result<Write> {
        let event = NewAuditEvent { action, subject: scope.client_id(), actor, detail: None };
        self.audit_write(scope.org(), event, now_ms)
    }
}

/// A new version of an item, so that concurrent changes of its configuration are refused.
fn changed(item: &Item) -> Update {
    let version = item.i64(VERSION).unwrap_or_default();
    set(VERSION, version.saturating_add(1))
}

/// The item is still deleted, since this time.
fn still_deleted(deleted_at: i64) -> weir_table::expr::Condition {
    attr(DELETED_AT).eq(deleted_at)
}
