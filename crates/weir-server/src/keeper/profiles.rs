//! Routes of inference profiles: model labels that belong to one app.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use weir_api::keeper::{
    AppParam, InferenceProfile, InferenceProfileRequest, OrgParam, ProfileParam,
};

use super::convert;
use super::error::{KeeperError, Reply};
use super::path::{AppPath, ProfilePath, keeper};
use super::rates::allowances;
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::extract::{Body, Query};
use weir_framework::page::{Page, PageLimit as _, PageParams, page_response};
use weir_framework::prelude::Created;

/// Registers an inference profile
///
/// A profile with the same label is replaced. Submissions with the label of a profile must have a `calling_region`.
#[utoipa::path(post, path = "/api/v1/orgs/{org}/apps/{app}/inference-profiles", tag = "profiles",
    params(OrgParam, AppParam), request_body = InferenceProfileRequest, responses(
        (status = 200, description = "The profile was replaced.", body = InferenceProfile),
        (status = 201, description = "The profile was registered.", body = InferenceProfile)))]
pub(crate) async fn register(
    State(app): State<App>,
    AppPath(org, id): AppPath,
    actor: Actor,
    Body(request): Body<InferenceProfileRequest>,
) -> Result<Response, KeeperError> {
    allowances(&app)?.write(&app, &actor).await?;
    let request = convert::put_profile(request);
    let (profile, is_new) = keeper(&app)?.put_profile(&org, &id, &request, actor.name()).await?;
    let profile = convert::inference_profile(profile);
    Ok(if is_new { Created(profile).into_response() } else { Json(profile).into_response() })
}

/// Lists the inference profiles of an app
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps/{app}/inference-profiles", tag = "profiles",
    params(OrgParam, AppParam, PageParams), responses((status = 200, body = Page<InferenceProfile>)))]
pub(crate) async fn list(
    State(app): State<App>,
    AppPath(org, id): AppPath,
    Query(page): Query<PageParams>,
) -> Reply<Page<InferenceProfile>> {
    let found = keeper(&app)?.list_profiles(&org, &id, page.checked_limit()?, page.cursor).await?;
    Ok(page_response(found, convert::inference_profile))
}

/// Deletes an inference profile
///
/// The profile must not be in the app's chain of models. Registering it again restores it.
#[utoipa::path(delete, path = "/api/v1/orgs/{org}/apps/{app}/inference-profiles/{label}", tag = "profiles",
    params(OrgParam, AppParam, ProfileParam), responses((status = 204)))]
pub(crate) async fn remove(
    State(app): State<App>,
    ProfilePath(org, id, label): ProfilePath,
    actor: Actor,
) -> Result<StatusCode, KeeperError> {
    allowances(&app)?.write(&app, &actor).await?;
    keeper(&app)?.delete_profile(&org, &id, &label, actor.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}
