//! Budgets of the present day.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use weir_api::keeper as wire;
use weir_framework::time::time;
use weir_keeper::today::{ModelToday, OrgToday};

use super::quota_scope;
use super::runtime::{percent, quota_state};

/// The budget of an org; `org.days` has the days of its series.
pub(crate) fn budget(org: OrgToday) -> wire::Budget {
    wire::Budget {
        org_id: org.config.org_id.to_string(),
        org_name: org.config.org_name,
        day: org.day.to_string(),
        timezone: org.config.timezone.name().to_owned(),
        quota_scope: quota_scope(org.config.quota_scope),
        spent_usd_micros: org.totals.cost.0,
        quota_usd_micros: org.quota.0,
        used_pct: percent(org.used),
        requests: org.totals.requests,
        current_model: org.current.map(|label| label.to_string()),
        status: quota_state(org.status),
        sticky_fallback_active: org.sticky_fallback_active,
        projected_exhaustion_at: org.exhausted_at_ms.map(time),
        models: org.models.iter().map(model).collect(),
        last_14_days: org.days.iter().map(|spend| spend.0).collect(),
    }
}

fn model(model: &ModelToday) -> wire::ModelBudget {
    wire::ModelBudget {
        label: model.label.to_string(),
        spent_usd_micros: model.counters.cost.0,
        quota_usd_micros: model.quota.0,
        requests: model.counters.requests,
    }
}

/// The models of many orgs added up by label, the highest spend first.
pub(crate) fn model_budgets<'a>(
    orgs: impl Iterator<Item = &'a OrgToday>,
) -> Vec<wire::ModelBudget> {
    let mut sums: BTreeMap<String, wire::ModelBudget> = BTreeMap::new();
    for one in orgs.flat_map(|org| &org.models).map(model) {
        let Some(sum) = sums.get_mut(&one.label) else {
            sums.insert(one.label.clone(), one);
            continue;
        };
        sum.spent_usd_micros = sum.spent_usd_micros.saturating_add(one.spent_usd_micros);
        sum.quota_usd_micros = sum.quota_usd_micros.saturating_add(one.quota_usd_micros);
        sum.requests = sum.requests.saturating_add(one.requests);
    }
    let mut models: Vec<wire::ModelBudget> = sums.into_values().collect();
    models.sort_by_key(|model| Reverse(model.spent_usd_micros));
    models
}
