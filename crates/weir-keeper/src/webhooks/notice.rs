//! Queues notices: one for each event, with the next sequence number of its org.
//!
//! The number is taken in the transaction that queues the notice, on condition that nobody took it first. So numbers have no gaps,
//! and a notice with a higher number was queued later, whichever instance queued it.

use quick_cache::sync::Cache;
use weir_table::expr::{attr, set};
use weir_table::{
    Backend, Error as StoreError, Get, Item, Key, Transacted, Transaction, Verdict, Write,
};

use super::event::WebhookEvent;
use super::queue::DeliveryQueue;
use super::record::DeliveryRecord;
use super::webhook::Webhook;
use crate::bounds::{DELIVERY_EXPIRY_MS, NOTIFICATIONS_CACHED_MAX, TRIES_MAX};
use crate::error::{Error, Result};
use crate::ids::{OrgId, TokenId};
use crate::keeper::Keeper;
use crate::keys;
use crate::retry::pause;
use crate::table::TTL;

const SEQUENCE: &str = "sequence";

/// Markers of events that this process knows to be notified.
pub(crate) struct NotifiedCache(Cache<Key, ()>);

impl NotifiedCache {
    pub(crate) fn new() -> NotifiedCache {
        NotifiedCache(Cache::new(NOTIFICATIONS_CACHED_MAX))
    }
}

impl<B: Backend> Keeper<B> {
    /// Queues a notice of an event that is notified once a day, unless that was done before. Returns whether this call did.
    pub(crate) async fn notify_once(&self, event: &WebhookEvent, now_ms: i64) -> Result<bool> {
        let Some(marker) = event.marker() else { return Ok(false) };
        let notified = &self.inner.notified;
        if notified.0.get(&marker).is_some() {
            return Ok(false);
        }
        let webhooks = self.cached_webhooks(event.scope().org(), now_ms).await?;
        if !webhooks.iter().any(|webhook| event.is_for(webhook)) {
            return Ok(false);
        }
        let expires = now_ms.saturating_add(DELIVERY_EXPIRY_MS).div_euclid(1000);
        let item = keys::item(marker.clone()).with(TTL, expires);
        let table = self.tables().sticky_state.clone();
        let mark = Write::put(table, item).when(attr("PK").absent());
        let is_queued = self.queue_notice(event, vec![mark], now_ms).await?;
        notified.0.insert(marker, ());
        Ok(is_queued)
    }

    /// Queues a notice for every subscribed webhook, in one transaction with `writes`. Returns false when a condition of
    /// `writes` was refused; then nothing was written.
    ///
    /// # Errors
    /// Too many others queue notices of the org, or the store fails.
    pub(crate) async fn queue_notice(
        &self,
        event: &WebhookEvent,
        writes: Vec<Write>,
        now_ms: i64,
    ) -> Result<bool> {
        let webhooks = self.cached_webhooks(event.scope().org(), now_ms).await?;
        let subscribed: Vec<&Webhook> =
            webhooks.iter().filter(|webhook| event.is_for(webhook)).collect();
        if subscribed.is_empty() {
            return self.write_atomically(writes).await;
        }
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let notice = self.notice_writes(event, &subscribed, now_ms).await?;
            let all = writes.iter().cloned().chain(notice);
            match self.store().transact(Transaction::new(all)).await {
                Ok(Transacted::Applied) => {
                    self.inner.metrics.notifications_queued(subscribed.len() as u64);
                    return Ok(true);
                }
                Ok(Transacted::Refused(verdicts)) => {
                    let mut callers = verdicts.iter().take(writes.len());
                    if callers.any(|verdict| matches!(verdict, Verdict::Failed(_))) {
                        return Ok(false);
                    }
                }
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended)
    }

    /// The writes that queue a notice under the org's next sequence number.
    async fn notice_writes(
        &self,
        event: &WebhookEvent,
        webhooks: &[&Webhook],
        now_ms: i64,
    ) -> Result<Vec<Write>> {
        let org = event.scope().org();
        let table = &self.tables().sticky_state;
        let queues = webhooks.iter().map(|webhook| keys::delivery_queue(org, &webhook.id));
        let read = [keys::notice_sequence(org)].into_iter().chain(queues);
        let found = self.batch_get(read.map(|key| Get::new(table.clone(), key))).await?;
        let mut found = found.into_iter();
        let (sequence, count) = self.next_sequence(org, found.next().flatten().as_ref())?;
        let id = TokenId::new(uuid::Uuid::new_v4().to_string())?;
        let body = event.body(id.as_str(), sequence, now_ms);
        let record = DeliveryRecord::queued(sequence, id, event.kind(), body, now_ms);
        let queued = webhooks.iter().zip(found).flat_map(|(webhook, queue)| {
            let id = &webhook.id;
            let exists = queue.is_some();
            let append = DeliveryQueue::append(table.clone(), org, id, sequence, now_ms, exists);
            [append, Write::put(table.clone(), record.encode(org, id))]
        });
        Ok([count].into_iter().chain(queued).collect())
    }

    /// The next sequence number, and the write that takes it.
    fn next_sequence(&self, org: &OrgId, counter: Option<&Item>) -> Result<(u64, Write)> {
        let table = self.tables().sticky_state.clone();
        let key = keys::notice_sequence(org);
        let Some(counter) = counter else {
            let first = keys::item(key).with(SEQUENCE, 1);
            return Ok((1, Write::put(table, first).when(attr("PK").absent())));
        };
        let taken = counter.i64(SEQUENCE).and_then(|taken| u64::try_from(taken).ok());
        let next = taken.and_then(|taken| Some((taken, taken.checked_add(1)?)));
        let (taken, next) =
            next.ok_or_else(|| Error::damaged("the sequence of notices", "it is not a number"))?;
        let is_last = attr(SEQUENCE).eq(taken);
        Ok((next, Write::update(table, key, set(SEQUENCE, next)).when(is_last)))
    }
}
