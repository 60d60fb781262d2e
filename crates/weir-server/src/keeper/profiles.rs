//! Inference profiles: labels of an app's own.

use crate::keeper::error::KeeperError;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_keeper::profiles;

use super::configured::time;
use super::place::{Asker, OrgApp, keeper};
use super::rates::allowances;
use super::shapes::{AppAt, OrgAt, WordText};
use crate::keeper::error::Reply;
use weir_framework::app::App;
use weir_framework::extract::{Body, Query};
use weir_framework::page::{Page, PageLimit as _, PageParams};
use weir_framework::prelude::Created;

/// A profile to register.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewProfile {
    /// What the app will call it; no label of the catalogue.
    #[schema(value_type = WordText)]
    pub profile_label: String,
    /// What Bedrock calls it.
    #[schema(
        pattern = "^arn:aws:bedrock:[a-z0-9-]{1,20}:[0-9]{12}:application-inference-profile/[a-z0-9]{1,30}$",
        example = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3"
    )]
    pub inference_profile_arn: String,
    /// What it is for.
    #[serde(default)]
    #[schema(max_length = 1024, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", default = "")]
    pub description: String,
}

/// An inference profile.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Profile {
    /// What the app calls it.
    pub id: String,
    /// The same.
    pub profile_label: String,
    /// What Bedrock calls it.
    pub inference_profile_arn: String,
    /// What it is for.
    pub description: String,
    /// Always `profile`.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it was registered.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was changed last.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

impl From<profiles::Profile> for Profile {
    fn from(profile: profiles::Profile) -> Profile {
        Profile {
            id: profile.profile_label.to_string(),
            profile_label: profile.profile_label.to_string(),
            inference_profile_arn: profile.inference_profile_arn.to_string(),
            description: profile.description,
            kind: "profile".to_owned(),
            created_at: time(profile.created_at_epoch.saturating_mul(1000)),
            updated_at: time(profile.updated_at_epoch.saturating_mul(1000)),
        }
    }
}

/// Registers an inference profile
///
/// Submissions under its label then name the `calling_region`. One of the same label is replaced.
#[utoipa::path(post, path = "/api/v1/orgs/{org}/apps/{app}/inference-profiles", tag = "profiles",
    params(OrgAt, AppAt), request_body = NewProfile, responses(
        (status = 200, description = "It was replaced", body = Profile),
        (status = 201, description = "It was registered", body = Profile)))]
pub(crate) async fn register(
    State(app): State<App>,
    OrgApp(org, id): OrgApp,
    asker: Asker,
    Body(new): Body<NewProfile>,
) -> Result<Response, KeeperError> {
    allowances(&app)?.write(&app, &asker).await?;
    let wanted = profiles::ProfileRequest {
        profile_label: new.profile_label,
        inference_profile_arn: new.inference_profile_arn,
        description: new.description,
    };
    let (profile, is_new) = keeper(&app)?.put_profile(&org, &id, &wanted, asker.name()).await?;
    let profile = Profile::from(profile);
    Ok(if is_new { Created(profile).into_response() } else { Json(profile).into_response() })
}

/// Lists the inference profiles of an app
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps/{app}/inference-profiles", tag = "profiles",
    params(OrgAt, AppAt, PageParams), responses((status = 200, body = Page<Profile>)))]
pub(crate) async fn list(
    State(app): State<App>,
    OrgApp(org, id): OrgApp,
    Query(part): Query<PageParams>,
) -> Reply<Page<Profile>> {
    let found = keeper(&app)?.profiles(&org, &id, part.checked_limit()?, part.cursor).await?;
    let items = found.items.into_iter().map(Profile::from).collect();
    Ok(Json(Page { items, next_cursor: found.cursor }))
}
