//! Events that webhooks are notified of, and the JSON body of the notification.

use serde_json::{Map, Value as Json, json};
use weir_calendar::rfc3339;
use weir_table::Key;

use super::webhook::Webhook;
use crate::day::OrgDay;
use crate::decide::{ChainEntry, StickyState};
use crate::ids::{Label, Scope};
use crate::keys;
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
    /// No model of the chain is open until the next local midnight.
    AllExceeded {
        /// The org or app.
        scope: Scope,
        /// The day.
        day: OrgDay,
        /// The chain with its spend and quotas.
        chain: Vec<ChainEntry>,
        /// The next local midnight, in milliseconds since 1970.
        until_ms: i64,
    },
}

impl WebhookEvent {
    /// The org or app.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        let (WebhookEvent::Threshold { scope, .. }
        | WebhookEvent::Fallback { scope, .. }
        | WebhookEvent::AllExceeded { scope, .. }) = self;
        scope
    }

    /// The type of the notice.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            WebhookEvent::Threshold { .. } => "quota.threshold",
            WebhookEvent::Fallback { .. } => "model.fallback",
            WebhookEvent::AllExceeded { .. } => "quota.all_exceeded",
        }
    }

    /// Key of the marker that the event was notified, if it is notified once a day.
    pub(super) fn marker(&self) -> Option<Key> {
        match self {
            WebhookEvent::Threshold { scope, day, threshold_pct, entry } => {
                Some(keys::notified_marker(scope, *day, &entry.label, *threshold_pct))
            }
            WebhookEvent::AllExceeded { scope, day, .. } => {
                Some(keys::all_exceeded_marker(scope, *day))
            }
            WebhookEvent::Fallback { .. } => None,
        }
    }

    /// Whether a webhook subscribes to this event.
    pub(super) fn is_for(&self, webhook: &Webhook) -> bool {
        match self {
            WebhookEvent::Threshold { threshold_pct, .. } => {
                webhook.thresholds_pct.contains(threshold_pct)
            }
            WebhookEvent::Fallback { .. } => webhook.flips,
            WebhookEvent::AllExceeded { .. } => webhook.all_exceeded,
        }
    }

    /// The JSON body of the notification.
    pub(super) fn body(&self, id: &str, sequence: u64, now_ms: i64) -> String {
        let mut body = Map::new();
        let (day, fields) = match self {
            WebhookEvent::Threshold { day, threshold_pct, entry, .. } => (
                day,
                json!({
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
                    "model_label": sticky.label,
                    "previous_model_label": sticky.previous.as_ref().map(Label::as_str),
                    "reason": sticky.reason.as_str(),
                }),
            ),
            WebhookEvent::AllExceeded { day, chain, until_ms, .. } => (
                day,
                json!({
                    "models": chain.iter().map(spend).collect::<Vec<_>>(),
                    "until": rfc3339(*until_ms),
                }),
            ),
        };
        body.insert("id".into(), json!(id));
        body.insert("sequence".into(), json!(sequence));
        body.insert("type".into(), json!(self.kind()));
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

/// A model with its spend and quota.
fn spend(entry: &ChainEntry) -> Json {
    json!({
        "model_label": entry.label,
        "spend_usd_micros": entry.spend,
        "quota_usd_micros": entry.quota,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::OrgId;
    use crate::money::MicroUsd;

    fn body(event: &WebhookEvent) -> Json {
        serde_json::from_str(&event.body("n-1", 7, 1_769_176_800_000)).unwrap()
    }

    #[test]
    fn the_body_of_a_notice_is_stable() {
        let scope = Scope::Org(OrgId::new("550e8400-e29b-41d4-a716-446655440000").unwrap());
        let day = OrgDay::new(2026, 1, 23).unwrap();
        let entry = ChainEntry {
            label: Label::new("premium").unwrap(),
            spend: MicroUsd(85),
            quota: MicroUsd(100),
        };
        let threshold = WebhookEvent::Threshold {
            scope: scope.clone(),
            day,
            threshold_pct: 80,
            entry: entry.clone(),
        };
        assert_eq!(
            body(&threshold),
            json!({
                "id": "n-1", "sequence": 7, "type": "quota.threshold",
                "created_at": "2026-01-23T14:00:00Z",
                "org_id": "550e8400-e29b-41d4-a716-446655440000", "app_id": null,
                "org_day": "2026-01-23", "model_label": "premium", "threshold_pct": 80,
                "spend_usd_micros": 85, "quota_usd_micros": 100, "quota_pct": 85.0,
            })
        );
        let until_ms = 1_769_230_800_000;
        let closed = WebhookEvent::AllExceeded { scope, day, chain: vec![entry], until_ms };
        assert_eq!(
            body(&closed),
            json!({
                "id": "n-1", "sequence": 7, "type": "quota.all_exceeded",
                "created_at": "2026-01-23T14:00:00Z",
                "org_id": "550e8400-e29b-41d4-a716-446655440000", "app_id": null,
                "org_day": "2026-01-23", "until": "2026-01-24T05:00:00Z",
                "models": [
                    {"model_label": "premium", "spend_usd_micros": 85, "quota_usd_micros": 100}
                ],
            })
        );
    }
}
