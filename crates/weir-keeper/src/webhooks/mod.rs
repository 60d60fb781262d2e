//! Signed webhook notifications: of every quota threshold once a day, and of every fallback.
//!
//! 1. An event is queued in one transaction: a marker that the event was notified, if absent, and one delivery per subscribed
//!    webhook. Deliveries of a fallback are part of the transaction that records the fallback.
//! 2. A sender claims due deliveries by moving their due time ahead, so that only one sender has each.
//! 3. It posts the signed body and reports the outcome. A failed delivery is retried with exponential backoff, a bounded
//!    number of times.
//!
//! Delivery is at least once: when a sender dies between sending and reporting, the same delivery id arrives again.

mod delivery;
mod event;
mod registry;
mod signature;
mod webhook;

pub(crate) use self::delivery::NotifiedCache;
pub use self::delivery::{ClaimedDeliveries, Delivery};
pub use self::event::WebhookEvent;
pub(crate) use self::registry::WebhookCache;
pub use self::registry::WebhookPut;
pub use self::signature::{SIGNATURE_HEADER, WebhookSecret};
pub use self::webhook::{PutWebhook, Webhook};

/// Percentages of a quota that are notified when spend reaches them.
pub const THRESHOLDS_PCT: [u8; 4] = [50, 80, 95, 100];
