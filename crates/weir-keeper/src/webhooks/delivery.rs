//! The delivery queue: filled once per event, drained by any number of senders.

use quick_cache::sync::Cache;
use weir_table::expr::attr;
use weir_table::{Backend, Error as Fault, Item, Query, SortRange, Transaction, Write};

use super::event::WebhookEvent;
use super::signature::WebhookSecret;
use super::webhook::Webhook;
use crate::bounds::{
    DELIVERIES_AT_ONCE, DELIVERY_BACKOFF_BASE_MS, DELIVERY_BACKOFF_MAX_MS, DELIVERY_LEASE_MS,
    DELIVERY_RETENTION_MS, DELIVERY_TRIES_MAX, NOTIFICATIONS_CACHED_MAX,
};
use crate::error::{Error, Result};
use crate::ids::{OrgId, TokenId, WebhookId};
use crate::keeper::Keeper;
use crate::keys;
use crate::table::TTL;
use weir_table::Key;

const ORG: &str = "org_id";
const WEBHOOK: &str = "webhook_id";
const BODY: &str = "body";
const TRIES: &str = "tries";

/// Markers of threshold events that this process knows to be notified.
pub(crate) struct NotifiedCache(Cache<Key, ()>);

impl NotifiedCache {
    pub(crate) fn new() -> NotifiedCache {
        NotifiedCache(Cache::new(NOTIFICATIONS_CACHED_MAX))
    }
}

/// A claimed delivery, to be sent now by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The delivery id; a repeated id is the same notification.
    pub id: TokenId,
    /// URL to post to.
    pub url: String,
    /// The JSON body.
    pub body: String,
    /// The value of [`super::SIGNATURE_HEADER`].
    pub signature: String,
    /// Number of attempts, this one included.
    pub attempt: u32,
    org: OrgId,
    webhook: WebhookId,
    due_ms: i64,
}

/// Deliveries claimed by a sender.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimedDeliveries {
    /// The deliveries to send.
    pub deliveries: Vec<Delivery>,
    /// Whether more may be due.
    pub more: bool,
}

impl<B: Backend> Keeper<B> {
    /// Queues a threshold event, unless it was queued before. Returns whether this call did.
    pub(crate) async fn notify_threshold_once(
        &self,
        event: &WebhookEvent,
        now_ms: i64,
    ) -> Result<bool> {
        let WebhookEvent::Threshold { scope, day, threshold_pct, entry } = event else {
            return Ok(false);
        };
        let marker = keys::notified_marker(scope, *day, &entry.label, *threshold_pct);
        let notified = &self.inner.notified;
        if notified.0.get(&marker).is_some() {
            return Ok(false);
        }
        let webhooks = self.cached_webhooks(scope.org(), now_ms).await?;
        let deliveries = self.delivery_writes(event, &webhooks, now_ms);
        if deliveries.is_empty() {
            return Ok(false);
        }
        let expires = now_ms.saturating_add(DELIVERY_RETENTION_MS).div_euclid(1000);
        let item = keys::item(marker.clone()).with(TTL, expires);
        let table = self.tables().sticky_state.clone();
        let mark = Write::put(table, item).when(attr("PK").absent());
        let count = deliveries.len() as u64;
        let writes: Vec<Write> = [mark].into_iter().chain(deliveries).collect();
        let is_queued = self.write_atomically(writes).await?;
        notified.0.insert(marker, ());
        if is_queued {
            self.inner.metrics.notifications_queued(count);
        }
        Ok(is_queued)
    }

    /// The writes that queue an event for every subscribed webhook.
    pub(crate) fn delivery_writes(
        &self,
        event: &WebhookEvent,
        webhooks: &[Webhook],
        now_ms: i64,
    ) -> Vec<Write> {
        let subscribed = webhooks.iter().filter(|webhook| event.is_for(webhook));
        let queue = |webhook: &Webhook| {
            let id = TokenId::new(uuid::Uuid::new_v4().to_string()).ok()?;
            let item = keys::item(keys::delivery(now_ms, &id))
                .with(ORG, event.scope().org().as_str())
                .with(WEBHOOK, webhook.id.as_str())
                .with(BODY, event.body(id.as_str(), now_ms))
                .with(TRIES, 0)
                .with(TTL, now_ms.saturating_add(DELIVERY_RETENTION_MS).div_euclid(1000));
            Some(Write::put(self.tables().sticky_state.clone(), item))
        };
        subscribed.filter_map(queue).collect()
    }

    /// Claims at most `limit` due deliveries for the caller to send. No other sender gets them for [`DELIVERY_LEASE_MS`];
    /// then they are due again, unless the caller reports the outcome.
    ///
    /// # Errors
    /// The store fails; claimed deliveries are due again when their lease ends.
    pub async fn claim_deliveries(&self, limit: u32) -> Result<ClaimedDeliveries> {
        let now_ms = self.now_ms();
        let until = SortRange::Lt(keys::delivery_due(now_ms.saturating_add(1)).into());
        let query = Query::partition(self.tables().sticky_state.clone(), keys::DELIVERIES);
        let query = query.sort(until).limit(limit.clamp(1, DELIVERIES_AT_ONCE));
        let page = self.store().query(&query).await?;
        let mut due =
            ClaimedDeliveries { more: page.cursor.is_some(), ..ClaimedDeliveries::default() };
        for item in &page.items {
            due.deliveries.extend(self.claim(item, now_ms).await?);
        }
        Ok(due)
    }

    /// Claims a delivery; `None` when another sender was faster, or its webhook is gone.
    async fn claim(&self, item: &Item, now_ms: i64) -> Result<Option<Delivery>> {
        let Some(mut delivery) = Delivery::read(item) else {
            tracing::warn!(key = item.s("SK"), "dropped a delivery that cannot be decoded");
            return self.drop_delivery(item).await.map(|()| None);
        };
        let expired = item.i64(TTL).is_some_and(|until| until <= now_ms.div_euclid(1000));
        let webhook = match self.webhook(&delivery.org, &delivery.webhook).await {
            Ok(webhook) if !expired => webhook,
            Ok(_) | Err(Error::NotFound { .. }) => {
                return self.drop_delivery(item).await.map(|()| None);
            }
            Err(error) => return Err(error),
        };
        let tries = delivery.attempt.saturating_add(1);
        let due_ms = now_ms.saturating_add(DELIVERY_LEASE_MS);
        if !self.postpone(&delivery, item, due_ms, tries).await? {
            return Ok(None);
        }
        let secret = WebhookSecret::derive(self.store(), &delivery.org, &webhook)?;
        delivery.signature = secret.sign(&delivery.body, now_ms)?;
        delivery.url = webhook.url;
        (delivery.attempt, delivery.due_ms) = (tries, due_ms);
        Ok(Some(delivery))
    }

    /// Moves a delivery to another due time. Returns false when another sender moved it first.
    async fn postpone(
        &self,
        delivery: &Delivery,
        item: &Item,
        due_ms: i64,
        tries: u32,
    ) -> Result<bool> {
        let table = self.tables().sticky_state.clone();
        let current = keys::delivery(delivery.due_ms, &delivery.id);
        let delete = Write::delete(table.clone(), current).when(attr("PK").exists());
        let mut item = item.clone();
        let key = keys::item(keys::delivery(due_ms, &delivery.id));
        item.set("SK", key.s("SK").unwrap_or_default());
        item.set(TRIES, tries);
        let put = Write::put(table, item);
        match self.store().transact(Transaction::new([delete, put])).await {
            Ok(done) => Ok(done.is_applied()),
            Err(Fault::Conflict) => Ok(false),
            Err(fault) => Err(fault.into()),
        }
    }

    async fn drop_delivery(&self, item: &Item) -> Result<()> {
        let (Some(pk), Some(sk)) = (item.s("PK"), item.s("SK")) else { return Ok(()) };
        let table = self.tables().sticky_state.clone();
        match self.store().write(Write::delete(table, Key::new(pk, sk))).await {
            Ok(_) | Err(Fault::Conflict) => Ok(()),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Reports that a delivery arrived.
    ///
    /// # Errors
    /// The store fails; the delivery may be sent again.
    pub async fn mark_delivered(&self, delivery: &Delivery) -> Result<()> {
        let key = keys::delivery(delivery.due_ms, &delivery.id);
        self.drop_delivery(&keys::item(key)).await
    }

    /// Reports that a delivery failed. Returns when it is due again; `None` after the last attempt.
    ///
    /// # Errors
    /// The store fails; the delivery is due again when its lease ends.
    pub async fn mark_failed(&self, delivery: &Delivery) -> Result<Option<i64>> {
        if delivery.attempt >= DELIVERY_TRIES_MAX {
            self.inner.metrics.notification_abandoned();
            self.mark_delivered(delivery).await?;
            return Ok(None);
        }
        let due_ms = self.now_ms().saturating_add(backoff_ms(delivery.attempt));
        let item = delivery.write(self.now_ms());
        self.postpone(delivery, &item, due_ms, delivery.attempt).await?;
        Ok(Some(due_ms))
    }
}

/// Backoff after this many attempts: it triples each time.
fn backoff_ms(tries: u32) -> i64 {
    let factor = 3_i64.saturating_pow(tries.saturating_sub(1));
    DELIVERY_BACKOFF_BASE_MS.saturating_mul(factor).min(DELIVERY_BACKOFF_MAX_MS)
}

impl Delivery {
    fn read(item: &Item) -> Option<Delivery> {
        let (due, id) = item.s("SK")?.split_once('#')?;
        Some(Delivery {
            id: TokenId::new(id).ok()?,
            url: String::new(),
            body: item.s(BODY)?.to_owned(),
            signature: String::new(),
            attempt: item.i64(TRIES)?.try_into().ok()?,
            org: OrgId::new(item.s(ORG)?).ok()?,
            webhook: WebhookId::new(item.s(WEBHOOK)?).ok()?,
            due_ms: due.parse().ok()?,
        })
    }

    fn write(&self, now_ms: i64) -> Item {
        keys::item(keys::delivery(self.due_ms, &self.id))
            .with(ORG, self.org.as_str())
            .with(WEBHOOK, self.webhook.as_str())
            .with(BODY, self.body.as_str())
            .with(TRIES, self.attempt)
            .with(TTL, now_ms.saturating_add(DELIVERY_RETENTION_MS).div_euclid(1000))
    }
}
