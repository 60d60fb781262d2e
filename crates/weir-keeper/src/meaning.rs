//! What a label means to an app: a model for everybody, or an inference profile of its own.

use std::sync::Arc;

use weir_table::Backend;

use crate::error::{Error, Result};
use crate::ids::{AppId, Label, ModelId, OrgId};
use crate::keeper::Keeper;
use crate::profiles::Profile;

/// What a label means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub(crate) model: ModelId,
    pub(crate) description: String,
}

impl<B: Backend> Keeper<B> {
    /// The label that the text in `field` is to an app, and its profile where it is one.
    ///
    /// # Errors
    /// It is no label of everybody's or of the app's, or the store fails.
    pub(crate) async fn known_label(
        &self,
        (org, app): (&OrgId, &AppId),
        field: &str,
        text: &str,
    ) -> Result<(Label, Option<Arc<Profile>>)> {
        if let Ok(label) = Label::new(text) {
            if self.labels().get(&label).is_some() {
                return Ok((label, None));
            }
            if let Some(profile) = self.profile(org, app, &label).await? {
                return Ok((label, Some(profile)));
            }
        }
        Err(self.no_label((org, app), field, text).await)
    }

    /// What a label of an app's chain means; nothing when it is a label no more.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn meaning(
        &self,
        (org, app): (&OrgId, &AppId),
        label: &Label,
    ) -> Result<Option<Meaning>> {
        if let Some(def) = self.labels().get(label) {
            let (model, description) = (def.bedrock_model_id.clone(), def.description.clone());
            return Ok(Some(Meaning { model, description }));
        }
        let profile = self.profile(org, app, label).await?;
        Ok(profile.map(|profile| Meaning {
            model: profile.inference_profile_arn.clone(),
            description: profile.description.clone(),
        }))
    }

    /// The error that tells which labels there are.
    async fn no_label(&self, (org, app): (&OrgId, &AppId), field: &str, text: &str) -> Error {
        let profiles = self.profile_labels(org, app).await.unwrap_or_default();
        match self.labels().find(field, text, &profiles) {
            Err(error) => error,
            Ok(label) => Error::label(field, format!("{label} is no label any more")),
        }
    }
}
