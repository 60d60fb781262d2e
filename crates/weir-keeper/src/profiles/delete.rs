//! Deletes inference profiles.
//!
//! The item of a deleted profile stays as long as totals are retained, because reports find its usage by its label.

use weir_table::expr::{attr, set};
use weir_table::{Backend, Item, Key, Write};

use super::{LABEL, is_in_use};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::TRIES_MAX;
use crate::config::{DELETED_AT, VERSION};
use crate::error::{Error, Result};
use crate::ids::{AppId, Label, OrgId, Scope};
use crate::item_diff::unchanged_since;
use crate::keeper::Keeper;
use crate::keys;
use crate::retry::pause;
use crate::table::TTL;

impl<B: Backend> Keeper<B> {
    /// Deletes a profile. Registering it again restores it.
    ///
    /// # Errors
    /// The app or the profile does not exist, the chain of the app names it, or the store fails.
    pub async fn delete_profile(
        &self,
        org: &OrgId,
        app: &AppId,
        label: &Label,
        actor: &str,
    ) -> Result<()> {
        let now_ms = self.now_ms();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            if self.try_delete_profile((org, app), label, actor, now_ms).await? {
                self.inner.profiles.invalidate((org, app, label));
                self.inner.configs.invalidate(org);
                return Ok(());
            }
        }
        Err(Error::Contended)
    }

    /// False when a concurrent writer was faster.
    async fn try_delete_profile(
        &self,
        (org, app): (&OrgId, &AppId),
        label: &Label,
        actor: &str,
        now_ms: i64,
    ) -> Result<bool> {
        let (_, found) = self.read_records(org, Some(app)).await?;
        let (record, item) = found.ok_or_else(|| Error::not_found("app", app.as_str()))?;
        if record.config.model_ordering.iter().flatten().any(|used| used == label) {
            let problem = format!(
                "{label} is in the model_ordering of the app; put the app without it first"
            );
            return Err(Error::config(LABEL, problem));
        }
        if self.stored_profile(org, app, label).await?.is_none() {
            return Err(Error::not_found("inference profile", label.as_str()));
        }
        let event = NewAuditEvent {
            action: AuditAction::ProfileDeleted,
            subject: Scope::App(org.clone(), app.clone()).client_id(),
            actor,
            detail: Some(format!("{LABEL}={label}")),
        };
        // A new version of the app refuses a concurrent put that takes the label into its chain.
        let version = set(VERSION, record.config_version.saturating_add(1));
        let writes = vec![
            self.end_profile(keys::profile(org, app, label), now_ms),
            Write::update(self.tables().config.clone(), keys::app(org, app), version)
                .when(unchanged_since(&item, VERSION)),
            self.audit_write(org, event, now_ms)?,
        ];
        self.commit(writes).await
    }

    /// The write that marks a profile as deleted until its totals expire.
    pub(crate) fn end_profile(&self, profile: Key, now_ms: i64) -> Write {
        let now = now_ms.div_euclid(1000);
        let retention_secs = i64::from(self.settings().retention_days).saturating_mul(86_400);
        let ended = set(DELETED_AT, now).set(TTL, now.saturating_add(retention_secs));
        let is_in_use = attr("PK").exists().and(attr(DELETED_AT).absent());
        Write::update(self.tables().config.clone(), profile, ended).when(is_in_use)
    }

    /// The keys of an app's profiles that are in use.
    pub(crate) async fn profiles_to_end(&self, org: &OrgId, app: &AppId) -> Result<Vec<Key>> {
        let items = self.profile_items(org, app).await?;
        Ok(items.iter().filter(|item| is_in_use(item)).filter_map(keys::item_key).collect())
    }

    /// The keys of an app's profiles, and of deleted ones.
    pub(crate) async fn all_profile_keys(&self, org: &OrgId, app: &AppId) -> Result<Vec<Key>> {
        let items: Vec<Item> = self.profile_items(org, app).await?;
        Ok(items.iter().filter_map(keys::item_key).collect())
    }
}
