//! Inference profiles: labels of an app's own, for the profiles it made in Bedrock.

mod cache;

use serde::{Deserialize, Serialize};
use weir_table::expr::attr;
use weir_table::{Backend, Get, Item, Query, Write};

pub(crate) use self::cache::Cache;
use crate::audit::{Act, NewEvent};
use crate::bounds::{DESCRIPTION_MAX, PAGE_MAX, PROFILES_MAX, TRIES_MAX};
use crate::error::{Error, Result};
use crate::ids::{AppId, Label, ModelId, OrgId, Scope, shown};
use crate::keeper::Keeper;
use crate::keys;
use crate::paging::Page;
use crate::retry::pause;

const LABEL: &str = "profile_label";
const ARN: &str = "inference_profile_arn";
const DESCRIPTION: &str = "description";
const CREATED: &str = "created_at_epoch";
const UPDATED: &str = "updated_at_epoch";

/// What a client asks to be registered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileRequest {
    /// What the app will call it.
    pub profile_label: String,
    /// What Bedrock calls it.
    pub inference_profile_arn: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
}

/// An inference profile of an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// What the app calls it.
    pub profile_label: Label,
    /// What Bedrock calls it.
    pub inference_profile_arn: ModelId,
    /// What it is for.
    pub description: String,
    /// When it was registered, in seconds since 1970.
    pub created_at_epoch: i64,
    /// When it was changed last.
    pub updated_at_epoch: i64,
}

// As many labels as an app may have are read in one page.
const _: () = assert!(PROFILES_MAX <= PAGE_MAX as usize);

impl<B: Backend> Keeper<B> {
    /// Registers a profile, and tells whether it is new. One of the same label is replaced.
    ///
    /// # Errors
    /// There is no such app, what is asked for cannot be, the app has too many, or the store fails.
    pub async fn put_profile(
        &self,
        org: &OrgId,
        app: &AppId,
        wanted: &ProfileRequest,
        by: &str,
    ) -> Result<(Profile, bool)> {
        let now_ms = self.now_ms();
        let wanted = self.checked_profile(wanted, now_ms)?;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            if let Some(done) = self.try_put_profile((org, app), &wanted, by, now_ms).await? {
                return Ok(done);
            }
        }
        Err(Error::Contended)
    }

    fn checked_profile(&self, wanted: &ProfileRequest, now_ms: i64) -> Result<Profile> {
        let text = &wanted.profile_label;
        let label = Label::new(text).map_err(|error| error.of_config(LABEL))?;
        if self.labels().get(&label).is_some() {
            return Err(Error::config(LABEL, format!("{label} is a label for everybody already")));
        }
        let arn = ModelId::new(&wanted.inference_profile_arn).ok().filter(is_profile_arn);
        let arn = arn.ok_or_else(|| {
            let problem = format!(
                "{} is no ARN like arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3",
                shown(&wanted.inference_profile_arn)
            );
            Error::config(ARN, problem)
        })?;
        let description = &wanted.description;
        let length = description.chars().take(DESCRIPTION_MAX + 1).count();
        if length > DESCRIPTION_MAX || description.contains(char::is_control) {
            let problem = format!("has control characters or more than {DESCRIPTION_MAX}");
            return Err(Error::config(DESCRIPTION, problem));
        }
        let now = now_ms.div_euclid(1000);
        Ok(Profile {
            profile_label: label,
            inference_profile_arn: arn,
            description: description.clone(),
            created_at_epoch: now,
            updated_at_epoch: now,
        })
    }

    /// Nothing when another was faster.
    async fn try_put_profile(
        &self,
        (org, app): (&OrgId, &AppId),
        wanted: &Profile,
        by: &str,
        now_ms: i64,
    ) -> Result<Option<(Profile, bool)>> {
        let old = self.stored_profile(org, app, &wanted.profile_label).await?;
        let new = match &old {
            Some(old) => Profile { created_at_epoch: old.created_at_epoch, ..wanted.clone() },
            None => wanted.clone(),
        };
        let same = old.as_ref().filter(|old| {
            old.inference_profile_arn == new.inference_profile_arn
                && old.description == new.description
        });
        if let Some(same) = same {
            return Ok(Some((same.clone(), false)));
        }
        if old.is_none() && self.profile_labels(org, app).await?.len() >= PROFILES_MAX {
            let problem = format!("the app has {PROFILES_MAX} inference profiles already");
            return Err(Error::config(LABEL, problem));
        }
        let unchanged = match &old {
            Some(_) => attr("PK").exists(),
            None => attr("PK").absent(),
        };
        let table = &self.tables().config;
        let event = NewEvent {
            act: Act::ProfilePut,
            subject: Scope::App(org.clone(), app.clone()).client_id(),
            actor: by,
            detail: Some(format!("{LABEL}={}", new.profile_label)),
        };
        let there = Write::check(table.clone(), keys::app(org, app), attr("PK").exists());
        let writes = vec![
            Write::put(table.clone(), new.encode(org, app)).when(unchanged),
            there,
            self.audit_write(org, event, now_ms)?,
        ];
        if !self.commit(writes).await? {
            // Either the app is not there, which this tells, or another was faster.
            self.read_records(org, Some(app)).await?;
            return Ok(None);
        }
        self.inner.profiles.forget((org, app, &new.profile_label));
        Ok(Some((new, old.is_none())))
    }

    /// The profiles of an app, by label, page by page.
    ///
    /// # Errors
    /// There is no such app, the cursor is not of this list, or the store fails.
    pub async fn profiles(
        &self,
        org: &OrgId,
        app: &AppId,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Page<Profile>> {
        self.effective(org, Some(app)).await?;
        let page = self.store().page(self.profiles_of(org, app), limit, cursor).await?;
        let items = page.items.iter().map(Profile::decode).collect::<Result<_>>()?;
        Ok(Page { items, cursor: page.cursor })
    }

    /// The labels that an app has for its profiles.
    pub(crate) async fn profile_labels(&self, org: &OrgId, app: &AppId) -> Result<Vec<Label>> {
        let page = self.store().page(self.profiles_of(org, app), PAGE_MAX, None).await?;
        let label = |item: &Item| Ok(Profile::decode(item)?.profile_label);
        page.items.iter().map(label).collect()
    }

    /// A profile of an app, remembered as long as a configuration is, where there is none too.
    ///
    /// # Errors
    /// The store fails.
    pub async fn profile(
        &self,
        org: &OrgId,
        app: &AppId,
        label: &Label,
    ) -> Result<Option<std::sync::Arc<Profile>>> {
        let (profiles, now_ms) = (&self.inner.profiles, self.now_ms());
        if let Some(known) = profiles.fresh((org, app, label), now_ms) {
            return Ok(known);
        }
        let epoch = profiles.epoch();
        let found = self.stored_profile(org, app, label).await?.map(std::sync::Arc::new);
        profiles.keep((org, app, label), found.clone(), now_ms, epoch);
        Ok(found)
    }

    async fn stored_profile(
        &self,
        org: &OrgId,
        app: &AppId,
        label: &Label,
    ) -> Result<Option<Profile>> {
        let get = Get::new(self.tables().config.clone(), keys::profile(org, app, label));
        self.store().get(&get).await?.as_ref().map(Profile::decode).transpose()
    }

    fn profiles_of(&self, org: &OrgId, app: &AppId) -> Query {
        Query::partition(self.tables().config.clone(), keys::org_partition(org))
            .begins_with(keys::profiles_prefix(app))
    }
}

impl Profile {
    fn encode(&self, org: &OrgId, app: &AppId) -> Item {
        keys::item(keys::profile(org, app, &self.profile_label))
            .with(LABEL, self.profile_label.as_str())
            .with(ARN, self.inference_profile_arn.as_str())
            .with(DESCRIPTION, self.description.as_str())
            .with(CREATED, self.created_at_epoch)
            .with(UPDATED, self.updated_at_epoch)
    }

    fn decode(item: &Item) -> Result<Profile> {
        let wrong =
            |name| Error::damaged("an inference profile", format!("{name} is missing or wrong"));
        let text = |name| item.s(name).ok_or_else(|| wrong(name));
        let number = |name| item.i64(name).ok_or_else(|| wrong(name));
        Ok(Profile {
            profile_label: Label::new(text(LABEL)?).map_err(|_| wrong(LABEL))?,
            inference_profile_arn: ModelId::new(text(ARN)?).map_err(|_| wrong(ARN))?,
            description: text(DESCRIPTION)?.to_owned(),
            created_at_epoch: number(CREATED)?,
            updated_at_epoch: number(UPDATED)?,
        })
    }
}

/// `arn:{partition}:bedrock:{region}:{account}:inference-profile/{id}`, or an `application-inference-profile`.
fn is_profile_arn(arn: &ModelId) -> bool {
    let parts: Vec<&str> = arn.as_str().splitn(6, ':').collect();
    let ["arn", _, "bedrock", region, _, resource] = parts.as_slice() else { return false };
    let id = resource
        .strip_prefix("application-inference-profile/")
        .or_else(|| resource.strip_prefix("inference-profile/"));
    !region.is_empty() && id.is_some_and(|id| !id.is_empty() && !id.contains('/'))
}
