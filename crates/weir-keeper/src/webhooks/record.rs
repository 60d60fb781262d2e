//! The record of one notice to one webhook: its body until it is sent, and what came of it afterwards.

use weir_table::expr::{Update, add, attr, set};
use weir_table::{Item, Name, Write};

use crate::bounds::{DELIVERY_ERROR_MAX, DELIVERY_EXPIRY_MS, DELIVERY_RECORD_RETENTION_MS};
use crate::ids::{OrgId, TokenId, WebhookId};
use crate::keys;
use crate::table::TTL;

const NOTICE: &str = "notice_id";
const KIND: &str = "notice_type";
const BODY: &str = "body";
const STATUS: &str = "status";
const ATTEMPTS: &str = "attempts";
const HTTP_STATUS: &str = "http_status";
const ERROR: &str = "last_error";
const CREATED: &str = "created_at_ms";
const ATTEMPTED: &str = "last_attempt_at_ms";
const DELIVERED: &str = "delivered_at_ms";

/// The delivery status of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// It waits to be sent, for the first time or again.
    Queued,
    /// A response of 2xx arrived.
    Delivered,
    /// The keeper gave up on it.
    Failed,
    /// Its webhook was removed while it waited.
    Dropped,
}

impl DeliveryStatus {
    /// The stored and documented text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            DeliveryStatus::Queued => "queued",
            DeliveryStatus::Delivered => "delivered",
            DeliveryStatus::Failed => "failed",
            DeliveryStatus::Dropped => "dropped",
        }
    }

    fn parse(text: &str) -> Option<DeliveryStatus> {
        let all = [
            DeliveryStatus::Queued,
            DeliveryStatus::Delivered,
            DeliveryStatus::Failed,
            DeliveryStatus::Dropped,
        ];
        all.into_iter().find(|status| status.as_str() == text)
    }
}

/// A notice to a webhook, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRecord {
    /// Sequence of the notice in its org.
    pub sequence: u64,
    /// Id of the notice.
    pub notice_id: TokenId,
    /// Type of the notice.
    pub kind: String,
    /// The JSON body.
    pub body: String,
    /// The delivery status.
    pub status: DeliveryStatus,
    /// Number of attempts, replays included.
    pub attempts: u32,
    /// Status of the last response, if the last attempt got one.
    pub http_status: Option<u16>,
    /// Why the last attempt failed, if it did.
    pub last_error: Option<String>,
    /// When the notice was queued, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// When it was last sent, in milliseconds since 1970.
    pub last_attempt_at_ms: Option<i64>,
    /// When it was first delivered, in milliseconds since 1970.
    pub delivered_at_ms: Option<i64>,
    /// When it is due, in milliseconds since 1970; only of the next notice to be sent.
    pub next_attempt_at_ms: Option<i64>,
}

/// How an attempt to send a notice ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// Status of the response, if there was one.
    pub http_status: Option<u16>,
    /// Why the attempt failed; none if the notice was delivered.
    pub error: Option<String>,
}

impl DeliveryAttempt {
    /// Whether the notice was delivered.
    #[must_use]
    pub fn is_delivered(&self) -> bool {
        self.error.is_none()
    }
}

impl DeliveryRecord {
    /// A notice that waits to be sent.
    pub(super) fn queued(
        sequence: u64,
        notice_id: TokenId,
        kind: &str,
        body: String,
        now_ms: i64,
    ) -> DeliveryRecord {
        DeliveryRecord {
            sequence,
            notice_id,
            kind: kind.to_owned(),
            body,
            status: DeliveryStatus::Queued,
            attempts: 0,
            http_status: None,
            last_error: None,
            created_at_ms: now_ms,
            last_attempt_at_ms: None,
            delivered_at_ms: None,
            next_attempt_at_ms: None,
        }
    }

    /// Whether the notice is too old to be sent by itself.
    pub(super) fn is_expired(&self, now_ms: i64) -> bool {
        self.created_at_ms.saturating_add(DELIVERY_EXPIRY_MS) <= now_ms
    }

    /// The item of a new notice.
    pub(super) fn encode(&self, org: &OrgId, webhook: &WebhookId) -> Item {
        let expires = self.created_at_ms.saturating_add(DELIVERY_RECORD_RETENTION_MS);
        keys::item(keys::delivery(org, webhook, self.sequence))
            .with(NOTICE, self.notice_id.as_str())
            .with(KIND, self.kind.as_str())
            .with(BODY, self.body.as_str())
            .with(STATUS, self.status.as_str())
            .with(ATTEMPTS, self.attempts)
            .with(CREATED, self.created_at_ms)
            .with(TTL, expires.div_euclid(1000))
    }

    pub(super) fn decode(item: &Item) -> Option<DeliveryRecord> {
        Some(DeliveryRecord {
            sequence: item.s("SK")?.parse().ok()?,
            notice_id: TokenId::new(item.s(NOTICE)?).ok()?,
            kind: item.s(KIND)?.to_owned(),
            body: item.s(BODY)?.to_owned(),
            status: DeliveryStatus::parse(item.s(STATUS)?)?,
            attempts: item.i64(ATTEMPTS)?.try_into().ok()?,
            http_status: item.i64(HTTP_STATUS).and_then(|status| status.try_into().ok()),
            last_error: item.s(ERROR).map(str::to_owned),
            created_at_ms: item.i64(CREATED)?,
            last_attempt_at_ms: item.i64(ATTEMPTED),
            delivered_at_ms: item.i64(DELIVERED),
            next_attempt_at_ms: None,
        })
    }
}

/// Records an attempt, and the status that follows from it, if it changes.
pub(super) fn record_attempt(
    attempt: &DeliveryAttempt,
    status: Option<DeliveryStatus>,
    now_ms: i64,
) -> Update {
    let update = add(ATTEMPTS, 1).set(ATTEMPTED, now_ms);
    let update = match status {
        Some(status) => update.set(STATUS, status.as_str()),
        None => update,
    };
    let update = match attempt.http_status {
        Some(http_status) => update.set(HTTP_STATUS, http_status),
        None => update.remove(HTTP_STATUS),
    };
    let update = match &attempt.error {
        Some(error) => update.set(ERROR, shortened(error)),
        None => update.remove(ERROR),
    };
    match attempt.is_delivered() {
        true => update.set_if_absent(DELIVERED, now_ms),
        false => update,
    }
}

/// Records that a notice was given up without another attempt.
pub(super) fn record_given_up(reason: &str) -> Update {
    set(STATUS, DeliveryStatus::Failed.as_str()).set(ERROR, shortened(reason))
}

/// Updates a record that exists.
pub(super) fn update_record(
    table: Name,
    org: &OrgId,
    webhook: &WebhookId,
    sequence: u64,
    update: Update,
) -> Write {
    Write::update(table, keys::delivery(org, webhook, sequence), update).when(attr("PK").exists())
}

fn shortened(text: &str) -> String {
    text.chars().take(DELIVERY_ERROR_MAX).collect()
}
