//! The queue of one webhook, as stored: which notice is next, and when it is due. It exists while notices wait, so that senders
//! find the queues with work in one partition; the notices are the records beside it.

use weir_table::expr::{Condition, Update, attr, set};
use weir_table::{Backend, Get, Item, Name, Write};

use crate::error::Result;
use crate::ids::{OrgId, WebhookId};
use crate::keeper::Keeper;
use crate::keys;

const NEXT: &str = "next_sequence";
const LAST: &str = "last_sequence";
const TRIES: &str = "tries";
/// When the next notice is due, in milliseconds since 1970.
pub(super) const DUE: &str = "due_ms";

/// The queue of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeliveryQueue {
    pub(super) org: OrgId,
    pub(super) webhook: WebhookId,
    /// Sequence of the notice to send next.
    pub(super) next: u64,
    /// Sequence of the newest notice.
    pub(super) last: u64,
    /// When the next notice is due; while a sender has it, when the sender's lease ends.
    pub(super) due_ms: i64,
    /// Attempts to send the next notice.
    pub(super) tries: u32,
}

impl DeliveryQueue {
    pub(super) fn decode(item: &Item) -> Option<DeliveryQueue> {
        let (org, webhook) = keys::parse_delivery_queue(item.s("SK")?)?;
        Some(DeliveryQueue {
            org,
            webhook,
            next: item.i64(NEXT)?.try_into().ok()?,
            last: item.i64(LAST)?.try_into().ok()?,
            due_ms: item.i64(DUE)?,
            tries: item.i64(TRIES)?.try_into().ok()?,
        })
    }

    /// Adds a notice to a queue, which exists or not.
    pub(super) fn append(
        table: Name,
        org: &OrgId,
        webhook: &WebhookId,
        sequence: u64,
        now_ms: i64,
        exists: bool,
    ) -> Write {
        let key = keys::delivery_queue(org, webhook);
        if exists {
            return Write::update(table, key, set(LAST, sequence)).when(attr("PK").exists());
        }
        let item = keys::item(key)
            .with(NEXT, sequence)
            .with(LAST, sequence)
            .with(DUE, now_ms)
            .with(TRIES, 0);
        Write::put(table, item).when(attr("PK").absent())
    }

    /// The sender still has its lease, and the queue is at the same notice.
    fn is_leased(&self) -> Condition {
        attr(DUE).eq(self.due_ms).and(attr(NEXT).eq(self.next))
    }

    fn update(&self, table: Name, update: Update) -> Write {
        let key = keys::delivery_queue(&self.org, &self.webhook);
        Write::update(table, key, update).when(self.is_leased())
    }

    /// Takes the next notice for a sender, until `until_ms`.
    pub(super) fn lease(&self, table: Name, until_ms: i64) -> Write {
        self.update(table, set(DUE, until_ms).set(TRIES, self.tries.saturating_add(1)))
    }

    /// Sends the next notice again, at `due_ms`.
    pub(super) fn retry(&self, table: Name, due_ms: i64) -> Write {
        self.update(table, set(DUE, due_ms))
    }

    /// Goes on with the notice `next`, or ends the queue if there is none.
    pub(super) fn advance(&self, table: Name, next: Option<u64>, now_ms: i64) -> Write {
        match next {
            Some(next) => self.update(table, set(NEXT, next).set(TRIES, 0).set(DUE, now_ms)),
            None => {
                let is_last = self.is_leased().and(attr(LAST).eq(self.last));
                self.delete(table).when(is_last)
            }
        }
    }

    /// Removes the queue.
    pub(super) fn delete(&self, table: Name) -> Write {
        Write::delete(table, keys::delivery_queue(&self.org, &self.webhook))
    }

    /// Makes the next notice due now, whatever its backoff.
    pub(super) fn wake(&self, table: Name, now_ms: i64) -> Write {
        self.update(table, set(DUE, now_ms))
    }
}

impl<B: Backend> Keeper<B> {
    /// The queue of a webhook; none when no notice waits.
    pub(super) async fn delivery_queue(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
    ) -> Result<Option<DeliveryQueue>> {
        let table = self.tables().sticky_state.clone();
        let item = self.store().get(&Get::new(table, keys::delivery_queue(org, webhook))).await?;
        Ok(item.as_ref().and_then(DeliveryQueue::decode))
    }
}
