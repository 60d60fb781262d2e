//! The configuration to simulate, from files or from the store, and the prices of its models.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::Value;
use weir_api::Page;
use weir_api::keeper as wire;
use weir_api::keeper::{AppConfig, InferenceProfile, ModelPrice, OrgConfig};
use weir_keeper::catalog::{ModelCatalog, ModelDefinition};
use weir_keeper::config::{AppRecord, EffectiveConfig, OrgRecord, Overrides, PutOrg};
use weir_keeper::day::OrgDay;
use weir_keeper::ids::{AppId, Label, ModelId, OrgId, Vendor};
use weir_keeper::money::Price;
use weir_keeper::prices::{PriceBook, PriceQuery, resolve};
use weir_server::keeper::convert;

use super::{SimulateArgs, wrong};
use crate::api::Api;
use crate::commands::api_context::{ApiContext, with_query};
use crate::commands::keeper::prices::price;
use crate::commands::keeper::target::TargetArgs;
use crate::commands::keeper::{ROOT, file};
use crate::config::Loaded;
use crate::failure::Failure;
use crate::output;
use crate::store_location::StoreLocation;

/// Id of an org whose file has none.
const NO_ORG: &str = "00000000-0000-0000-0000-000000000000";

/// A configuration to simulate.
pub(super) struct Proposal {
    /// The configuration of the org.
    pub(super) config: EffectiveConfig,
    /// The configurations of apps.
    pub(super) apps: BTreeMap<AppId, EffectiveConfig>,
    /// The app of submissions that name none.
    pub(super) default_app: Option<AppId>,
    labels: ModelCatalog,
    /// The models that inference profiles stand for.
    named: BTreeMap<Label, ModelId>,
}

impl Proposal {
    /// The configuration that the flags name.
    pub(super) async fn of(
        loaded: &Loaded,
        args: &SimulateArgs,
        named: &BTreeSet<AppId>,
        now_ms: i64,
    ) -> Result<Proposal, Failure> {
        let labels = loaded
            .config
            .keeper
            .catalog()
            .map_err(|problem| Failure::usage(format!("keeper.labels {problem}")))?;
        match (&args.org, &args.org_id) {
            (Some(org), _) => from_files(org, &args.app, labels, now_ms),
            (None, Some(org)) => {
                let default_app =
                    args.app_id.as_ref().map(AppId::new).transpose().map_err(wrong)?;
                let named: BTreeSet<AppId> = named.iter().chain(&default_app).cloned().collect();
                let mut proposal =
                    Api::with(loaded, async |api| stored(api, org, &named, labels, now_ms).await)
                        .await?;
                proposal.default_app = default_app;
                Ok(proposal)
            }
            (None, None) => Err(Failure::usage("name a configuration: --org FILE")),
        }
    }

    /// The price of each model of the chain on a day, as submissions are recorded: imported, downloaded, from the price book, or of
    /// the label. The simulation refuses a model without a price. Without a store, nothing is imported or downloaded.
    pub(super) async fn prices(
        &self,
        loaded: &Loaded,
        region: Option<&str>,
        day: OrgDay,
    ) -> Result<BTreeMap<Label, Price>, Failure> {
        let chains = [&self.config].into_iter().chain(self.apps.values());
        let all: BTreeSet<&Label> = chains.flat_map(|config| &config.model_ordering).collect();
        let defs = all.into_iter();
        let defs = defs.filter_map(|label| Some((label.clone(), self.labels.get(label)?)));
        let defs: Vec<(Label, &ModelDefinition)> = defs.collect();
        if loaded.remote.is_none() && !StoreLocation::of(&loaded.config.store).is_there() {
            let book = PriceBook::shipped().map_err(|error| Failure::fault(error.to_string()))?;
            let found = defs.into_iter().filter_map(|(label, def)| {
                let vendor = def.vendor.as_ref();
                let query = PriceQuery { vendor, region, ..PriceQuery::new(&def.model_id) };
                let found = resolve(&book, &query, def.price).map_err(wrong).transpose()?;
                Some(found.map(|found| (label, found.price)))
            });
            return found.collect();
        }
        Api::with(loaded, async |api| {
            let mut prices = BTreeMap::new();
            for (label, def) in defs {
                let query = PriceQuery {
                    vendor: def.vendor.as_ref(),
                    region,
                    ..PriceQuery::new(&def.model_id)
                };
                let mut listed = listed_price(api, &query, day).await?;
                if let (None, Some(model)) = (listed, self.named.get(&label)) {
                    let query = PriceQuery { region, ..PriceQuery::new(model) };
                    listed = listed_price(api, &query, day).await?;
                }
                prices.extend(listed.or(def.price).map(|price| (label, price)));
            }
            Ok(prices)
        })
        .await
    }
}

/// The price at which submissions of a model are recorded on a day, except that of its label.
async fn listed_price(
    api: &Api,
    query: &PriceQuery<'_>,
    day: OrgDay,
) -> Result<Option<Price>, Failure> {
    let day = day.to_string();
    let query = [
        ("on", Some(day.as_str())),
        ("model", Some(query.model.as_str())),
        ("vendor", query.vendor.map(Vendor::as_str)),
        ("region", query.region),
    ];
    let page: Page<ModelPrice> = api.get(&with_query(&format!("{ROOT}/prices"), &query)).await?;
    Ok(page.items.first().map(price))
}

fn from_files(
    org: &str,
    apps: &[String],
    labels: ModelCatalog,
    now_ms: i64,
) -> Result<Proposal, Failure> {
    let of_org = file::read(org)?;
    let id =
        OrgId::new(of_org.org_id.as_deref().unwrap_or(NO_ORG)).map_err(|error| at(org, error))?;
    let wanted: OrgConfig = body(org, of_org.body)?;
    let config = convert::put_org(wanted).check(&labels, None).map_err(|error| at(org, error))?;
    let org = OrgRecord::new(id, config, now_ms);
    let mut configs = BTreeMap::new();
    let mut default_app = None;
    for app in apps {
        let (id, config) = app_from_file(app, &labels, &org, now_ms)?;
        default_app.get_or_insert_with(|| id.clone());
        if configs.insert(id.clone(), config).is_some() {
            return Err(Failure::usage(format!("{app}: app {id} is in another file too")));
        }
    }
    let config = EffectiveConfig::for_org(&org, now_ms);
    Ok(Proposal { config, apps: configs, default_app, labels, named: BTreeMap::new() })
}

fn app_from_file(
    app: &str,
    labels: &ModelCatalog,
    org: &OrgRecord,
    now_ms: i64,
) -> Result<(AppId, EffectiveConfig), Failure> {
    let of_app = file::read(app)?;
    let id =
        AppId::new(of_app.app_id.as_deref().unwrap_or("app")).map_err(|error| at(app, error))?;
    let wanted: AppConfig = body(app, of_app.body)?;
    let config =
        convert::put_app(wanted).check(labels, &[], org, None).map_err(|error| at(app, error))?;
    let record = AppRecord::new(org.org.clone(), id.clone(), config, now_ms);
    Ok((id, EffectiveConfig::for_app(org, &record, now_ms)))
}

fn at(file: &str, error: weir_keeper::Error) -> Failure {
    Failure::usage(format!("{file}: {error}"))
}

fn body<T: DeserializeOwned>(file: &str, body: Value) -> Result<T, Failure> {
    serde_json::from_value(body).map_err(|error| Failure::usage(format!("{file}: {error}")))
}

/// The stored configurations of an org and of these apps, with the inference profiles of the apps as labels.
async fn stored(
    api: &Api,
    org: &str,
    apps: &BTreeSet<AppId>,
    labels: ModelCatalog,
    now_ms: i64,
) -> Result<Proposal, Failure> {
    let context = ApiContext::new(api, ROOT, false);
    let target = TargetArgs { org: org.to_owned(), app: None };
    let of_org: wire::EffectiveConfig = api.get(&target.path(&context, &[])).await?;
    let mut all: BTreeMap<Label, ModelDefinition> =
        labels.iter().map(|(label, def)| (label.clone(), def.clone())).collect();
    let mut named = BTreeMap::new();
    let mut of_apps: Vec<(AppId, wire::EffectiveConfig)> = Vec::new();
    for app in apps {
        let target = TargetArgs { org: org.to_owned(), app: Some(app.to_string()) };
        of_apps.push((app.clone(), api.get(&target.path(&context, &[])).await?));
        let profiles: Vec<InferenceProfile> =
            context.all(&target.path(&context, &["inference-profiles"])).await?;
        let model = |profile: &InferenceProfile| {
            let model = ModelId::new(profile.model_id.as_ref()?).ok()?;
            Some((Label::new(&profile.profile_label).ok()?, model))
        };
        named.extend(profiles.iter().filter_map(model));
        all.extend(profiles.into_iter().filter_map(label));
    }
    let labels = ModelCatalog::new(all).map_err(wrong)?;
    let config = |found: wire::EffectiveConfig| {
        let id = OrgId::new(&found.org_id).map_err(wrong)?;
        let config = as_request(found).check(&labels, None).map_err(wrong)?;
        Ok::<_, Failure>(EffectiveConfig::for_org(&OrgRecord::new(id, config, now_ms), now_ms))
    };
    let apps = of_apps.into_iter().map(|(app, found)| Ok((app, config(found)?)));
    let apps = apps.collect::<Result<BTreeMap<_, _>, Failure>>()?;
    Ok(Proposal { config: config(of_org)?, apps, default_app: None, labels, named })
}

/// The request that leads to the configuration in force.
fn as_request(found: wire::EffectiveConfig) -> PutOrg {
    let quota = |(label, quota): (String, u64)| (label, i64::try_from(quota).unwrap_or(i64::MAX));
    PutOrg {
        org_name: found.org_name,
        timezone: found.timezone,
        quota_scope: output::word(&found.quota_scope),
        model_ordering: found.model_ordering,
        quotas: found.quotas.into_iter().map(quota).collect(),
        overrides: Some(Overrides {
            tight_mode_threshold_pct: Some(found.tight_mode_threshold_pct.into()),
            sticky_fallback_enabled: Some(found.sticky_fallback_enabled),
            refresh_interval_normal_secs: Some(found.refresh_interval_normal_secs.into()),
            refresh_interval_tight_secs: Some(found.refresh_interval_tight_secs.into()),
            ..Overrides::default()
        }),
        unpriced: Some(found.unpriced),
    }
}

/// An inference profile as a label; `None` when its label or ARN is malformed.
fn label(profile: InferenceProfile) -> Option<(Label, ModelDefinition)> {
    let def = ModelDefinition {
        model_id: ModelId::new(&profile.inference_profile_arn).ok()?,
        vendor: None,
        tier: profile.kind,
        family: String::new(),
        description: profile.description,
        price: None,
    };
    Some((Label::new(&profile.profile_label).ok()?, def))
}
