//! What an operator of the demo configured in the keeper, at the beginning and in the course of the month.

use std::collections::BTreeMap;

use weir_framework::jobs::{Failure, Result};
use weir_keeper::Keeper;
use weir_keeper::config::{Overrides, PutApp, PutOrg};
use weir_keeper::ids::{AppId, Label, OrgId, Scope, WebhookId};
use weir_keeper::money::Price;
use weir_keeper::prices::PriceRow;
use weir_keeper::profiles::PutProfile;
use weir_keeper::webhooks::PutWebhook;
use weir_table::AnyBackend;

use super::keeper::FAILING_WEBHOOK;
use super::orgs::{ORGS, Org};

type Budgets = Keeper<AnyBackend>;

const OPERATOR: &str = "ruth.adeyemi";
/// Webhooks: the org, the webhook and its address. Names below `example` have no address, so nothing leaves this machine.
const WEBHOOKS: [(&str, &str, &str); 4] = [
    ("northwind-analytics", "slack", "https://hooks.northwind.example/budgets"),
    ("kitsune-games", FAILING_WEBHOOK, "https://pager.kitsune.example/weir"),
    ("banyan-bank", "risk-desk", "https://alerts.banyan.example/ai-spend"),
    ("helios-health", "ops", "https://ops.helios.example/hooks/weir"),
];
/// Inference profiles: the org, the app, the label, and the end of the ARN.
const PROFILES: [(&str, &str, &str, &str); 2] = [
    ("northwind-analytics", "insights-chat", "insights-sonnet", "insights7k2q"),
    ("redwood-legal", "contract-review", "contracts-sonnet", "contracts9x1m"),
];
const SONNET: &str = "anthropic.claude-sonnet-4-5-20250929-v1:0";

/// Creates an org with its apps, or sets its quotas to `percent` of their usual value.
pub(super) async fn put_org(keeper: &Budgets, spec: &Org, percent: i64) -> Result<()> {
    let org = OrgId::new(spec.id)?;
    let quotas = quotas(spec, percent)?;
    let put = PutOrg {
        org_name: spec.name.to_owned(),
        timezone: spec.zone.to_owned(),
        quota_scope: if spec.by_app { "APP" } else { "ORG" }.to_owned(),
        model_ordering: spec.chain.iter().map(|(label, _)| (*label).to_owned()).collect(),
        quotas,
        overrides: None,
        unpriced: None,
    };
    keeper.put_org(&org, &put, spec.admin).await?;
    for (id, name, _) in spec.apps {
        let put = PutApp { app_name: (*name).to_owned(), ..PutApp::default() };
        keeper.put_app(&org, &AppId::new(id)?, &put, spec.admin).await?;
    }
    Ok(())
}

fn quotas(spec: &Org, percent: i64) -> Result<BTreeMap<String, i64>> {
    let micros = |usd: u64| Ok::<_, Failure>(i64::try_from(usd * 10_000)? * percent);
    spec.chain.iter().map(|(label, usd)| Ok(((*label).to_owned(), micros(*usd)?))).collect()
}

pub(super) async fn put_webhooks(keeper: &Budgets) -> Result<()> {
    for (org, id, url) in WEBHOOKS {
        let put = PutWebhook { url: url.to_owned(), ..PutWebhook::default() };
        keeper.put_webhook(&OrgId::new(org)?, &WebhookId::new(id)?, &put, OPERATOR).await?;
    }
    Ok(())
}

pub(super) async fn put_profiles(keeper: &Budgets) -> Result<()> {
    for (org, app, label, name) in PROFILES {
        let profile = PutProfile {
            profile_label: label.to_owned(),
            inference_profile_arn: format!(
                "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/{name}"
            ),
            model_id: Some(SONNET.to_owned()),
            description: "Sonnet, billed to the app".to_owned(),
        };
        keeper.put_profile(&OrgId::new(org)?, &AppId::new(app)?, &profile, OPERATOR).await?;
    }
    Ok(())
}

/// Rotates the secrets of an org and its first app.
pub(super) async fn rotate_credentials(keeper: &Budgets, spec: &Org) -> Result<()> {
    let org = OrgId::new(spec.id)?;
    keeper.rotate_credentials(&Scope::Org(org.clone()), 24, spec.admin).await?;
    if let Some((app, ..)) = spec.apps.first() {
        let scope = Scope::App(org, AppId::new(app)?);
        keeper.rotate_credentials(&scope, 0, spec.admin).await?;
    }
    Ok(())
}

/// What changed in the course of the month.
pub(super) async fn reconfigure(keeper: &Budgets, hour: u64) -> Result<()> {
    match hour {
        150 => put_org(keeper, &ORGS[2], 85).await,
        172 => put_org(keeper, &ORGS[2], 100).await,
        262 => import_prices(keeper).await,
        331 => {
            let org = OrgId::new(ORGS[5].id)?;
            let put = PutApp {
                app_name: "Intake bot".to_owned(),
                overrides: Some(Overrides {
                    tight_mode_threshold_pct: Some(90),
                    ..Overrides::default()
                }),
                ..PutApp::default()
            };
            keeper.put_app(&org, &AppId::new("intake-bot")?, &put, ORGS[5].admin).await?;
            Ok(())
        }
        613 => rotate_credentials(keeper, &ORGS[4]).await,
        702 => {
            let scope = Scope::Org(OrgId::new(ORGS[5].id)?);
            let label = Label::new("standard")?;
            keeper.override_sticky(&scope, &label, ORGS[5].admin).await?;
            Ok(())
        }
        705 => {
            let scope = Scope::Org(OrgId::new(ORGS[5].id)?);
            keeper.reset_sticky(&scope, ORGS[5].admin).await?;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A discount that was negotiated, in force from the next day on.
async fn import_prices(keeper: &Budgets) -> Result<()> {
    let tomorrow = weir_calendar::Zone::utc().day_of(keeper.now_ms()).next();
    let tomorrow = tomorrow.ok_or_else(|| Failure::new("the calendar ends"))?;
    let discounted = |model: &str, input, output| {
        Ok::<_, Failure>(PriceRow {
            model_id: weir_keeper::ids::ModelId::new(model)?,
            vendor: None,
            region: None,
            price: Price::new(input, output),
        })
    };
    let rows = vec![
        discounted(SONNET, 2_700_000, 13_500_000)?,
        discounted("anthropic.claude-haiku-4-5-20251001-v1:0", 900_000, 4_500_000)?,
    ];
    keeper.import_prices(rows, tomorrow, OPERATOR).await?;
    Ok(())
}
