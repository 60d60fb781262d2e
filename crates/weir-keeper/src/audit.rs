//! The audit log of an org: who changed what, and when. An event is written in the transaction of its change and retained
//! for 90 days.

use weir_table::audit::{EventRange, checked_actor, expiry};
use weir_table::expr::attr;
use weir_table::retry::Listed;
use weir_table::{Backend, Item, Query, Write, audit_actions};

use crate::bounds::AUDIT_RETENTION_DAYS;
use crate::error::{Error, Result};
use crate::ids::{EventId, OrgId, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::table::TTL;

const ACTION: &str = "action";
const SUBJECT: &str = "subject";
const ACTOR: &str = "actor";
const AT: &str = "at_ms";
const DETAIL: &str = "detail";

audit_actions! { AuditAction:
    /// An org was created.
    OrgCreated = "org_created",
    /// The configuration of an org was changed.
    OrgUpdated = "org_updated",
    /// An app was created.
    AppCreated = "app_created",
    /// The configuration of an app was changed.
    AppUpdated = "app_updated",
    /// An org was deleted, with its apps.
    OrgDeleted = "org_deleted",
    /// A deleted org was restored, with its apps.
    OrgRestored = "org_restored",
    /// The configuration of a deleted org and its apps was removed for good.
    OrgPurged = "org_purged",
    /// An app was deleted.
    AppDeleted = "app_deleted",
    /// A deleted app was restored.
    AppRestored = "app_restored",
    /// The credentials and profiles of a deleted app were removed for good.
    AppPurged = "app_purged",
    /// Credentials were rotated: a retrieval token for a new secret was issued.
    CredentialsRotated = "credentials_rotated",
    /// A rotation was cancelled: its retrieval token is void.
    RotationCancelled = "rotation_cancelled",
    /// A new secret was made and returned.
    SecretRetrieved = "secret_retrieved",
    /// An inference profile was registered or changed.
    ProfilePut = "profile_put",
    /// An inference profile was deleted.
    ProfileDeleted = "profile_deleted",
    /// An administrator set the model to use.
    StickyOverridden = "sticky_overridden",
    /// An administrator reset the day's fallback.
    StickyReset = "sticky_reset",
    /// A webhook was created or changed.
    WebhookPut = "webhook_put",
    /// A webhook was removed.
    WebhookRemoved = "webhook_removed",
    /// A webhook notice was sent again.
    DeliveryReplayed = "delivery_replayed",
}

impl AuditAction {
    /// Whether the action deletes or ends something. A nearly full disk accepts it, and so its event.
    fn is_deletion(self) -> bool {
        use AuditAction::{
            AppDeleted, AppPurged, OrgDeleted, OrgPurged, ProfileDeleted, RotationCancelled,
            StickyReset, WebhookRemoved,
        };
        let of_tenant = matches!(self, OrgDeleted | OrgPurged | AppDeleted | AppPurged);
        of_tenant
            || matches!(self, RotationCancelled | ProfileDeleted | StickyReset | WebhookRemoved)
    }
}

/// An audit event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    /// The event id: a ULID, so ids are ordered by time.
    pub id: String,
    /// Time of the event, in milliseconds since 1970.
    pub at_ms: i64,
    /// The action.
    pub action: AuditAction,
    /// Client id of the org or app that was changed.
    pub subject: String,
    /// The caller who did it.
    pub actor: String,
    /// Further details; never a secret.
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
    /// The actor is empty, too long or has control characters.
    pub(crate) fn audit_write(
        &self,
        org: &OrgId,
        event: NewAuditEvent<'_>,
        now_ms: i64,
    ) -> Result<Write> {
        let id = EventId::new(self.inner.event_ids.next(now_ms))?;
        let actor = checked_actor(event.actor);
        let mut item = keys::item(keys::audit(org, &id))
            .with(ACTION, event.action.as_str())
            .with(SUBJECT, event.subject)
            .with(ACTOR, actor.map_err(|problem| Error::invalid("actor", problem))?)
            .with(AT, now_ms)
            .with(TTL, expiry(now_ms, AUDIT_RETENTION_DAYS));
        if let Some(detail) = event.detail {
            item.set(DETAIL, detail);
        }
        let write = Write::put(self.tables().config.clone(), item);
        Ok(if event.action.is_deletion() { write.essential() } else { write })
    }

    /// Events of an org and its apps, or of one app, as [`weir_table::Store::events`] lists them.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn audit_events(
        &self,
        scope: &Scope,
        range: &EventRange,
    ) -> Result<Listed<AuditEvent>> {
        let partition = keys::org_partition(scope.org());
        let mut query = Query::partition(self.tables().config.clone(), partition);
        if let Scope::App(..) = scope {
            query = query.filter(attr(SUBJECT).eq(scope.client_id()));
        }
        Ok(self.store().events(query, keys::audit_sort, range, self.now_ms(), decode).await?)
    }
}

/// Decodes an event; `None` when a newer version wrote an action unknown here.
fn decode(item: &Item) -> Option<AuditEvent> {
    Some(AuditEvent {
        id: item.s("SK")?.strip_prefix(keys::AUDIT_PREFIX)?.to_owned(),
        at_ms: item.i64(AT)?,
        action: AuditAction::parse(item.s(ACTION)?)?,
        subject: item.s(SUBJECT)?.to_owned(),
        actor: item.s(ACTOR)?.to_owned(),
        detail: item.s(DETAIL).map(str::to_owned),
    })
}
