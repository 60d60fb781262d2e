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
use super::path::{TargetPath, keeper};
use super::rates::allowances;
use super::twin::twin_routes;
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::extract::{OptionalBody, Query};
use weir_framework::time::time;
use weir_framework::{ApiError, Code};

twin_routes! {
    post() => rotate(actor: Actor, request: OptionalBody<RotationRequest>) -> Result<Response, KeeperError>,
    described by (tag = "credentials", request_body = Option<RotationRequest>,
        responses((status = 200, body = RotationResponse)));
    /// Creates a one-time link to a new secret of an org
    rotate_org = "/api/v1/orgs/{org}/credentials/rotate";
    /// Creates a one-time link to a new secret of an app
    rotate_app = "/api/v1/orgs/{org}/apps/{app}/credentials/rotate";

    get(SecretParams) => secret(method: Method, params: Query<SecretParams>) -> Result<Response, KeeperError>,
    described by (tag = "credentials", responses((status = 200, body = ClientSecret),
        (status = 401, description = "The one-time token is wrong or has expired.",
            body = weir_framework::problem::Problem, content_type = "application/problem+json")));
    /// Creates an org's secret and returns it, once
    secret_org = "/api/v1/orgs/{org}/credentials/secret";
    /// Creates an app's secret and returns it, once
    secret_app = "/api/v1/orgs/{org}/apps/{app}/credentials/secret";
}

async fn rotate(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
    OptionalBody(request): OptionalBody<RotationRequest>,
) -> Result<Response, KeeperError> {
    allowances(&app)?.rotate(&app, &actor).await?;
    let grace = request.grace_period_hours.unwrap_or(GRACE_HOURS_DEFAULT);
    let rotation = keeper(&app)?.rotate_credentials(&scope, grace, actor.name()).await?;
    Ok(uncached(convert::rotation_response(&scope, &rotation)))
}

async fn secret(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    method: Method,
    Query(params): Query<SecretParams>,
) -> Result<Response, KeeperError> {
    // A response without its body would use up the token and lose the secret.
    if method == Method::HEAD {
        let detail = "a secret must be fetched with GET";
        return Err(ApiError::new(Code::METHOD_NOT_ALLOWED, detail).into());
    }
    match keeper(&app)?.retrieve_secret(&scope, &params.token).await? {
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

/// A response that no cache may store.
fn uncached(body: impl Serialize) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()
}
