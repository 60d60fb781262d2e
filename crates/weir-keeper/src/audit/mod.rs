//! Who changed what of an org, and when. An event is written with what it tells of, in one transaction, and kept for 90 days.

use serde::{Deserialize, Serialize};
use weir_table::expr::attr;
use weir_table::{Backend, Item, Query, Write, event_ids};

use crate::bounds::{ACTOR_MAX, AUDIT_KEPT_DAYS, AUDIT_READS_MAX, PAGE_MAX};
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

macro_rules! acts {
    ($($(#[$doc:meta])* $act:ident = $text:literal,)*) => {
        /// What was done.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
        let id = EventId::new(self.inner.event_ids.next(now_ms))?;
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

    /// Events of an org and its apps, or of one app, the newest first. A page can be short, or even empty, while there is
    /// more: events of others were read and passed over.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn audit(&self, filter: &Filter) -> Result<Page<Event>> {
        let Some((first, last)) = event_ids::bounds(filter.from_ms, filter.to_ms) else {
            return Ok(Page { items: Vec::new(), cursor: None });
        };
        let partition = keys::org_partition(filter.of.org());
        let mut query = Query::partition(self.tables().config.clone(), partition)
            .between(keys::audit_sort(&first), keys::audit_sort(&last))
            .reverse();
        if let Scope::App(..) = filter.of {
            query = query.filter(attr(SUBJECT).eq(filter.of.client_id()));
        }
        let wanted = filter.limit.clamp(1, PAGE_MAX);
        let mut found = Page { items: Vec::new(), cursor: filter.cursor.clone() };
        for _ in 0..AUDIT_READS_MAX {
            let had = u32::try_from(found.items.len()).unwrap_or(wanted);
            let query = query.clone();
            let page =
                self.store().page(query, wanted.saturating_sub(had), found.cursor.take()).await?;
            found.items.extend(page.items.iter().filter_map(|item| decode(item, self.now_ms())));
            found.cursor = page.cursor;
            if found.cursor.is_none() || found.items.len() >= wanted as usize {
                break;
            }
        }
        Ok(found)
    }
}

/// Which events.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Of an org with all its apps, or of one app.
    pub of: Scope,
    /// Not before, in milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// Before.
    pub to_ms: Option<i64>,
    /// How many at most.
    pub limit: u32,
    /// Where to go on.
    pub cursor: Option<String>,
}

impl Filter {
    /// The newest events, as many as a page holds.
    #[must_use]
    pub fn of(of: Scope) -> Filter {
        Filter { of, from_ms: None, to_ms: None, limit: PAGE_MAX, cursor: None }
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

/// Events that have expired are passed over, and those of a newer version that are not known here.
fn decode(item: &Item, now_ms: i64) -> Option<Event> {
    let is_kept = item.i64(TTL).is_none_or(|until| until > now_ms.div_euclid(1000));
    is_kept.then_some(())?;
    Some(Event {
        id: item.s("SK")?.strip_prefix(keys::AUDIT_PREFIX)?.to_owned(),
        at_ms: item.i64(AT)?,
        action: Act::parse(item.s(ACTION)?)?,
        subject: item.s(SUBJECT)?.to_owned(),
        actor: item.s(ACTOR)?.to_owned(),
        detail: item.s(DETAIL).map(str::to_owned),
    })
}
