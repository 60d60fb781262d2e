//! What can be told, and the words of it.

use serde_json::{Map, Value as Json, json};

use super::webhook::Webhook;
use crate::day::{OrgDay, rfc3339};
use crate::decide::{Rung, Sticky};
use crate::ids::{Label, Scope};
use crate::money::Percent;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A part of a quota is spent.
    Threshold {
        /// Whose.
        scope: Scope,
        /// On which day.
        day: OrgDay,
        /// Which part.
        threshold_pct: u8,
        /// The model, with what was spent and what may be.
        rung: Rung,
    },
    /// A chain was moved on.
    Flip {
        /// Whose.
        scope: Scope,
        /// On which day.
        day: OrgDay,
        /// To where.
        sticky: Sticky,
    },
}

impl News {
    /// Whose they are.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        let (News::Threshold { scope, .. } | News::Flip { scope, .. }) = self;
        scope
    }

    /// Whether a webhook wants to hear of them.
    pub(super) fn is_for(&self, webhook: &Webhook) -> bool {
        match self {
            News::Threshold { threshold_pct, .. } => webhook.thresholds_pct.contains(threshold_pct),
            News::Flip { .. } => webhook.flips,
        }
    }

    /// The body of the notice.
    pub(super) fn body(&self, id: &str, now_ms: i64) -> String {
        let mut body = Map::new();
        let (day, what) = match self {
            News::Threshold { day, threshold_pct, rung, .. } => (
                day,
                json!({
                    "type": "quota.threshold",
                    "model_label": rung.label,
                    "threshold_pct": threshold_pct,
                    "spend_usd_micros": rung.spend,
                    "quota_usd_micros": rung.quota,
                    "quota_pct": Percent::of(rung.spend, rung.quota),
                }),
            ),
            News::Flip { day, sticky, .. } => (
                day,
                json!({
                    "type": "model.fallback",
                    "model_label": sticky.label,
                    "previous_model_label": sticky.previous.as_ref().map(Label::as_str),
                    "reason": sticky.reason,
                }),
            ),
        };
        body.insert("id".into(), json!(id));
        body.insert("org_id".into(), json!(self.scope().org()));
        body.insert("app_id".into(), json!(self.scope().app()));
        body.insert("org_day".into(), json!(day));
        body.insert("created_at".into(), json!(rfc3339(now_ms)));
        if let Json::Object(what) = what {
            body.extend(what);
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
    fn the_words_of_a_notice_stay() {
        let org = OrgId::new("550e8400-e29b-41d4-a716-446655440000").unwrap();
        let news = News::Threshold {
            scope: Scope::Org(org),
            day: OrgDay::new(2026, 1, 23).unwrap(),
            threshold_pct: 80,
            rung: Rung {
                label: Label::new("premium").unwrap(),
                spend: MicroUsd(85),
                quota: MicroUsd(100),
            },
        };
        let body: Json = serde_json::from_str(&news.body("n-1", 1_769_176_800_000)).unwrap();
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
