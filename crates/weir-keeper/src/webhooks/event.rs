//! Events that webhooks are notified of, and the JSON body of the notification.

use serde_json::{Map, Value as Json, json};

use super::webhook::Webhook;
use crate::day::{OrgDay, rfc3339};
use crate::decide::{ChainEntry, StickyState};
use crate::ids::{Label, Scope};
use crate::money::Percent;

/// An event that webhooks are notified of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookEvent {
    /// Spend reached a threshold of a quota.
    Threshold {
        /// The org or app.
        scope: Scope,
        /// The day.
        day: OrgDay,
        /// The threshold, in percent.
        threshold_pct: u8,
        /// The model with its spend and quota.
        entry: ChainEntry,
    },
    /// A scope fell back to another model, or an administrator set one.
    Fallback {
        /// The org or app.
        scope: Scope,
        /// The day.
        day: OrgDay,
        /// The new state.
        sticky: StickyState,
    },
}

impl WebhookEvent {
    /// The org or app.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        let (WebhookEvent::Threshold { scope, .. } | WebhookEvent::Fallback { scope, .. }) = self;
        scope
    }

    /// Whether a webhook subscribes to this event.
    pub(super) fn is_for(&self, webhook: &Webhook) -> bool {
        match self {
            WebhookEvent::Threshold { threshold_pct, .. } => {
                webhook.thresholds_pct.contains(threshold_pct)
            }
            WebhookEvent::Fallback { .. } => webhook.flips,
        }
    }

    /// The JSON body of the notification.
    pub(super) fn body(&self, id: &str, now_ms: i64) -> String {
        let mut body = Map::new();
        let (day, fields) = match self {
            WebhookEvent::Threshold { day, threshold_pct, entry, .. } => (
                day,
                json!({
                    "type": "quota.threshold",
                    "model_label": entry.label,
                    "threshold_pct": threshold_pct,
                    "spend_usd_micros": entry.spend,
                    "quota_usd_micros": entry.quota,
                    "quota_pct": Percent::of(entry.spend, entry.quota),
                }),
            ),
            WebhookEvent::Fallback { day, sticky, .. } => (
                day,
                json!({
                    "type": "model.fallback",
                    "model_label": sticky.label,
                    "previous_model_label": sticky.previous.as_ref().map(Label::as_str),
                    "reason": sticky.reason.as_str(),
                }),
            ),
        };
        body.insert("id".into(), json!(id));
        body.insert("org_id".into(), json!(self.scope().org()));
        body.insert("app_id".into(), json!(self.scope().app()));
        body.insert("org_day".into(), json!(day));
        body.insert("created_at".into(), json!(rfc3339(now_ms)));
        if let Json::Object(fields) = fields {
            body.extend(fields);
        }
        Json::Object(body).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::OrgId;
    use crate::money::MicroUsd;

    #[test]
    fn the_body_of_a_notification_is_stable() {
        let org = OrgId::new("550e8400-e29b-41d4-a716-446655440000").unwrap();
        let event = WebhookEvent::Threshold {
            scope: Scope::Org(org),
            day: OrgDay::new(2026, 1, 23).unwrap(),
            threshold_pct: 80,
            entry: ChainEntry {
                label: Label::new("premium").unwrap(),
                spend: MicroUsd(85),
                quota: MicroUsd(100),
            },
        };
        let body: Json = serde_json::from_str(&event.body("n-1", 1_769_176_800_000)).unwrap();
        assert_eq!(
            body,
            json!({
                "id": "n-1", "type": "quota.threshold", "created_at": "2026-01-23T14:00:00Z",
                "org_id": "550e8400-e29b-41d4-a716-446655440000", "app_id": null,
                "org_day": "2026-01-23", "model_label": "premium", "threshold_pct": 80,
                "spend_usd_micros": 85, "quota_usd_micros": 100, "quota_pct": 85.0,
            })
        );
    }
}
