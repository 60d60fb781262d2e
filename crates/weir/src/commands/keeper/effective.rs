//! The configuration in force for an org or an app, as people read it.

use weir_api::keeper::{ConfigResponse, EffectiveConfig, QuotaScope};
use weir_keeper::money::MicroUsd;

use super::target::TargetArgs;
use crate::commands::api_context::header;
use crate::{output, time};

/// One line for each org or app.
pub(super) fn table(all: &[EffectiveConfig]) -> std::io::Result<()> {
    let rows = all.iter().map(|one| {
        vec![
            output::printable(&one.id),
            match &one.deleted_at {
                Some(at) => {
                    format!("{} (deleted {})", output::printable(name(one)), time::relative(at))
                }
                None => output::printable(name(one)),
            },
            one.timezone.clone(),
            output::word(&one.quota_scope),
            one.model_ordering.join(" → "),
            one.config_version.to_string(),
        ]
    });
    output::table(header(["id", "name", "zone", "scope", "chain", "version"]), rows, &[5])
}

fn name(one: &EffectiveConfig) -> &str {
    one.app_name.as_deref().unwrap_or(&one.org_name)
}

/// One org or app, with its quotas in the order of the chain.
pub(super) fn show(one: &EffectiveConfig) -> std::io::Result<()> {
    let rows = one.model_ordering.iter().map(|label| {
        let quota = one.quotas.get(label).copied().unwrap_or_default();
        vec![label.clone(), MicroUsd(quota).to_string()]
    });
    output::table(header(["model", "daily quota"]), rows, &[1])?;
    output::line(format!(
        "{} ({}): days in {}, quotas for {}, version {}",
        output::printable(name(one)),
        output::printable(&one.id),
        one.timezone,
        scope(one.quota_scope),
        one.config_version
    ))?;
    if let Some(pending) = &one.pending {
        output::line(format!(
            "from {}: days in {}, quotas for {}",
            time::until(&pending.effective_at),
            pending.timezone,
            scope(pending.quota_scope)
        ))?;
    }
    let duration = if one.sticky_fallback_enabled {
        "for the rest of the day"
    } else {
        "while a quota is spent"
    };
    output::line(format!(
        "TIGHT from {} %, fallbacks {duration}, models without a price: {}",
        one.tight_mode_threshold_pct, one.unpriced
    ))?;
    output::line(format!(
        "clients select every {}, when TIGHT every {}; {} shards",
        time::secs(one.refresh_interval_normal_secs.into()),
        time::secs(one.refresh_interval_tight_secs.into()),
        one.agg_shard_count
    ))?;
    match one.inherited_fields.as_slice() {
        [] => Ok(()),
        inherited => output::line(format!("inherited from the org: {}", inherited.join(", "))),
    }
}

/// Whose spend the quotas limit.
fn scope(quota_scope: QuotaScope) -> &'static str {
    match quota_scope {
        QuotaScope::Org => "all apps together",
        QuotaScope::App => "each app",
    }
}

/// The result of an `apply`, and how a new client gets its secret.
pub(super) fn show_put(put: &ConfigResponse) -> std::io::Result<()> {
    show(&put.config)?;
    output::line(format!("{} was {}", put.config.client_id, put.status))?;
    let Some(credentials) = &put.credentials else {
        return Ok(());
    };
    let target = TargetArgs { org: put.config.org_id.clone(), app: put.config.app_id.clone() };
    let retrieval = &credentials.secret_retrieval;
    output::line(format!(
        "fetch its secret once, before {}:\n  weir keeper secret {} --token {}",
        time::until(&retrieval.expires_at),
        target.words(),
        retrieval.token
    ))
}
