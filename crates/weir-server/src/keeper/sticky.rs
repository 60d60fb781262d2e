//! Moving a chain by hand.

use crate::keeper::error::KeeperError;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_keeper::decide::Sticky;
use weir_keeper::ids::{Label, Scope};

use super::aggregates::StickyState;
use super::configured::time;
use super::place::{Asker, Whose, keeper};
use super::shapes::{AppAt, OrgAt, WordText};
use crate::keeper::error::Reply;
use weir_framework::app::App;
use weir_framework::extract::Body;

/// The model to use for the rest of the day.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// A label of the chain.
    #[schema(value_type = WordText)]
    pub model_label: String,
}

impl From<Sticky> for StickyState {
    fn from(sticky: Sticky) -> StickyState {
        StickyState {
            active_model_label: sticky.label.to_string(),
            previous_model_label: sticky.previous.map(|label| label.to_string()),
            reason: sticky.reason.as_str().to_owned(),
            activated_at: time(sticky.activated_at_epoch.saturating_mul(1000)),
        }
    }
}

async fn set(app: &App, scope: &Scope, asker: &Asker, to: &Override) -> Reply<StickyState> {
    let label = Label::new(&to.model_label)?;
    Ok(Json(keeper(app)?.override_sticky(scope, &label, asker.name()).await?.into()))
}

async fn reset(app: &App, scope: &Scope, asker: &Asker) -> Result<StatusCode, KeeperError> {
    keeper(app)?.reset_sticky(scope, asker.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Moves an org's chain to a model for the rest of its day
#[utoipa::path(put, path = "/api/v1/orgs/{org}/sticky", tag = "sticky", params(OrgAt),
    request_body = Override, responses((status = 200, body = StickyState)))]
pub(crate) async fn set_org(
    State(app): State<App>,
    Whose(scope): Whose,
    asker: Asker,
    Body(to): Body<Override>,
) -> Reply<StickyState> {
    set(&app, &scope, &asker, &to).await
}

/// Moves an app's chain to a model for the rest of its day
#[utoipa::path(put, path = "/api/v1/orgs/{org}/apps/{app}/sticky", tag = "sticky",
    params(OrgAt, AppAt), request_body = Override, responses((status = 200, body = StickyState)))]
pub(crate) async fn set_app(
    State(app): State<App>,
    Whose(scope): Whose,
    asker: Asker,
    Body(to): Body<Override>,
) -> Reply<StickyState> {
    set(&app, &scope, &asker, &to).await
}

/// Takes an org's fallback of the day back
#[utoipa::path(delete, path = "/api/v1/orgs/{org}/sticky", tag = "sticky", params(OrgAt),
    responses((status = 204)))]
pub(crate) async fn reset_org(
    State(app): State<App>,
    Whose(scope): Whose,
    asker: Asker,
) -> Result<StatusCode, KeeperError> {
    reset(&app, &scope, &asker).await
}

/// Takes an app's fallback of the day back
#[utoipa::path(delete, path = "/api/v1/orgs/{org}/apps/{app}/sticky", tag = "sticky",
    params(OrgAt, AppAt), responses((status = 204)))]
pub(crate) async fn reset_app(
    State(app): State<App>,
    Whose(scope): Whose,
    asker: Asker,
) -> Result<StatusCode, KeeperError> {
    reset(&app, &scope, &asker).await
}
