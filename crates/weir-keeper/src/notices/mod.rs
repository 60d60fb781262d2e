//! Signed notices to the webhooks of an org: of every threshold once a day, and of every fallback.
//!
//! 1. Whoever finds news queues them: one transaction puts the mark that these news were told, unless it is there, and one
//!    delivery for each webhook that wants to hear of them. The news of a fallback go into the transaction of the fallback.
//! 2. A sender asks for deliveries that are due. Each is claimed by moving it on in time, so that only one sender has it.
//! 3. It sends the body with the signature, and says how that went. What failed comes again, later each time, a bounded
//!    number of times.
//!
//! A delivery may arrive twice, when a sender dies between sending and saying so; its id tells.

mod hooks;
mod news;
mod queue;
mod sign;
mod webhook;

pub(crate) use self::hooks::HookCache;
pub use self::hooks::Hooks;
pub use self::news::News;
pub(crate) use self::queue::Told;
pub use self::queue::{Delivery, DueDeliveries};
pub use self::sign::{SIGNATURE_HEADER, WebhookSecret};
pub use self::webhook::{PutWebhook, Webhook};

/// The parts of a quota, in percent, that are told of when they are spent.
pub const THRESHOLDS_PCT: [u8; 4] = [50, 80, 95, 100];
