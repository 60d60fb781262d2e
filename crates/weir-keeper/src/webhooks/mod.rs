//! Signed webhook notices: of every quota threshold and of the end of all quotas once a day, and of every fallback.
//!
//! 1. An event is queued in one transaction: a marker that the event was notified, if absent, the org's next sequence number, and
//!    for each subscribed webhook a record with the signed body and an entry in its queue. Notices of a fallback are part of the
//!    transaction that records the fallback.
//! 2. A sender claims the next notice of a queue by moving the queue's due time ahead, so that only one sender has each queue.
//! 3. It posts the signed body and reports the outcome. A failed notice is retried with exponential backoff, a bounded
//!    number of times, and the notices behind it wait: a webhook gets its notices in the order of their numbers.
//!
//! Delivery is at least once: when a sender dies between sending and reporting, the same notice arrives again.

mod address;
mod deliveries;
mod delivery;
mod event;
mod failing;
mod notice;
mod queue;
mod record;
mod registry;
mod signature;
mod webhook;

pub use self::address::AddressPolicy;
pub use self::delivery::{ClaimedDeliveries, Delivery, DeliveryOutcome};
pub use self::event::WebhookEvent;
pub(crate) use self::notice::NotifiedCache;
pub use self::record::{DeliveryAttempt, DeliveryRecord, DeliveryStatus};
pub(crate) use self::registry::WebhookCache;
pub use self::registry::WebhookPut;
pub use self::signature::{SIGNATURE_HEADER, WebhookSecret};
pub use self::webhook::{PutWebhook, Webhook};

/// Percentages of a quota that are notified when spend reaches them.
pub const THRESHOLDS_PCT: [u8; 4] = [50, 80, 95, 100];
