//! Resolves a model label of an app: a model of the catalog, or one of the app's inference profiles.

use std::sync::Arc;

use weir_table::Backend;

use crate::error::{Error, Result};
use crate::ids::{AppId, Label, ModelId, OrgId, Vendor};
use crate::keeper::Keeper;
use crate::profiles::InferenceProfile;

/// The model that a label resolves to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedModel {
    /// The id of the model at its vendor.
    pub model: ModelId,
    /// The vendor, where the label names one.
    pub vendor: Option<Vendor>,
    /// The description of the label.
    pub description: String,
    /// The inference profile, where the label is one.
    pub profile: Option<Arc<InferenceProfile>>,
}

impl<B: Backend> Keeper<B> {
    /// Parses the label in `field` and checks that the app may use it; with the profile, where the label is one.
    ///
    /// # Errors
    /// Neither the catalog nor the app has such a label, or the store fails.
    pub(crate) async fn resolve_label(
        &self,
        (org, app): (&OrgId, &AppId),
        field: &str,
        text: &str,
    ) -> Result<(Label, Option<Arc<InferenceProfile>>)> {
        if let Ok(label) = Label::new(text) {
            if self.catalog().get(&label).is_some() {
                return Ok((label, None));
            }
            if let Some(profile) = self.profile(org, app, &label).await? {
                return Ok((label, Some(profile)));
            }
        }
        Err(self.unknown_label((org, app), field, text).await)
    }

    /// The model behind a label of an app's chain; `None` when the label no longer exists.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn model_for_label(
        &self,
        (org, app): (&OrgId, &AppId),
        label: &Label,
    ) -> Result<Option<ResolvedModel>> {
        if let Some(def) = self.catalog().get(label) {
            return Ok(Some(ResolvedModel {
                model: def.model_id.clone(),
                vendor: def.vendor.clone(),
                description: def.description.clone(),
                profile: None,
            }));
        }
        let profile = self.profile(org, app, label).await?;
        Ok(profile.map(|profile| ResolvedModel {
            model: profile.inference_profile_arn.clone(),
            vendor: None,
            description: profile.description.clone(),
            profile: Some(profile),
        }))
    }

    /// The error for an unknown label; it lists the labels that the app may use.
    async fn unknown_label(&self, (org, app): (&OrgId, &AppId), field: &str, text: &str) -> Error {
        let profiles = self.profile_labels(org, app).await.unwrap_or_default();
        match self.catalog().find(field, text, &profiles) {
            Err(error) => error,
            Ok(label) => Error::label(field, format!("label {label} was just registered; retry")),
        }
    }
}
