//! Inference profiles: an app's own labels for profiles it created in Bedrock.

mod cache;
mod delete;

use std::sync::Arc;

use weir_table::expr::attr;
use weir_table::retry::Listed;
use weir_table::{Backend, Get, Item, Query, Write};

pub(crate) use self::cache::ProfileCache;
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::{DESCRIPTION_MAX, PAGE_MAX, PROFILE_PAGES_MAX, PROFILES_MAX, TRIES_MAX};
use crate::config::DELETED_AT;
use crate::error::{Error, Result};
use crate::ids::{AppId, Label, ModelId, OrgId, Scope, shown};
use crate::keeper::Keeper;
use crate::keys;
use crate::retry::pause;

const LABEL: &str = "profile_label";
const ARN: &str = "inference_profile_arn";
const MODEL: &str = "model_id";
const DESCRIPTION: &str = "description";
const CREATED: &str = "created_at_epoch";
const UPDATED: &str = "updated_at_epoch";

/// The request to register an inference profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PutProfile {
    /// Label that the app uses for it.
    pub profile_label: String,
    /// ARN of the profile.
    pub inference_profile_arn: String,
    /// The model that the profile stands for, whose price it has unless it has one of its own.
    pub model_id: Option<String>,
    /// Description of the profile.
    pub description: String,
}

/// An inference profile of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InferenceProfile {
    /// Label that the app uses for it.
    pub profile_label: Label,
    /// ARN of the profile.
    pub inference_profile_arn: ModelId,
    /// The model that the profile stands for, where it was named.
    pub model_id: Option<ModelId>,
    /// Description of the profile.
    pub description: String,
    /// When it was registered, in seconds since 1970.
    pub created_at_epoch: i64,
    /// When it was last changed, in seconds since 1970.
    pub updated_at_epoch: i64,
}

impl<B: Backend> Keeper<B> {
    /// Registers or replaces the profile of a label. Returns whether it is new.
    ///
    /// # Errors
    /// The app does not exist, the request is invalid, the app has too many profiles, or the store fails.
    pub async fn put_profile(
        &self,
        org: &OrgId,
        app: &AppId,
        request: &PutProfile,
        actor: &str,
    ) -> Result<(InferenceProfile, bool)> {
        let now_ms = self.now_ms();
        let requested = self.check_profile(request, now_ms)?;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            if let Some(done) = self.try_put_profile((org, app), &requested, actor, now_ms).await? {
                return Ok(done);
            }
        }
        Err(Error::Contended)
    }

    fn check_profile(&self, request: &PutProfile, now_ms: i64) -> Result<InferenceProfile> {
        let text = &request.profile_label;
        let label = Label::new(text).map_err(|error| error.into_config(LABEL))?;
        if self.catalog().get(&label).is_some() {
            return Err(Error::config(
                LABEL,
                format!("{label} is already a label of the catalog; choose another"),
            ));
        }
        let arn = ModelId::new(&request.inference_profile_arn).ok().filter(is_profile_arn);
        let arn = arn.ok_or_else(|| {
            let problem = format!(
                "{} is not an ARN like arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3",
                shown(&request.inference_profile_arn)
            );
            Error::config(ARN, problem)
        })?;
        let model_id = request.model_id.as_ref().map(ModelId::new).transpose();
        let model_id = model_id.map_err(|error| error.into_config(MODEL))?;
        if model_id.as_ref().is_some_and(is_profile_arn) {
            let problem = "must be the model of the profile, not a profile";
            return Err(Error::config(MODEL, problem));
        }
        let description = &request.description;
        let length = description.chars().take(DESCRIPTION_MAX + 1).count();
        if length > DESCRIPTION_MAX || description.contains(char::is_control) {
            let problem =
                format!("must have at most {DESCRIPTION_MAX} characters and no control characters");
            return Err(Error::config(DESCRIPTION, problem));
        }
        let now = now_ms.div_euclid(1000);
        Ok(InferenceProfile {
            profile_label: label,
            inference_profile_arn: arn,
            model_id,
            description: description.clone(),
            created_at_epoch: now,
            updated_at_epoch: now,
        })
    }

    /// `None` when a concurrent writer was faster.
    async fn try_put_profile(
        &self,
        (org, app): (&OrgId, &AppId),
        requested: &InferenceProfile,
        actor: &str,
        now_ms: i64,
    ) -> Result<Option<(InferenceProfile, bool)>> {
        let old = self.stored_profile(org, app, &requested.profile_label).await?;
        let new = match &old {
            Some(old) => {
                InferenceProfile { created_at_epoch: old.created_at_epoch, ..requested.clone() }
            }
            None => requested.clone(),
        };
        let same = old.as_ref().filter(|old| {
            old.inference_profile_arn == new.inference_profile_arn
                && old.model_id == new.model_id
                && old.description == new.description
        });
        if let Some(same) = same {
            return Ok(Some((same.clone(), false)));
        }
        if old.is_none() && self.profile_labels(org, app).await?.len() >= PROFILES_MAX {
            let problem = format!("the app already has {PROFILES_MAX} inference profiles");
            return Err(Error::config(LABEL, problem));
        }
        let unchanged = match &old {
            Some(_) => attr(DELETED_AT).absent().and(attr("PK").exists()),
            None => attr("PK").absent().or(attr(DELETED_AT).exists()),
        };
        let table = &self.tables().config;
        let event = NewAuditEvent {
            action: AuditAction::ProfilePut,
            subject: Scope::App(org.clone(), app.clone()).client_id(),
            actor,
            detail: Some(format!("{LABEL}={}", new.profile_label)),
        };
        let is_active = attr("PK").exists().and(attr(DELETED_AT).absent());
        let app_exists = Write::check(table.clone(), keys::app(org, app), is_active);
        self.effective_config(org, Some(app)).await?;
        let writes = vec![
            Write::put(table.clone(), new.encode(org, app)).when(unchanged),
            app_exists,
            self.audit_write(org, event, now_ms)?,
        ];
        if !self.commit(writes).await? {
            // Either the app does not exist, which this reports, or a concurrent writer was faster.
            self.read_records(org, Some(app)).await?;
            return Ok(None);
        }
        self.inner.profiles.invalidate((org, app, &new.profile_label));
        Ok(Some((new, old.is_none())))
    }

    /// The profiles of an app, by label, paginated.
    ///
    /// # Errors
    /// The app does not exist, the cursor is not of this list, or the store fails.
    pub async fn list_profiles(
        &self,
        org: &OrgId,
        app: &AppId,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Listed<InferenceProfile>> {
        self.effective_config(org, Some(app)).await?;
        let page = self.store().page(self.profiles_of(org, app), limit, cursor).await?;
        let in_use = page.items.iter().filter(|item| is_in_use(item));
        let items = in_use.map(InferenceProfile::decode).collect::<Result<_>>()?;
        Ok(Listed { items, cursor: page.cursor })
    }

    /// The labels of an app's profiles.
    pub(crate) async fn profile_labels(&self, org: &OrgId, app: &AppId) -> Result<Vec<Label>> {
        let items = self.profile_items(org, app).await?;
        let in_use = items.iter().filter(|item| is_in_use(item));
        in_use.map(|item| Ok(InferenceProfile::decode(item)?.profile_label)).collect()
    }

    /// The labels of an app's profiles, and of deleted ones, whose totals are still retained.
    pub(crate) async fn profile_labels_ever(&self, org: &OrgId, app: &AppId) -> Result<Vec<Label>> {
        let items = self.profile_items(org, app).await?;
        items.iter().map(|item| Ok(InferenceProfile::decode(item)?.profile_label)).collect()
    }

    /// The items of an app's profiles, and of deleted ones.
    pub(super) async fn profile_items(&self, org: &OrgId, app: &AppId) -> Result<Vec<Item>> {
        let (mut items, mut cursor) = (Vec::new(), None);
        for _ in 0..PROFILE_PAGES_MAX {
            let page = self.store().page(self.profiles_of(org, app), PAGE_MAX, cursor).await?;
            items.extend(page.items);
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(items);
            }
        }
        Err(Error::Overflow("the number of inference profiles"))
    }

    /// A profile of an app, cached as long as a configuration, even when absent.
    ///
    /// # Errors
    /// The store fails.
    pub async fn profile(
        &self,
        org: &OrgId,
        app: &AppId,
        label: &Label,
    ) -> Result<Option<Arc<InferenceProfile>>> {
        let (profiles, now_ms) = (&self.inner.profiles, self.now_ms());
        if let Some(cached) = profiles.get((org, app, label), now_ms) {
            return Ok(cached);
        }
        let epoch = profiles.epoch();
        let found = self.stored_profile(org, app, label).await?.map(Arc::new);
        profiles.insert((org, app, label), found.clone(), now_ms, epoch);
        Ok(found)
    }

    /// A profile of an app as it is stored.
    pub(crate) async fn stored_profile(
        &self,
        org: &OrgId,
        app: &AppId,
        label: &Label,
    ) -> Result<Option<InferenceProfile>> {
        let get = Get::new(self.tables().config.clone(), keys::profile(org, app, label));
        let item = self.store().get(&get).await?.filter(is_in_use);
        item.as_ref().map(InferenceProfile::decode).transpose()
    }

    fn profiles_of(&self, org: &OrgId, app: &AppId) -> Query {
        Query::partition(self.tables().config.clone(), keys::org_partition(org))
            .begins_with(keys::profiles_prefix(app))
    }
}

impl InferenceProfile {
    /// The region in its ARN.
    #[must_use]
    pub fn region(&self) -> Option<&str> {
        self.inference_profile_arn.as_str().split(':').nth(3).filter(|region| !region.is_empty())
    }

    fn encode(&self, org: &OrgId, app: &AppId) -> Item {
        let item = keys::item(keys::profile(org, app, &self.profile_label));
        let item = match &self.model_id {
            Some(model) => item.with(MODEL, model.as_str()),
            None => item,
        };
        item.with(LABEL, self.profile_label.as_str())
            .with(ARN, self.inference_profile_arn.as_str())
            .with(DESCRIPTION, self.description.as_str())
            .with(CREATED, self.created_at_epoch)
            .with(UPDATED, self.updated_at_epoch)
    }

    fn decode(item: &Item) -> Result<InferenceProfile> {
        let wrong =
            |name| Error::damaged("an inference profile", format!("{name} is missing or invalid"));
        let text = |name| item.s(name).ok_or_else(|| wrong(name));
        let number = |name| item.i64(name).ok_or_else(|| wrong(name));
        Ok(InferenceProfile {
            profile_label: Label::new(text(LABEL)?).map_err(|_| wrong(LABEL))?,
            inference_profile_arn: ModelId::new(text(ARN)?).map_err(|_| wrong(ARN))?,
            model_id: item.s(MODEL).map(ModelId::new).transpose().map_err(|_| wrong(MODEL))?,
            description: text(DESCRIPTION)?.to_owned(),
            created_at_epoch: number(CREATED)?,
            updated_at_epoch: number(UPDATED)?,
        })
    }
}

/// Whether a profile is not deleted.
fn is_in_use(item: &Item) -> bool {
    item.get(DELETED_AT).is_none()
}

/// Accepts `arn:{partition}:bedrock:{region}:{account}:inference-profile/{id}`, and `application-inference-profile`.
fn is_profile_arn(arn: &ModelId) -> bool {
    let parts: Vec<&str> = arn.as_str().splitn(6, ':').collect();
    let ["arn", _, "bedrock", region, _, resource] = parts.as_slice() else { return false };
    let id = resource
        .strip_prefix("application-inference-profile/")
        .or_else(|| resource.strip_prefix("inference-profile/"));
    !region.is_empty() && id.is_some_and(|id| !id.is_empty() && !id.contains('/'))
}
