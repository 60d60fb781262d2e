//! Creates and changes orgs.

use weir_table::expr::attr;
use weir_table::{Backend, Item, Query, Write};

use super::{OWN_CHAINS, PutOutcome};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::{APP_PAGES_MAX, APPS_NAMED_MAX, PAGE_MAX, PAST_MAX, TRIES_MAX};
use crate::config::{
    AppRecord, DELETED_AT, EffectiveConfig, OrgRecord, PutOrg, QuotaScope, VERSION, changed_fields,
};
use crate::credentials::NewRetrieval;
use crate::deletion::deleted_id;
use crate::error::{Error, Result};
use crate::ids::{AppId, OrgId, Scope};
use crate::item_diff::{unchanged_since, update_between};
use crate::keeper::Keeper;
use crate::keys;
use crate::retry::pause;

impl<B: Backend> Keeper<B> {
    /// Creates or changes an org. A new time zone or quota scope takes effect at the next midnight of the current zone.
    /// A put without a difference changes nothing.
    ///
    /// # Errors
    /// The request is invalid, for example a shared chain while apps have their own, or the store fails.
    pub async fn put_org(&self, org: &OrgId, request: &PutOrg, actor: &str) -> Result<PutOutcome> {
        let now_ms = self.now_ms();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let old = self.read_config(keys::org(org)).await?;
            if let Some(at) = old.as_ref().and_then(|old| old.i64(DELETED_AT)) {
                return Err(deleted_id(&Scope::Org(org.clone()), at));
            }
            let put = match old {
                None => self.create_org(org, request, actor, now_ms).await?,
                Some(old) => self.change_org(org, &old, request, actor, now_ms).await?,
            };
            if let Some(put) = put {
                return Ok(put);
            }
        }
        Err(Error::Contended)
    }

    /// `None` when a concurrent writer was faster.
    async fn create_org(
        &self,
        org: &OrgId,
        request: &PutOrg,
        actor: &str,
        now_ms: i64,
    ) -> Result<Option<PutOutcome>> {
        let scope = Scope::Org(org.clone());
        let record = OrgRecord::new(org.clone(), request.check(self.catalog(), None)?, now_ms);
        let table = &self.tables().config;
        let new = self.new_retrieval(&scope, 0, now_ms);
        let item = new.mark(record.encode(None));
        let NewRetrieval { retrieval, write } = new;
        let event = NewAuditEvent {
            action: AuditAction::OrgCreated,
            subject: scope.client_id(),
            actor,
            detail: None,
        };
        let writes = vec![
            Write::put(table.clone(), item).when(attr("PK").absent()),
            Write::put(table.clone(), keys::item(keys::org_entry(org))),
            write,
            self.audit_write(org, event, now_ms)?,
        ];
        if !self.commit(writes).await? {
            return Ok(None);
        }
        self.inner.configs.invalidate(org);
        self.inner.metrics.retrieval_token_issued();
        let effective = EffectiveConfig::for_org(&record, now_ms);
        Ok(Some(PutOutcome { created: true, effective, retrieval: Some(retrieval) }))
    }

    /// `None` when a concurrent writer was faster.
    async fn change_org(
        &self,
        org: &OrgId,
        old: &Item,
        request: &PutOrg,
        actor: &str,
        now_ms: i64,
    ) -> Result<Option<PutOutcome>> {
        let record = OrgRecord::decode(org.clone(), old)?;
        let config = request.check(self.catalog(), Some(&record.config))?;
        let new = record.changed(config, now_ms);
        let put = |record: &OrgRecord| {
            let effective = EffectiveConfig::for_org(record, now_ms);
            Some(PutOutcome { created: false, effective, retrieval: None })
        };
        if is_unchanged(&record, &new, now_ms) {
            return Ok(put(&record));
        }
        if new.pending.is_some() && new.past.len() >= PAST_MAX {
            let problem =
                format!("changed {PAST_MAX} times in four days, with quota_scope; try again later");
            return Err(Error::config("timezone", problem));
        }
        let mut unchanged = unchanged_since(old, VERSION);
        if new.upcoming_scope() == QuotaScope::Org && record.upcoming_scope() == QuotaScope::App {
            self.check_no_own_chains(org).await?;
            unchanged = unchanged.and(unchanged_since(old, OWN_CHAINS));
        }
        let update = update_between(old, &new.encode(Some(old)));
        let subject = Scope::Org(org.clone()).client_id();
        let detail = Some(changed_fields(&record.upcoming(), &new.upcoming()));
        let event = NewAuditEvent { action: AuditAction::OrgUpdated, subject, actor, detail };
        let mut writes = vec![
            Write::update(self.tables().config.clone(), keys::org(org), update).when(unchanged),
            self.audit_write(org, event, now_ms)?,
        ];
        writes.extend(self.keep_version(&record, &record, now_ms));
        if !self.commit(writes).await? {
            return Ok(None);
        }
        self.inner.configs.invalidate(org);
        Ok(put(&new))
    }

    /// Rejects the change while apps have a chain or quotas of their own, which they would silently lose.
    async fn check_no_own_chains(&self, org: &OrgId) -> Result<()> {
        let query = Query::partition(self.tables().config.clone(), keys::org_partition(org))
            .begins_with(keys::APP_PREFIX);
        let mut cursor = None;
        let mut named: Vec<AppId> = Vec::new();
        for _ in 0..APP_PAGES_MAX {
            let page = self.store().page(query.clone(), PAGE_MAX, cursor).await?;
            for item in &page.items {
                let app = decode_app(org, item)?;
                if app.config.has_own_chain() && app.deleted_at_epoch.is_none() {
                    named.push(app.app);
                }
            }
            cursor = page.cursor;
            if cursor.is_none() || named.len() > APPS_NAMED_MAX {
                break;
            }
        }
        match (named.is_empty(), cursor) {
            (true, None) => Ok(()),
            (true, Some(_)) => {
                Err(Error::config("quota_scope", "cannot be ORG: the org has too many apps"))
            }
            (false, _) => Err(Error::config("quota_scope", own_chains_problem(&named))),
        }
    }
}

fn own_chains_problem(apps: &[AppId]) -> String {
    let names: Vec<&str> = apps.iter().take(APPS_NAMED_MAX).map(AppId::as_str).collect();
    let more = if apps.len() > APPS_NAMED_MAX { " and others" } else { "" };
    format!(
        "cannot be ORG while apps have a model_ordering, quotas or sticky_fallback_enabled of their own: {}{more}; \
         put these apps without model_ordering and quotas, and with `overrides: {{}}`, first",
        names.join(", ")
    )
}

/// Decodes an app's item.
pub(crate) fn decode_app(org: &OrgId, item: &Item) -> Result<AppRecord> {
    let app = item.s("SK").and_then(keys::parse_app);
    let app = app.ok_or_else(|| Error::damaged("an app", "its key has no app id"))?;
    AppRecord::decode(org.clone(), app, item)
}

/// Whether a change would make no difference, now or later.
fn is_unchanged(old: &OrgRecord, new: &OrgRecord, now_ms: i64) -> bool {
    let pending = old.pending.as_ref().filter(|pending| pending.at_ms > now_ms);
    *old.config_at(now_ms) == new.config && pending == new.pending.as_ref()
}
