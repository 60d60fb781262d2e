//! Security events as items of the store.

use weir_table::audit::{EventRange, expiry};
use weir_table::retry::Listed;
use weir_table::{AnyBackend, Item, Query, Result, Store, Write};

use super::{Action, RETENTION_DAYS, keys};

const AT: &str = "at_ms";
const ACTION: &str = "action";
const ACTOR: &str = "actor";
const CLIENT: &str = "client_address";
const TARGET: &str = "target";
const DETAIL: &str = "detail";
const REQUEST_ID: &str = "request_id";

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// The id: a ULID, so ids are ordered by time.
    pub(crate) id: String,
    /// Time of the event in milliseconds since 1970.
    pub(crate) at_ms: i64,
    pub(crate) action: Action,
    /// Subject of the caller; none if nobody was authenticated.
    pub(crate) actor: Option<String>,
    /// Address of the caller; none through the socket of the data folder.
    pub(crate) client_address: Option<String>,
    /// The client, the token or the key that the event is about, by its id.
    pub(crate) target: Option<String>,
    /// Further details, such as the reason of a refusal.
    pub(crate) detail: Option<String>,
    pub(crate) request_id: String,
}

impl Event {
    fn to_item(&self) -> Item {
        let item = keys::event_item(&self.id)
            .with(AT, self.at_ms)
            .with(ACTION, self.action.as_str())
            .with(REQUEST_ID, self.request_id.as_str())
            .with(keys::EXPIRES, expiry(self.at_ms, RETENTION_DAYS));
        let optional = [
            (ACTOR, &self.actor),
            (CLIENT, &self.client_address),
            (TARGET, &self.target),
            (DETAIL, &self.detail),
        ];
        let set = optional.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        set.fold(item, |item, (name, value)| item.with(name, value.as_str()))
    }

    fn from_item(item: &Item) -> Option<Event> {
        let text = |name| item.s(name).map(str::to_owned);
        Some(Event {
            id: text(keys::SK)?,
            at_ms: item.i64(AT)?,
            action: Action::parse(item.s(ACTION)?)?,
            actor: text(ACTOR),
            client_address: text(CLIENT),
            target: text(TARGET),
            detail: text(DETAIL),
            request_id: text(REQUEST_ID)?,
        })
    }
}

/// Stores an event. A nearly full disk accepts it, as the revocations and deletions that it is about.
pub(super) async fn put(store: &Store<AnyBackend>, event: &Event) -> Result<()> {
    store.write(Write::put(keys::SECURITY_LOG, event.to_item()).essential()).await?;
    Ok(())
}

/// Events of a range, as [`Store::events`] lists them.
pub(crate) async fn list(
    store: &Store<AnyBackend>,
    range: &EventRange,
    now_ms: i64,
) -> Result<Listed<Event>> {
    let query = Query::partition(keys::SECURITY_LOG, keys::EVENT);
    store.events(query, str::to_owned, range, now_ms, Event::from_item).await
}
