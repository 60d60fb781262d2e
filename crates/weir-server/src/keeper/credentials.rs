//! Secrets of clients: rotated by the operator, fetched once by whoever has the one-time token.

use crate::keeper::error::KeeperError;
use axum::Json;
use axum::extract::State;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use weir_keeper::bounds::GRACE_HOURS_DEFAULT;
use weir_keeper::credentials::Redeemed;

use super::configured::{SecretRetrieval, time};
use super::optional::Optional;
use super::place::{Asker, Whose, keeper};
use super::rates::allowances;
use super::shapes::{AppAt, OrgAt};
use weir_framework::app::App;
use weir_framework::extract::Query;
use weir_framework::{ApiError, Code};

/// How to rotate.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rotate {
    /// How long the old secret goes on working once the new one was fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 168, default = 24)]
    pub grace_period_hours: Option<u32>,
}

/// A new secret was promised.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Rotated {
    /// Where it can be had.
    pub secret_retrieval: SecretRetrieval,
    /// What becomes of the old one.
    pub rotation: Rotation,
}

/// What becomes of an old secret.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Rotation {
    /// When the new one was promised.
    #[schema(format = DateTime)]
    pub rotated_at: String,
    /// When the old one stops working at the latest: the grace period runs from when the new one is fetched, and if it is
    /// not, nothing changes.
    #[schema(format = DateTime)]
    pub old_secret_expires_at: String,
    /// The grace period.
    pub grace_period_hours: u32,
}

async fn rotated(
    app: &App,
    Whose(scope): Whose,
    asker: &Asker,
    wanted: &Rotate,
) -> Result<Response, KeeperError> {
    allowances(app)?.rotate(app, asker).await?;
    let grace = wanted.grace_period_hours.unwrap_or(GRACE_HOURS_DEFAULT);
    let rotation = keeper(app)?.rotate(&scope, grace, asker.name()).await?;
    let answer = Rotated {
        secret_retrieval: SecretRetrieval::new(&scope, &rotation.retrieval),
        rotation: Rotation {
            rotated_at: time(rotation.rotated_at_ms),
            old_secret_expires_at: time(rotation.old_secret_expires_at_ms),
            grace_period_hours: rotation.grace_period_hours,
        },
    };
    Ok((StatusCode::OK, [(header::CACHE_CONTROL, "no-store")], Json(answer)).into_response())
}

/// Promises an org a new secret
#[utoipa::path(post, path = "/api/v1/orgs/{org}/credentials/rotate", tag = "credentials",
    params(OrgAt), request_body = Option<Rotate>, responses((status = 200, body = Rotated)))]
pub(crate) async fn rotate_org(
    State(app): State<App>,
    whose: Whose,
    asker: Asker,
    Optional(wanted): Optional<Rotate>,
) -> Result<Response, KeeperError> {
    rotated(&app, whose, &asker, &wanted).await
}

/// Promises an app a new secret
#[utoipa::path(post, path = "/api/v1/orgs/{org}/apps/{app}/credentials/rotate",
    tag = "credentials", params(OrgAt, AppAt), request_body = Option<Rotate>,
    responses((status = 200, body = Rotated)))]
pub(crate) async fn rotate_app(
    State(app): State<App>,
    whose: Whose,
    asker: Asker,
    Optional(wanted): Optional<Rotate>,
) -> Result<Response, KeeperError> {
    rotated(&app, whose, &asker, &wanted).await
}

/// The one-time token.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Ticket {
    /// The one-time token, of whoever set the client up or rotated its secret.
    #[param(min_length = 1, max_length = 128)]
    token: String,
}

/// A client's secret. It is told this once.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct SecretAnswer {
    /// What the client calls itself.
    pub client_id: String,
    /// Its secret.
    pub client_secret: String,
    /// When it was fetched.
    #[schema(format = DateTime)]
    pub retrieved_at: String,
    /// When the token would have expired.
    #[schema(format = DateTime)]
    pub expires_at: String,
}

async fn redeem(
    app: &App,
    Whose(scope): Whose,
    method: &Method,
    ticket: &Ticket,
) -> Result<Response, KeeperError> {
    // An answer without its body would use the token up and lose the secret.
    if method == Method::HEAD {
        return Err(ApiError::new(Code::METHOD_NOT_ALLOWED, "a secret is fetched with GET").into());
    }
    let answer = match keeper(app)?.redeem(&scope, &ticket.token).await? {
        Redeemed::Secret { client_id, client_secret, retrieved_at_ms, expires_at_ms } => {
            SecretAnswer {
                client_id,
                client_secret: client_secret.expose().to_owned(),
                retrieved_at: time(retrieved_at_ms),
                expires_at: time(expires_at_ms),
            }
        }
        Redeemed::Used => {
            return Err(ApiError::new(Code::NOT_FOUND, "this token was used already").into());
        }
        Redeemed::Expired | Redeemed::Wrong => {
            let detail = "the token is not one of this client, or has expired";
            return Err(ApiError::new(Code::UNAUTHORIZED, detail).into());
        }
    };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(answer)).into_response())
}

/// Makes an org's secret and tells it, once
#[utoipa::path(get, path = "/api/v1/orgs/{org}/credentials/secret", tag = "credentials",
    params(OrgAt, Ticket), responses((status = 200, body = SecretAnswer),
        (status = 401, description = "The token is wrong or expired", body = weir_framework::problem::Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn secret_org(
    State(app): State<App>,
    whose: Whose,
    method: Method,
    Query(ticket): Query<Ticket>,
) -> Result<Response, KeeperError> {
    redeem(&app, whose, &method, &ticket).await
}

/// Makes an app's secret and tells it, once
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps/{app}/credentials/secret",
    tag = "credentials", params(OrgAt, AppAt, Ticket), responses((status = 200, body = SecretAnswer),
        (status = 401, description = "The token is wrong or expired", body = weir_framework::problem::Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn secret_app(
    State(app): State<App>,
    whose: Whose,
    method: Method,
    Query(ticket): Query<Ticket>,
) -> Result<Response, KeeperError> {
    redeem(&app, whose, &method, &ticket).await
}
