//! Security events as items of the store.

use weir_table::retry::Listed;
use weir_table::{AnyBackend, Item, Query, Result, Store, Write};

use super::keys;

/// How long an event is kept.
const KEPT_SECS: u64 = 90 * 24 * 60 * 60;

const AT: &str = "at_ms";
const ACTION: &str = "action";
const ACTOR: &str = "actor";
const CLIENT: &str = "client_address";
const TARGET: &str = "target";
const DETAIL: &str = "detail";
const REQUEST_ID: &str = "request_id";

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Id of the event.
    pub id: String,
    /// Time of the event in milliseconds since 1970.
    pub at_ms: u64,
    /// What happened: a name of [`Action`](super::Action).
    pub action: String,
    /// Subject of the caller; none if nobody was authenticated.
    pub actor: Option<String>,
    /// Address of the caller; none through the socket of the data folder.
    pub client_address: Option<String>,
    /// The client, the token or the key that the event is about, by its id.
    pub target: Option<String>,
    /// Further details, such as the reason of a refusal.
    pub detail: Option<String>,
    /// Id of the request.
    pub request_id: String,
}

impl Event {
    fn to_item(&self) -> Item {
        let item = keys::event_item(&self.id)
            .with(AT, self.at_ms)
            .with(ACTION, self.action.as_str())
            .with(REQUEST_ID, self.request_id.as_str())
            .with(keys::EXPIRES, (self.at_ms / 1000).saturating_add(KEPT_SECS));
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
            at_ms: u64::try_from(item.i64(AT)?).ok()?,
            action: text(ACTION)?,
            actor: text(ACTOR),
            client_address: text(CLIENT),
            target: text(TARGET),
            detail: text(DETAIL),
            request_id: text(REQUEST_ID)?,
        })
    }
}

/// Stores an event.
pub(super) async fn put(store: &Store<AnyBackend>, event: &Event) -> Result<()> {
    store.write(Write::put(keys::SECURITY_LOG, event.to_item())).await?;
    Ok(())
}

/// Up to `limit` events, from `cursor` on, the newest first.
pub(crate) async fn list(
    store: &Store<AnyBackend>,
    limit: u32,
    cursor: Option<&str>,
) -> Result<Listed<Event>> {
    let mut query = Query::partition(keys::SECURITY_LOG, keys::EVENT).reverse().limit(limit);
    if let Some(cursor) = cursor {
        query = query.after(cursor);
    }
    let page = store.query(&query).await?;
    let events = page.items.iter().filter_map(Event::from_item);
    Ok(Listed { items: events.collect(), cursor: page.cursor })
}
