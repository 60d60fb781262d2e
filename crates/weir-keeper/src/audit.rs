//! The audit log of an org: who changed what, and when. An event is written in the transaction of its change and retained
//! for 90 days.

use serde::{Deserialize, Serialize};
use weir_table::expr::attr;
use weir_table::{Backend, Item, Query, Write, event_ids};

use crate::bounds::{ACTOR_MAX, AUDIT_READS_MAX, AUDIT_RETENTION_DAYS, PAGE_MAX};
use crate::error::{Error, Result};
use crate::ids::{EventId, OrgId, Scope, shown};
use crate::keeper::Keeper;
use crate::keys;
use crate::paging::Page;
use crate::table::TTL;

const ACTION: &str = "action";
const SUBJECT: &str = "subject";
const ACTOR: &str = "actor";
const AT: &str = "at_ms";
const DETAIL: &str = "detail";
const DAY_SECS: i64 = 86_400;

macro_rules! actions {
    ($($(#[$doc:meta])* $action:ident = $text:literal,)*) => {
        /// An audited action.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum AuditAction {$(
            $(#[$doc])*
            #[serde(rename = $text)]
            $action,
        )*}

        impl AuditAction {
            /// The stored text.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(AuditAction::$action => $text,)* }
            }

            fn parse(text: &str) -> Option<AuditAction> {
                match text { $($text => Some(AuditAction::$action),)* _ => None }
            }
        }
    };
}

actions! {
    /// An org was created.
    OrgCreated = "org_created",
    /// The configuration of an org was changed.
    OrgUpdated = "org_updated",
    /// An app was created.
    AppCreated = "app_created",
    /// The configuration of an app was changed.
    AppUpdated = "app_updated",
    /// Credentials were rotated: a retrieval token for a new secret was issued.
    CredentialsRotated = "credentials_rotated",
    /// A new secret was made and returned.
    SecretRetrieved = "secret_retrieved",
    /// An inference profile was registered or changed.
    ProfilePut = "profile_put",
    /// An administrator set the model to use.
    StickyOverridden = "sticky_overridden",
    /// An administrator reset the day's fallback.
    StickyReset = "sticky_reset",
    /// A webhook was created or changed.
    WebhookPut = "webhook_put",
    /// A webhook was removed.
    WebhookRemoved = "webhook_removed",
}

/// An audit event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditEvent {
    /// The event id: a ULID, so ids are ordered by time.
    pub id: String,
    /// Time of the event, in milliseconds since 1970.
    pub at_ms: i64,
    /// What was done.
    pub action: AuditAction,
    /// Client id of the org or app that was changed.
    pub subject: String,
    /// Who did it.
    pub actor: String,
    /// Further details; never a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// An audit event about to be written.
#[derive(Debug, Clone)]
pub(crate) struct NewAuditEvent<'a> {
    pub(crate) action: AuditAction,
    pub(crate) subject: String,
    pub(crate) actor: &'a str,
    pub(crate) detail: Option<String>,
}

impl<B: Backend> Keeper<B> {
    /// The write of an event, for the transaction of the change.
    ///
    /// # Errors
    /// `actor` is empty, too long or has control characters.
    pub(crate) fn audit_write(
        &self,
        org: &OrgId,
        event: NewAuditEvent<'_>,
        now_ms: i64,
    ) -> Result<Write> {
        let id = EventId::new(self.inner.event_ids.next(now_ms))?;
        let mut item = keys::item(keys::audit(org, &id))
            .with(ACTION, event.action.as_str())
            .with(SUBJECT, event.subject)
            .with(ACTOR, check_actor(event.actor)?)
            .with(AT, now_ms)
            .with(TTL, now_ms.div_euclid(1000).saturating_add(AUDIT_RETENTION_DAYS * DAY_SECS));
        if let Some(detail) = event.detail {
            item.set(DETAIL, detail);
        }
        Ok(Write::put(self.tables().config.clone(), item))
    }

    /// Events of an org and its apps, or of one app, the newest first. A page may be short or even empty while there are
    /// more, because the events of other apps are filtered out after reading.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn audit_events(&self, filter: &AuditFilter) -> Result<Page<AuditEvent>> {
        let Some((first, last)) = event_ids::bounds(filter.from_ms, filter.to_ms) else {
            return Ok(Page { items: Vec::new(), cursor: None });
        };
        let partition = keys::org_partition(filter.scope.org());
        let mut query = Query::partition(self.tables().config.clone(), partition)
            .between(keys::audit_sort(&first), keys::audit_sort(&last))
            .reverse();
        if let Scope::App(..) = filter.scope {
            query = query.filter(attr(SUBJECT).eq(filter.scope.client_id()));
        }
        let limit = filter.limit.clamp(1, PAGE_MAX);
        let mut found = Page { items: Vec::new(), cursor: filter.cursor.clone() };
        for _ in 0..AUDIT_READS_MAX {
            let had = u32::try_from(found.items.len()).unwrap_or(limit);
            let query = query.clone();
            let page =
                self.store().page(query, limit.saturating_sub(had), found.cursor.take()).await?;
            found.items.extend(page.items.iter().filter_map(|item| decode(item, self.now_ms())));
            found.cursor = page.cursor;
            if found.cursor.is_none() || found.items.len() >= limit as usize {
                break;
            }
        }
        Ok(found)
    }
}

/// Selects audit events.
#[derive(Debug, Clone)]
pub struct AuditFilter {
    /// An org with all its apps, or one app.
    pub scope: Scope,
    /// Earliest time, in milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// End of the time range, exclusive, in milliseconds since 1970.
    pub to_ms: Option<i64>,
    /// Largest number of events.
    pub limit: u32,
    /// Cursor of the page.
    pub cursor: Option<String>,
}

impl AuditFilter {
    /// The newest page of events.
    #[must_use]
    pub fn new(scope: Scope) -> AuditFilter {
        AuditFilter { scope, from_ms: None, to_ms: None, limit: PAGE_MAX, cursor: None }
    }
}

fn check_actor(actor: &str) -> Result<&str> {
    let length = actor.chars().take(ACTOR_MAX + 1).count();
    if !(1..=ACTOR_MAX).contains(&length) || actor.contains(char::is_control) {
        let problem = format!(
            "{} must have 1 to {ACTOR_MAX} characters and no control characters",
            shown(actor)
        );
        return Err(Error::invalid("actor", problem));
    }
    Ok(actor)
}

/// Decodes an event; `None` when it has expired or a newer version wrote an action unknown here.
fn decode(item: &Item, now_ms: i64) -> Option<AuditEvent> {
    let is_unexpired = item.i64(TTL).is_none_or(|until| until > now_ms.div_euclid(1000));
    is_unexpired.then_some(())?;
    Some(AuditEvent {
        id: item.s("SK")?.strip_prefix(keys::AUDIT_PREFIX)?.to_owned(),
        at_ms: item.i64(AT)?,
        action: AuditAction::parse(item.s(ACTION)?)?,
        subject: item.s(SUBJECT)?.to_owned(),
        actor: item.s(ACTOR)?.to_owned(),
        detail: item.s(DETAIL).map(str::to_owned),
    })
}
