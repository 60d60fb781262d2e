//! Sends the notices of each webhook in order, by any number of senders: claims the next one of a queue, and records the outcome.

use weir_table::expr::{Update, attr};
use weir_table::{Backend, Item, Query, SortRange, Write};

use super::queue::{DUE, DeliveryQueue};
use super::record::{
    DeliveryAttempt, DeliveryRecord, DeliveryStatus, record_attempt, record_given_up, update_record,
};
use super::signature::WebhookSecret;
use super::webhook::Webhook;
use crate::bounds::{
    DELIVERIES_AT_ONCE, DELIVERY_BACKOFF_BASE_MS, DELIVERY_BACKOFF_MAX_MS, DELIVERY_LEASE_MS,
    DELIVERY_TRIES_MAX, QUEUE_PAGES_MAX, QUEUES_PER_PAGE, TRIES_MAX,
};
use crate::error::{Error, Result};
use crate::ids::{OrgId, TokenId, WebhookId};
use crate::keeper::Keeper;
use crate::keys;
use crate::retry::pause;

/// A claimed notice, to be sent now by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Id of the notice; a repeated id is the same notice.
    pub id: TokenId,
    /// Sequence of the notice in its org.
    pub sequence: u64,
    /// The org.
    pub org: OrgId,
    /// The webhook.
    pub webhook: WebhookId,
    /// URL to post to.
    pub url: String,
    /// The JSON body.
    pub body: String,
    /// The value of [`super::SIGNATURE_HEADER`].
    pub signature: String,
    /// Number of attempts, this one included.
    pub attempt: u32,
    /// The queue as the caller claimed it; none for a replay.
    pub(super) queue: Option<DeliveryQueue>,
}

impl Delivery {
    /// Whether an operator requested to send the notice again.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.queue.is_none()
    }
}

/// Notices claimed by a sender.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimedDeliveries {
    /// The notices to send, at most one of each webhook.
    pub deliveries: Vec<Delivery>,
    /// Whether more may be due.
    pub more: bool,
}

/// The next step after an attempt to send a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// It was delivered, and its queue goes on.
    Delivered,
    /// It is sent again at this time, in milliseconds since 1970; the notices behind it wait.
    Retry(i64),
    /// The keeper gave up on it, and its queue goes on.
    GivenUp,
}

impl<B: Backend> Keeper<B> {
    /// Claims at most `limit` due notices for the caller to send, the next one of each webhook. No other sender gets one of these
    /// webhooks for [`DELIVERY_LEASE_MS`]; then the notice is due again, unless the caller reports the outcome.
    ///
    /// # Errors
    /// The store fails; claimed notices are due again when their lease ends.
    pub async fn claim_deliveries(&self, limit: u32) -> Result<ClaimedDeliveries> {
        let now_ms = self.now_ms();
        let limit = limit.clamp(1, DELIVERIES_AT_ONCE) as usize;
        let mut claimed = ClaimedDeliveries::default();
        let query = Query::partition(self.tables().sticky_state.clone(), keys::DELIVERIES);
        let mut query = query.filter(attr(DUE).le(now_ms)).limit(QUEUES_PER_PAGE);
        for _ in 0..QUEUE_PAGES_MAX {
            let page = self.store().query(&query).await?;
            for item in &page.items {
                match DeliveryQueue::decode(item) {
                    Some(queue) => self.claim(queue, now_ms, &mut claimed).await?,
                    None => self.drop_queue(item).await?,
                }
                if claimed.deliveries.len() >= limit {
                    return Ok(ClaimedDeliveries { more: true, ..claimed });
                }
            }
            let Some(cursor) = page.cursor else { return Ok(claimed) };
            query = query.after(cursor);
        }
        Ok(ClaimedDeliveries { more: true, ..claimed })
    }

    /// Claims the next notice of a queue, unless another sender was faster or there is nothing to send.
    async fn claim(
        &self,
        mut queue: DeliveryQueue,
        now_ms: i64,
        claimed: &mut ClaimedDeliveries,
    ) -> Result<()> {
        let table = &self.tables().sticky_state;
        let webhook = match self.webhook(&queue.org, &queue.webhook).await {
            Ok(webhook) => webhook,
            Err(Error::NotFound { .. }) => {
                self.write(queue.delete(table.clone())).await?;
                return Ok(());
            }
            // It must not keep the notices of all other webhooks waiting.
            Err(error @ Error::Damaged { .. }) => {
                tracing::warn!(org.id = queue.org.as_str(), %error, "skipped a webhook");
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let until_ms = now_ms.saturating_add(DELIVERY_LEASE_MS);
        if !self.store().try_write(queue.lease(table.clone(), until_ms)).await? {
            return Ok(());
        }
        (queue.due_ms, queue.tries) = (until_ms, queue.tries.saturating_add(1));
        let record = self.delivery_record(&queue.org, &queue.webhook, queue.next).await?;
        let record = record.filter(|record| record.status == DeliveryStatus::Queued);
        let given_up = match &record {
            Some(record) if record.is_expired(now_ms) => Some("it was not delivered in time"),
            Some(_) if queue.tries > DELIVERY_TRIES_MAX => Some("the last attempt did not end"),
            Some(record) => {
                let org = queue.org.clone();
                let attempt = queue.tries;
                let delivery = self.signed(&org, &webhook, record, attempt, now_ms)?;
                claimed.deliveries.push(Delivery { queue: Some(queue), ..delivery });
                return Ok(());
            }
            // A replay has delivered it.
            None => None,
        };
        if given_up.is_some() {
            self.inner.metrics.notification_abandoned();
        }
        claimed.more = true;
        self.advance(queue, given_up.map(record_given_up), now_ms).await
    }

    /// A notice, signed now.
    pub(super) fn signed(
        &self,
        org: &OrgId,
        webhook: &Webhook,
        record: &DeliveryRecord,
        attempt: u32,
        now_ms: i64,
    ) -> Result<Delivery> {
        let secret = WebhookSecret::derive(self.store(), org, webhook)?;
        Ok(Delivery {
            id: record.notice_id.clone(),
            sequence: record.sequence,
            org: org.clone(),
            webhook: webhook.id.clone(),
            url: webhook.url.clone(),
            signature: secret.sign(&record.body, now_ms)?,
            body: record.body.clone(),
            attempt,
            queue: None,
        })
    }

    /// Reports how the attempt to send a claimed notice ended.
    ///
    /// # Errors
    /// The store fails; the notice may be sent again.
    pub async fn record_delivery(
        &self,
        delivery: &Delivery,
        attempt: &DeliveryAttempt,
    ) -> Result<DeliveryOutcome> {
        let now_ms = self.now_ms();
        let Some(queue) = delivery.queue.clone() else {
            self.record_replay(delivery, attempt).await?;
            return Ok(if attempt.is_delivered() {
                DeliveryOutcome::Delivered
            } else {
                DeliveryOutcome::GivenUp
            });
        };
        if attempt.is_delivered() {
            let record = record_attempt(attempt, Some(DeliveryStatus::Delivered), now_ms);
            self.advance(queue, Some(record), now_ms).await?;
            return Ok(DeliveryOutcome::Delivered);
        }
        if queue.tries >= DELIVERY_TRIES_MAX {
            self.inner.metrics.notification_abandoned();
            let record = record_attempt(attempt, Some(DeliveryStatus::Failed), now_ms);
            self.advance(queue, Some(record), now_ms).await?;
            return Ok(DeliveryOutcome::GivenUp);
        }
        let due_ms = now_ms.saturating_add(backoff_ms(queue.tries));
        let record = self.record_update(&queue, record_attempt(attempt, None, now_ms));
        let retry = queue.retry(self.tables().sticky_state.clone(), due_ms);
        // Refused when the lease has ended: another sender has the notice.
        self.transact(vec![record, retry]).await?;
        Ok(DeliveryOutcome::Retry(due_ms))
    }

    /// Goes on to the notice after the claimed one, and updates the record of that. Does nothing when the lease has ended.
    async fn advance(
        &self,
        mut queue: DeliveryQueue,
        record: Option<Update>,
        now_ms: i64,
    ) -> Result<()> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let next = self.sequence_after(&queue).await?;
            let step = queue.advance(self.tables().sticky_state.clone(), next, now_ms);
            let record = record.clone().map(|update| self.record_update(&queue, update));
            let writes = record.into_iter().chain([step]).collect();
            if self.transact(writes).await?.is_applied() {
                return Ok(());
            }
            // Either another notice was queued just now, or the lease has ended.
            match self.delivery_queue(&queue.org, &queue.webhook).await? {
                Some(found) if found.due_ms == queue.due_ms && found.next == queue.next => {
                    queue = found;
                }
                _ => return Ok(()),
            }
        }
        Err(Error::Contended)
    }

    /// Sequence of the notice after the next one of a queue.
    async fn sequence_after(&self, queue: &DeliveryQueue) -> Result<Option<u64>> {
        if queue.last <= queue.next {
            return Ok(None);
        }
        let partition = keys::deliveries_partition(&queue.org, &queue.webhook);
        let after = SortRange::Gt(keys::delivery_sort(queue.next).into());
        let query = Query::partition(self.tables().sticky_state.clone(), partition);
        let page = self.store().query(&query.sort(after).limit(1)).await?;
        Ok(page.items.first().and_then(|item| item.s("SK")?.parse().ok()))
    }

    fn record_update(&self, queue: &DeliveryQueue, update: Update) -> Write {
        let table = self.tables().sticky_state.clone();
        update_record(table, &queue.org, &queue.webhook, queue.next, update)
    }

    /// Removes a queue of a format that this version does not know.
    async fn drop_queue(&self, item: &Item) -> Result<()> {
        tracing::warn!(key = item.s("SK"), "dropped a delivery queue that cannot be decoded");
        if let Some(key) = keys::item_key(item) {
            self.write(Write::delete(self.tables().sticky_state.clone(), key)).await?;
        }
        Ok(())
    }
}

/// Backoff after this many attempts: it triples each time.
fn backoff_ms(tries: u32) -> i64 {
    let factor = 3_i64.saturating_pow(tries.saturating_sub(1));
    DELIVERY_BACKOFF_BASE_MS.saturating_mul(factor).min(DELIVERY_BACKOFF_MAX_MS)
}
