//! Routes of client secrets: the operator rotates a secret, and whoever has the one-time token fetches it.

use axum::Json;
use axum::extract::State;
use axum::http::{Method, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use weir_api::keeper::{
    AppParam, ClientSecret, OrgParam, RotationRequest, RotationResponse, SecretParams,
};
use weir_keeper::bounds::GRACE_HOURS_DEFAULT;
use weir_keeper::credentials::RetrievalOutcome;

use super::convert;
use super::error::KeeperError;
use super::path::{Actor, TargetPath, keeper};
use super::rates::allowances;
use weir_framework::app::App;
use weir_framework::extract::{OptionalBody, Query};
use weir_framework::time::time;
use weir_framework::{ApiError, Code};

/// A response that no cache may store.
fn uncached(body: impl Serialize) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

async fn rotate(
    app: &App,
    TargetPath(scope): TargetPath,
    actor: &Actor,
    request: &RotationRequest,
) -> Result<Response, KeeperError> {
    allowances(app)?.rotate(app, actor).await?;
    let grace = request.grace_period_hours.unwrap_or(GRACE_HOURS_DEFAULT);
    let rotation = keeper(app)?.rotate_credentials(&scope, grace, actor.name()).await?;
    Ok(uncached(convert::rotation_response(&scope, &rotation)))
}

/// Creates a one-time link to a new secret of an org
#[utoipa::path(post, path = "/api/v1/orgs/{org}/credentials/rotate", tag = "credentials",
    params(OrgParam), request_body = Option<RotationRequest>,
    responses((status = 200, body = RotationResponse)))]
pub(crate) async fn rotate_org(
    State(app): State<App>,
    path: TargetPath,
    actor: Actor,
    OptionalBody(request): OptionalBody<RotationRequest>,
) -> Result<Response, KeeperError> {
    rotate(&app, path, &actor, &request).await
}

/// Creates a one-time link to a new secret of an app
#[utoipa::path(post, path = "/api/v1/orgs/{org}/apps/{app}/credentials/rotate",
    tag = "credentials", params(OrgParam, AppParam), request_body = Option<RotationRequest>,
    responses((status = 200, body = RotationResponse)))]
pub(crate) async fn rotate_app(
    State(app): State<App>,
    path: TargetPath,
    actor: Actor,
    OptionalBody(request): OptionalBody<RotationRequest>,
) -> Result<Response, KeeperError> {
    rotate(&app, path, &actor, &request).await
}

async fn secret(
    app: &App,
    TargetPath(scope): TargetPath,
    method: &Method,
    params: &SecretParams,
) -> Result<Response, KeeperError> {
    // A response without its body would use up the token and lose the secret.
    if method == Method::HEAD {
        let detail = "a secret must be fetched with GET";
        return Err(ApiError::new(Code::METHOD_NOT_ALLOWED, detail).into());
    }
    match keeper(app)?.retrieve_secret(&scope, &params.token).await? {
        RetrievalOutcome::Secret { client_id, client_secret, retrieved_at_ms, expires_at_ms } => {
            Ok(uncached(ClientSecret {
                client_id,
                client_secret: client_secret.expose().to_owned(),
                retrieved_at: time(retrieved_at_ms),
                expires_at: time(expires_at_ms),
            }))
        }
        RetrievalOutcome::AlreadyUsed => {
            let detail = "this one-time token was already used";
            Err(ApiError::new(Code::NOT_FOUND, detail).into())
        }
        RetrievalOutcome::Expired | RetrievalOutcome::Unknown => {
            let detail = "the one-time token has expired, or does not belong to this client";
            Err(ApiError::new(Code::UNAUTHORIZED, detail).into())
        }
    }
}

/// Creates an org's secret and returns it, once
#[utoipa::path(get, path = "/api/v1/orgs/{org}/credentials/secret", tag = "credentials",
    params(OrgParam, SecretParams), responses((status = 200, body = ClientSecret),
        (status = 401, description = "The one-time token is wrong or has expired.",
            body = weir_framework::problem::Problem, content_type = "application/problem+json")))]
pub(crate) async fn secret_org(
    State(app): State<App>,
    path: TargetPath,
    method: Method,
    Query(params): Query<SecretParams>,
) -> Result<Response, KeeperError> {
    secret(&app, path, &method, &params).await
}

/// Creates an app's secret and returns it, once
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps/{app}/credentials/secret",
    tag = "credentials", params(OrgParam, AppParam, SecretParams), responses(
        (status = 200, body = ClientSecret),
        (status = 401, description = "The one-time token is wrong or has expired.",
            body = weir_framework::problem::Problem, content_type = "application/problem+json")))]
pub(crate) async fn secret_app(
    State(app): State<App>,
    path: TargetPath,
    method: Method,
    Query(params): Query<SecretParams>,
) -> Result<Response, KeeperError> {
    secret(&app, path, &method, &params).await
}
