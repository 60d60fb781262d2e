//! What holds for an org or an app, as people read it.

use weir_keeper::money::MicroUsd;
use weir_server::keeper::configured::{Configured, PutAnswer};

use super::whose::WhoseArgs;
use crate::commands::api_context::header;
use crate::output;

/// Many, a line each.
pub(super) fn table(all: &[Configured]) -> std::io::Result<()> {
    let rows = all.iter().map(|one| {
        vec![
            output::printable(&one.id),
            output::printable(name(one)),
            one.timezone.clone(),
            one.quota_scope.clone(),
            one.model_ordering.join(" → "),
            one.config_version.to_string(),
        ]
    });
    output::table(header(["id", "name", "zone", "scope", "chain", "version"]), rows, &[5])
}

fn name(one: &Configured) -> &str {
    one.app_name.as_deref().unwrap_or(&one.org_name)
}

/// One, with its quotas in the order of the chain.
pub(super) fn show(one: &Configured) -> std::io::Result<()> {
    let rows = one.model_ordering.iter().map(|label| {
        let quota = one.quotas.get(label).copied().unwrap_or_default();
        vec![label.clone(), MicroUsd(quota).to_string()]
    });
    output::table(header(["model", "quota a day"]), rows, &[1])?;
    output::line(format!(
        "{} ({}): days of {}, quotas for {}, version {}",
        output::printable(name(one)),
        output::printable(&one.id),
        one.timezone,
        whose(&one.quota_scope),
        one.config_version
    ))?;
    if let Some(pending) = &one.pending {
        output::line(format!(
            "from {} on: days of {}, quotas for {}",
            pending.effective_at,
            pending.timezone,
            whose(&pending.quota_scope)
        ))?;
    }
    let lasting =
        if one.sticky_fallback_enabled { "last for the day" } else { "last while needed" };
    output::line(format!(
        "tight from {} %, fallbacks {lasting}, models without a price: {}",
        one.tight_mode_threshold_pct, one.unpriced
    ))?;
    output::line(format!(
        "clients ask every {} s, when tight every {} s; {} shards",
        one.refresh_interval_normal_secs, one.refresh_interval_tight_secs, one.agg_shard_count
    ))?;
    match one.inherited_fields.as_slice() {
        [] => Ok(()),
        inherited => output::line(format!("as the org: {}", inherited.join(", "))),
    }
}

/// Whose spend the quotas are for.
fn whose(quota_scope: &str) -> &'static str {
    if quota_scope == "ORG" { "all apps together" } else { "each app" }
}

/// What became of a put, and how a new client gets its secret.
pub(super) fn show_put(put: &PutAnswer) -> std::io::Result<()> {
    show(&put.config)?;
    output::line(format!("{} is {}", put.config.client_id, put.status))?;
    let Some(credentials) = &put.credentials else {
        return Ok(());
    };
    let whose = WhoseArgs { org: put.config.org_id.clone(), app: put.config.app_id.clone() };
    let retrieval = &credentials.secret_retrieval;
    output::line(format!(
        "its secret can be fetched once, until {}:\n  weir keeper secret {} --token {}",
        retrieval.expires_at,
        whose.words(),
        retrieval.token
    ))
}
