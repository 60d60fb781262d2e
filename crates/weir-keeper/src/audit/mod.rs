//! Who changed what of an org, and when. An event is written with what it tells of, in one transaction, and kept for 90 days.

mod ids;

use serde::Serialize;
use weir_table::{Backend, Item, Query, Write};

pub(crate) use self::ids::Ids;
use crate::bounds::{ACTOR_MAX, AUDIT_KEPT_DAYS};
use crate::error::{Error, Result};
use crate::ids::{EventId, OrgId, shown};
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

macro_rules! acts {
    ($($(#[$doc:meta])* $act:ident = $text:literal,)*) => {
        /// What was done.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        pub enum Act {$(
            $(#[$doc])*
            #[serde(rename = $text)]
            $act,
        )*}

        impl Act {
            /// The text of it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Act::$act => $text,)* }
            }

            fn parse(text: &str) -> Option<Act> {
                match text { $($text => Some(Act::$act),)* _ => None }
            }
        }
    };
}

acts! {
    /// An org was made.
    OrgCreated = "org_created",
    /// An org was set to something else.
    OrgUpdated = "org_updated",
    /// An app was made.
    AppCreated = "app_created",
    /// An app was set to something else.
    AppUpdated = "app_updated",
    /// A new secret was promised.
    CredentialsRotated = "credentials_rotated",
    /// A new secret was made and shown.
    SecretRetrieved = "secret_retrieved",
    /// An inference profile was registered.
    ProfilePut = "profile_put",
    /// The model to use was set by hand.
    StickyOverridden = "sticky_overridden",
    /// The fallback of a day was taken back by hand.
    StickyReset = "sticky_reset",
    /// A target of notices was set.
    WebhookPut = "webhook_put",
    /// A target of notices was removed.
    WebhookRemoved = "webhook_removed",
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Its id: a ULID, so ids are in the order of time.
    pub id: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What was done.
    pub action: Act,
    /// To whom: a client id.
    pub subject: String,
    /// By whom.
    pub actor: String,
    /// What else is worth knowing; never a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// An event that is about to be written.
#[derive(Debug, Clone)]
pub(crate) struct NewEvent<'a> {
    pub(crate) act: Act,
    pub(crate) subject: String,
    pub(crate) actor: &'a str,
    pub(crate) detail: Option<String>,
}

impl<B: Backend> Keeper<B> {
    /// The write of an event, to stand in the transaction with what it tells of.
    ///
    /// # Errors
    /// `actor` is no name.
    pub(crate) fn audit_write(
        &self,
        org: &OrgId,
        event: NewEvent<'_>,
        now_ms: i64,
    ) -> Result<Write> {
        let id = EventId::new(self.inner.event_ids.next(now_ms).to_string())?;
        let mut item = keys::item(keys::audit(org, &id))
            .with(ACTION, event.act.as_str())
            .with(SUBJECT, event.subject)
            .with(ACTOR, checked(event.actor)?)
            .with(AT, now_ms)
            .with(TTL, now_ms.div_euclid(1000).saturating_add(AUDIT_KEPT_DAYS * DAY_SECS));
        if let Some(detail) = event.detail {
            item.set(DETAIL, detail);
        }
        Ok(Write::put(self.tables().config.clone(), item))
    }

    /// The events of an org, the newest first.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn audit(
        &self,
        org: &OrgId,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Page<Event>> {
        let now = self.now_ms().div_euclid(1000);
        let query = Query::partition(self.tables().config.clone(), keys::org_partition(org))
            .begins_with(keys::AUDIT_PREFIX)
            .reverse();
        let page = self.page(query, limit, cursor).await?;
        let items = page.items.iter().filter(|item| item.i64(TTL).is_none_or(|until| until > now));
        Ok(Page { items: items.filter_map(decode).collect(), cursor: page.cursor })
    }
}

fn checked(actor: &str) -> Result<&str> {
    let length = actor.chars().take(ACTOR_MAX + 1).count();
    if !(1..=ACTOR_MAX).contains(&length) || actor.contains(char::is_control) {
        let problem = format!("{} is no name of 1 to {ACTOR_MAX} characters", shown(actor));
        return Err(Error::invalid("actor", problem));
    }
    Ok(actor)
}

/// Events of a newer version that are not known here are passed over.
fn decode(item: &Item) -> Option<Event> {
    Some(Event {
        id: item.s("SK")?.strip_prefix(keys::AUDIT_PREFIX)?.to_owned(),
        at_ms: item.i64(AT)?,
        action: Act::parse(item.s(ACTION)?)?,
        subject: item.s(SUBJECT)?.to_owned(),
        actor: item.s(ACTOR)?.to_owned(),
        detail: item.s(DETAIL).map(str::to_owned),
    })
}
