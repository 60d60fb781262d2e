//! The last notices to a webhook: lists them, and sends one again.

use weir_table::expr::attr;
use weir_table::retry::Listed;
use weir_table::{Backend, Get, Query};

use super::delivery::Delivery;
use super::queue::DeliveryQueue;
use super::record::{
    DeliveryAttempt, DeliveryRecord, DeliveryStatus, record_attempt, update_record,
};
use crate::audit::AuditAction;
use crate::error::{Error, Result};
use crate::ids::{OrgId, WebhookId};
use crate::keeper::Keeper;
use crate::keys;
use crate::table::TTL;

impl<B: Backend> Keeper<B> {
    /// The last notices to a webhook, newest first, paginated.
    ///
    /// # Errors
    /// The webhook does not exist, the cursor is not of this list, or the store fails.
    pub async fn list_deliveries(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Listed<DeliveryRecord>> {
        self.webhook(org, webhook).await?;
        let queue = self.delivery_queue(org, webhook).await?;
        let table = self.tables().sticky_state.clone();
        let query = Query::partition(table, keys::deliveries_partition(org, webhook));
        let is_kept = attr(TTL).gt(self.now_ms().div_euclid(1000));
        let page = self.store().page(query.filter(is_kept).reverse(), limit, cursor).await?;
        let decode = |item: &_| DeliveryRecord::decode(item).map(|record| in_queue(record, &queue));
        Ok(page.listed(decode))
    }

    /// Prepares to send a notice again, with the same body and sequence, and records that in the audit log. The caller sends it
    /// and reports the outcome with [`Keeper::record_replay`].
    ///
    /// # Errors
    /// The webhook or the notice does not exist, or the store fails.
    pub async fn replay_delivery(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        sequence: u64,
        actor: &str,
    ) -> Result<Delivery> {
        let webhook = self.webhook(org, webhook).await?;
        let record = self.delivery_record(org, &webhook.id, sequence).await?;
        let record = record.ok_or_else(|| missing(sequence))?;
        let detail = format!("{}: {sequence}", webhook.id);
        let action = AuditAction::DeliveryReplayed;
        let audit = self.audit_webhook(org, detail, action, actor)?;
        self.commit(vec![audit]).await?;
        self.signed(org, &webhook, &record, record.attempts.saturating_add(1), self.now_ms())
    }

    /// Reports how the attempt to send a notice again ended. Returns the record as it is then.
    ///
    /// # Errors
    /// The record has expired, or the store fails.
    pub async fn record_replay(
        &self,
        delivery: &Delivery,
        attempt: &DeliveryAttempt,
    ) -> Result<DeliveryRecord> {
        let now_ms = self.now_ms();
        let (org, webhook, sequence) = (&delivery.org, &delivery.webhook, delivery.sequence);
        let table = &self.tables().sticky_state;
        let status = attempt.is_delivered().then_some(DeliveryStatus::Delivered);
        let update = record_attempt(attempt, status, now_ms);
        let update = update_record(table.clone(), org, webhook, sequence, update);
        let written = self.write(update).await?;
        let record = written.item().filter(|_| written.is_applied());
        let record = record.and_then(DeliveryRecord::decode).ok_or_else(|| missing(sequence))?;
        let mut queue = self.delivery_queue(org, webhook).await?;
        // The queue waits no longer for a notice that has arrived.
        if attempt.is_delivered()
            && let Some(queue) = queue.as_mut().filter(|queue| queue.next == sequence)
        {
            self.write(queue.wake(table.clone(), now_ms)).await?;
        }
        Ok(in_queue(record, &queue))
    }

    /// The record of a notice, unless it has expired.
    pub(super) async fn delivery_record(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        sequence: u64,
    ) -> Result<Option<DeliveryRecord>> {
        let table = self.tables().sticky_state.clone();
        let get = Get::new(table, keys::delivery(org, webhook, sequence));
        let now = self.now_ms().div_euclid(1000);
        let item = self.store().get(&get).await?;
        let item = item.filter(|item| item.i64(TTL).is_none_or(|until| until > now));
        Ok(item.as_ref().and_then(DeliveryRecord::decode))
    }
}

fn missing(sequence: u64) -> Error {
    Error::not_found("delivery", sequence.to_string())
}

/// The record with its place in the queue: when it is due, or that it left the queue with its webhook.
fn in_queue(record: DeliveryRecord, queue: &Option<DeliveryQueue>) -> DeliveryRecord {
    if record.status != DeliveryStatus::Queued {
        return record;
    }
    match queue {
        Some(queue) if queue.next == record.sequence => {
            DeliveryRecord { next_attempt_at_ms: Some(queue.due_ms), ..record }
        }
        Some(queue) if queue.next < record.sequence => record,
        _ => DeliveryRecord { status: DeliveryStatus::Dropped, ..record },
    }
}
