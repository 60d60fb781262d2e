//! Routes of client secrets: the operator rotates a secret or cancels that, and whoever has the one-time token fetches it.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use weir_api::keeper::{
    AppParam, ClientSecret, OrgParam, RotationRequest, RotationResponse, SecretParams,
    SecretRequest,
};
use weir_api::secret::Secret;
use weir_keeper::bounds::GRACE_HOURS_DEFAULT;
use weir_keeper::credentials::RetrievalOutcome;
use weir_keeper::ids::Scope;

use super::client_tokens::ClientTokens;
use super::convert;
use super::error::KeeperError;
use super::path::{TargetPath, keeper};
use super::rates::allowances;
use super::twin::twin_routes;
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::extract::{OptionalBody, Query};
use weir_framework::security::{Action, SecurityTrail};
use weir_framework::time::time;
use weir_framework::{ApiError, Code};

twin_routes! {
    post() => rotate(actor: Actor, trail: SecurityTrail, request: OptionalBody<RotationRequest>) -> Result<Response, KeeperError>,
    described by (tag = "credentials", request_body = Option<RotationRequest>,
        responses((status = 200, body = RotationResponse)));
    /// Creates a one-time link to a new secret of an org
    ///
    /// Earlier links become void.
    rotate_org = "/api/v1/orgs/{org}/credentials/rotate";
    /// Creates a one-time link to a new secret of an app
    ///
    /// Earlier links become void.
    rotate_app = "/api/v1/orgs/{org}/apps/{app}/credentials/rotate";

    delete() => cancel(actor: Actor, trail: SecurityTrail) -> Result<StatusCode, KeeperError>,
    described by (tag = "credentials", responses((status = 204)));
    /// Cancels the rotation of an org's secret
    ///
    /// The one-time link becomes void, and the secret stays as it is.
    cancel_org = "/api/v1/orgs/{org}/credentials/rotate";
    /// Cancels the rotation of an app's secret
    ///
    /// The one-time link becomes void, and the secret stays as it is.
    cancel_app = "/api/v1/orgs/{org}/apps/{app}/credentials/rotate";

    get(SecretParams) => secret(method: Method, headers: HeaderMap, trail: SecurityTrail, params: Query<SecretParams>) -> Result<Response, KeeperError>,
    described by (tag = "credentials", responses((status = 200, body = ClientSecret),
        (status = 401, description = "The one-time token is missing, wrong, void or has expired.",
            body = weir_framework::problem::Problem, content_type = "application/problem+json")));
    /// Creates an org's secret and returns it, once
    ///
    /// The one-time token is in the query, or in `Authorization: Bearer`.
    secret_org = "/api/v1/orgs/{org}/credentials/secret";
    /// Creates an app's secret and returns it, once
    ///
    /// The one-time token is in the query, or in `Authorization: Bearer`.
    secret_app = "/api/v1/orgs/{org}/apps/{app}/credentials/secret";

    post() => redeem(headers: HeaderMap, trail: SecurityTrail, request: OptionalBody<SecretRequest>) -> Result<Response, KeeperError>,
    described by (tag = "credentials", request_body = Option<SecretRequest>, responses((status = 200, body = ClientSecret),
        (status = 401, description = "The one-time token is missing, wrong, void or has expired.",
            body = weir_framework::problem::Problem, content_type = "application/problem+json")));
    /// Creates an org's secret and returns it, once
    ///
    /// The one-time token is in the body, or in `Authorization: Bearer`.
    redeem_org = "/api/v1/orgs/{org}/credentials/secret";
    /// Creates an app's secret and returns it, once
    ///
    /// The one-time token is in the body, or in `Authorization: Bearer`.
    redeem_app = "/api/v1/orgs/{org}/apps/{app}/credentials/secret";
}

async fn rotate(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
    trail: SecurityTrail,
    OptionalBody(request): OptionalBody<RotationRequest>,
) -> Result<Response, KeeperError> {
    allowances(&app)?.rotate(&app, &actor).await?;
    let grace = request.grace_period_hours.unwrap_or(GRACE_HOURS_DEFAULT);
    let rotation = keeper(&app)?.rotate_credentials(&scope, grace, actor.name()).await?;
    trail.record(Action::SecretRotated, &scope.client_id()).await;
    Ok(uncached(convert::rotation_response(&scope, &rotation)))
}

async fn cancel(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
    trail: SecurityTrail,
) -> Result<StatusCode, KeeperError> {
    allowances(&app)?.rotate(&app, &actor).await?;
    keeper(&app)?.cancel_rotation(&scope, actor.name()).await?;
    trail.record(Action::SecretRotationCancelled, &scope.client_id()).await;
    Ok(StatusCode::NO_CONTENT)
}

async fn secret(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    method: Method,
    headers: HeaderMap,
    trail: SecurityTrail,
    Query(params): Query<SecretParams>,
) -> Result<Response, KeeperError> {
    // A response without its body would use up the token and lose the secret.
    if method == Method::HEAD {
        let detail = "a secret must be fetched with GET";
        return Err(ApiError::new(Code::METHOD_NOT_ALLOWED, detail).into());
    }
    retrieve(&app, &scope, one_time_token(params.token, &headers)?, trail).await
}

async fn redeem(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    headers: HeaderMap,
    trail: SecurityTrail,
    OptionalBody(request): OptionalBody<SecretRequest>,
) -> Result<Response, KeeperError> {
    retrieve(&app, &scope, one_time_token(request.token, &headers)?, trail).await
}

/// The one-time token of a request. Where the request names one, its `Authorization` is not read: it may have another purpose.
fn one_time_token(named: Option<Secret>, headers: &HeaderMap) -> Result<Secret, KeeperError> {
    if let Some(token) = named {
        return Ok(token);
    }
    let header = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = header.and_then(|text| text.split_once(' '));
    match bearer {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
            Ok(Secret::new(token.trim()))
        }
        _ => {
            let detail = "the one-time token is missing: send it as `Authorization: Bearer TOKEN`, as `token` in the body of a \
                          POST, or as `?token=TOKEN`";
            Err(ApiError::new(Code::UNAUTHORIZED, detail).into())
        }
    }
}

async fn retrieve(
    app: &App,
    scope: &Scope,
    token: Secret,
    trail: SecurityTrail,
) -> Result<Response, KeeperError> {
    let retrieved = keeper(app)?.retrieve_secret(scope, token.expose(), &ClientTokens(app)).await?;
    let client_id = scope.client_id();
    match &retrieved {
        RetrievalOutcome::Secret { .. } => trail.record(Action::SecretRetrieved, &client_id).await,
        _ => trail.sign_in_failed(Some(&client_id), "one_time_token").await,
    }
    match retrieved {
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
        RetrievalOutcome::Void => {
            let detail =
                "a later rotation replaced this one-time token, or its rotation was cancelled";
            Err(ApiError::new(Code::UNAUTHORIZED, detail).into())
        }
        RetrievalOutcome::Expired | RetrievalOutcome::Unknown => {
            let detail = "the one-time token has expired, or does not belong to this client; another rotation creates a new one";
            Err(ApiError::new(Code::UNAUTHORIZED, detail).into())
        }
    }
}

/// A response that no cache may store.
fn uncached(body: impl Serialize) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()
}
