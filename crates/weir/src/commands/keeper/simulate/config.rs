//! The configuration that is tried out: from files, or as it is stored; and what its models cost.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;
use weir_framework::page::Page;
use weir_keeper::config::{AppRecord, Effective, OrgRecord, Overrides, PutApp, PutOrg};
use weir_keeper::day::OrgDay;
use weir_keeper::ids::{AppId, Label, ModelId, OrgId};
use weir_keeper::labels::{Catalogue, LabelDef};
use weir_keeper::money::Price;
use weir_keeper::prices::{Book, resolve};
use weir_server::keeper::configured::Configured;
use weir_server::keeper::prices::ModelPrice;
use weir_server::keeper::profiles::Profile;

use super::{SimulateArgs, wrong};
use crate::api::Api;
use crate::commands::api_context::{ApiContext, with_query};
use crate::commands::keeper::prices::price;
use crate::commands::keeper::whose::WhoseArgs;
use crate::commands::keeper::{ROOT, file};
use crate::config::Loaded;
use crate::failure::Failure;
use crate::place::Place;

/// Whose the configuration is while nobody says.
const NOBODY: &str = "00000000-0000-0000-0000-000000000000";

/// What is tried out.
pub(super) struct Proposal {
    pub(super) config: Effective,
    labels: Catalogue,
}

impl Proposal {
    /// The configuration that the flags name.
    pub(super) async fn of(
        loaded: &Loaded,
        args: &SimulateArgs,
        now_ms: i64,
    ) -> Result<Proposal, Failure> {
        let labels = loaded
            .config
            .keeper
            .catalogue()
            .map_err(|problem| Failure::usage(format!("keeper.labels {problem}")))?;
        let (config, labels) = match (&args.org, &args.org_id) {
            (Some(org), _) => (from_files(org, args.app.as_deref(), &labels, now_ms)?, labels),
            (None, Some(org)) => {
                let app = args.app_id.as_deref();
                Api::with(loaded, async |api| stored(api, org, app, labels, now_ms).await).await?
            }
            (None, None) => return Err(Failure::usage("name a configuration: --org FILE")),
        };
        Ok(Proposal { config, labels })
    }

    /// What each model of the chain costs on a day, as it is counted at: as imported or fetched, by the book, by its label. A
    /// model of unknown price is the replay's to refuse. Without a store there is nothing imported nor fetched.
    pub(super) async fn prices(
        &self,
        loaded: &Loaded,
        region: Option<&str>,
        day: OrgDay,
    ) -> Result<BTreeMap<Label, Price>, Failure> {
        let defs = self.config.model_ordering.iter();
        let defs = defs.filter_map(|label| Some((label.clone(), self.labels.get(label)?)));
        let defs: Vec<(Label, &LabelDef)> = defs.collect();
        if !Place::of(&loaded.config.store).is_there() {
            let book = Book::shipped().map_err(|error| Failure::fault(error.to_string()))?;
            let found = defs.into_iter().filter_map(|(label, def)| {
                let found = resolve(None, &book, &def.bedrock_model_id, region, def.price)?;
                Some((label, found.price))
            });
            return Ok(found.collect());
        }
        Api::with(loaded, async |api| {
            let mut prices = BTreeMap::new();
            for (label, def) in defs {
                let counted_at =
                    counted_at(api, def.bedrock_model_id.as_str(), region, day).await?;
                prices.extend(counted_at.or(def.price).map(|price| (label, price)));
            }
            Ok(prices)
        })
        .await
    }
}

/// What submissions of a model are counted at on a day, but for the price of its label.
async fn counted_at(
    api: &Api,
    model: &str,
    region: Option<&str>,
    day: OrgDay,
) -> Result<Option<Price>, Failure> {
    let day = day.to_string();
    let asked = [("on", Some(day.as_str())), ("model", Some(model)), ("region", region)];
    let page: Page<ModelPrice> = api.get(&with_query(&format!("{ROOT}/prices"), &asked)).await?;
    Ok(page.items.first().map(price))
}

fn from_files(
    org: &str,
    app: Option<&str>,
    labels: &Catalogue,
    now_ms: i64,
) -> Result<Effective, Failure> {
    let of_org = file::read(org)?;
    let id =
        OrgId::new(of_org.org_id.as_deref().unwrap_or(NOBODY)).map_err(|error| at(org, error))?;
    let wanted: PutOrg = body(org, of_org.body)?;
    let config = wanted.check(labels, None).map_err(|error| at(org, error))?;
    let org = OrgRecord::new(id, config, now_ms);
    let Some(app) = app else {
        return Ok(Effective::of_org(&org, now_ms));
    };
    let of_app = file::read(app)?;
    let id =
        AppId::new(of_app.app_id.as_deref().unwrap_or("app")).map_err(|error| at(app, error))?;
    let wanted: PutApp = body(app, of_app.body)?;
    let config = wanted.check(labels, &[], &org).map_err(|error| at(app, error))?;
    Ok(Effective::of_app(&org, &AppRecord::new(org.org.clone(), id, config, now_ms), now_ms))
}

fn at(file: &str, error: weir_keeper::Error) -> Failure {
    Failure::usage(format!("{file}: {error}"))
}

fn body<T: DeserializeOwned>(file: &str, body: Value) -> Result<T, Failure> {
    serde_json::from_value(body).map_err(|error| Failure::usage(format!("{file}: {error}")))
}

/// What is stored, with the labels that the app has of its own.
async fn stored(
    api: &Api,
    org: &str,
    app: Option<&str>,
    labels: Catalogue,
    now_ms: i64,
) -> Result<(Effective, Catalogue), Failure> {
    let context = ApiContext::new(api, ROOT, false);
    let whose = WhoseArgs { org: org.to_owned(), app: app.map(str::to_owned) };
    let found: Configured = api.get(&whose.path(&context, &[])).await?;
    let mut all: BTreeMap<Label, LabelDef> =
        labels.iter().map(|(label, def)| (label.clone(), def.clone())).collect();
    if app.is_some() {
        let profiles: Vec<Profile> =
            context.all(&whose.path(&context, &["inference-profiles"])).await?;
        all.extend(profiles.into_iter().filter_map(label));
    }
    let labels = Catalogue::new(all).map_err(wrong)?;
    let id = OrgId::new(&found.org_id).map_err(wrong)?;
    let config = as_asked(found).check(&labels, None).map_err(wrong)?;
    Ok((Effective::of_org(&OrgRecord::new(id, config, now_ms), now_ms), labels))
}

/// What would have to be asked for to get what is in force.
fn as_asked(found: Configured) -> PutOrg {
    let quota = |(label, quota): (String, u64)| (label, i64::try_from(quota).unwrap_or(i64::MAX));
    PutOrg {
        org_name: found.org_name,
        timezone: found.timezone,
        quota_scope: found.quota_scope,
        model_ordering: found.model_ordering,
        quotas: found.quotas.into_iter().map(quota).collect(),
        overrides: Overrides {
            tight_mode_threshold_pct: Some(found.tight_mode_threshold_pct.into()),
            sticky_fallback_enabled: Some(found.sticky_fallback_enabled),
            ..Overrides::default()
        },
        unpriced: Some(found.unpriced),
    }
}

/// A profile as a label; nothing when its names can be none.
fn label(profile: Profile) -> Option<(Label, LabelDef)> {
    let def = LabelDef {
        bedrock_model_id: ModelId::new(&profile.inference_profile_arn).ok()?,
        tier: profile.kind,
        family: String::new(),
        description: profile.description,
        price: None,
    };
    Some((Label::new(&profile.profile_label).ok()?, def))
}
