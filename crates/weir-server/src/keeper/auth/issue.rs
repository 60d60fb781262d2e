//! Routes that issue tokens: a pair of tokens for a secret, and an access token for a refresh token.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use weir_api::keeper::{RefreshRequest, RefreshResponse, TokenRequest, TokenResponse};
use weir_keeper::ids::Scope;

use super::form::JsonOrForm;
use crate::keeper::error::KeeperError;
use crate::keeper::metrics::metrics;
use crate::keeper::path::keeper;
use crate::keeper::rates::{Attempt, allowances};
use crate::keeper::scopes::ORG;
use weir_framework::app::App;
use weir_framework::auth::grant::{Access, Grant, Grants};
use weir_framework::auth::{AuthError, Holder};
use weir_framework::client_address::ClientAddress;
use weir_framework::security::{Action, SecurityTrail};
use weir_framework::{ApiError, Code};

const CLIENT_CREDENTIALS: &str = "client_credentials";
const REFRESH_TOKEN: &str = "refresh_token";
const BEARER: &str = "Bearer";

/// Issues a pair of tokens for a client's secret
#[utoipa::path(post, path = "/auth/token", tag = "auth",
    request_body(content((TokenRequest = "application/json"), (TokenRequest = "application/x-www-form-urlencoded"))),
    responses((status = 200, body = TokenResponse),
        (status = 401, description = "The client id or the secret is wrong.", body = weir_framework::problem::Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn token(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    trail: SecurityTrail,
    JsonOrForm(request): JsonOrForm<TokenRequest>,
) -> Result<Response, KeeperError> {
    check_grant(&request.grant_type, CLIENT_CREDENTIALS)?;
    let (client_id, secret) = (request.client_id.as_str(), request.client_secret.expose());
    let (keeper, allowances) = (keeper(&app)?, allowances(&app)?);
    let may_be_right = keeper.has_known_secret_id(client_id, secret).await?;
    let attempt = Attempt { client_id, address, may_be_right };
    allowances.attempt(&app, &attempt).await?;
    let checked = keeper.verify_secret(client_id, secret).await;
    let Some(scope) = checked.inspect_err(|_| allowances.forget_failure(&app, &attempt))? else {
        metrics(&app)?.token("refused");
        trail.sign_in_failed(known_form(client_id), "wrong_secret").await;
        return Err(
            ApiError::new(Code::UNAUTHORIZED, "the client id or the secret is wrong").into()
        );
    };
    allowances.signed_in(&app, &attempt).await?;
    let pair = issue(&app, &scope, trail).await?;
    metrics(&app)?.token("issued");
    Ok(uncached(pair))
}

/// A client id that may be recorded. What does not have the form of one may be a secret in the wrong field.
fn known_form(client_id: &str) -> Option<&str> {
    Scope::parse_client_id(client_id).is_ok().then_some(client_id)
}

async fn issue(
    app: &App,
    scope: &Scope,
    trail: SecurityTrail,
) -> Result<TokenResponse, KeeperError> {
    let grants = grants(scope)?;
    let subject = scope.client_id();
    let holder = Holder {
        subject: &subject,
        org_id: Some(scope.org().as_str()),
        app_id: scope.app().map(|app| app.as_str()),
        grants: &grants,
    };
    let pair = app.auth().issue_pair(holder).await?;
    let (access, refresh) = (&pair.access, &pair.refresh);
    trail.by(subject.as_str()).record(Action::TokenIssued, &refresh.claims.jti).await;
    Ok(TokenResponse {
        access_token: access.token.expose().to_owned(),
        refresh_token: refresh.token.expose().to_owned(),
        token_type: BEARER.to_owned(),
        expires_in: access.claims.exp.saturating_sub(access.claims.iat),
        refresh_expires_in: refresh.claims.exp.saturating_sub(refresh.claims.iat),
        scope: access.claims.scope.clone(),
    })
}

/// The grants of a client: its whole org, or its own app.
fn grants(scope: &Scope) -> Result<Grants, KeeperError> {
    let app = scope.app().map(|app| app.as_str());
    let ids: Vec<&str> = [scope.org().as_str()].into_iter().chain(app).collect();
    let wrong = |error: weir_framework::auth::grant::GrantError| {
        ApiError::new(Code::INTERNAL_ERROR, "the server's log says why, under this request's id")
            .because(error.to_string())
    };
    Ok(Grants::new([Grant::new(&ORG, &ids, Access::Write)]).map_err(wrong)?)
}

/// Issues an access token for a refresh token
#[utoipa::path(post, path = "/auth/refresh", tag = "auth",
    request_body(content((RefreshRequest = "application/json"), (RefreshRequest = "application/x-www-form-urlencoded"))),
    responses((status = 200, body = RefreshResponse),
        (status = 401, description = "The refresh token is not valid.", body = weir_framework::problem::Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn refresh(
    State(app): State<App>,
    trail: SecurityTrail,
    JsonOrForm(request): JsonOrForm<RefreshRequest>,
) -> Result<Response, KeeperError> {
    check_grant(request.grant_type.as_deref().unwrap_or(REFRESH_TOKEN), REFRESH_TOKEN)?;
    let access = match app.auth().refresh(request.refresh_token.expose()).await {
        Ok(access) => access,
        Err(error) => {
            if let AuthError::Token(reason) = &error {
                trail.sign_in_failed(None, reason.name()).await;
            }
            return Err(refused(error).into());
        }
    };
    // After the check: a refresh token that was revoked does not use up the limit of its client.
    allowances(&app)?.refresh(&app, &access.claims.sub).await?;
    metrics(&app)?.token("refreshed");
    let trail = trail.by(access.claims.sub.as_str());
    trail.record(Action::TokenRefreshed, &access.claims.jti).await;
    Ok(uncached(RefreshResponse {
        access_token: access.token.expose().to_owned(),
        token_type: BEARER.to_owned(),
        expires_in: access.claims.exp.saturating_sub(access.claims.iat),
        scope: access.claims.scope.clone(),
    }))
}

fn check_grant(given: &str, wanted: &'static str) -> Result<(), KeeperError> {
    if given == wanted {
        return Ok(());
    }
    Err(ApiError::invalid("grant_type", format!("must be {wanted}")).into())
}

/// The error of a token or key that is not valid, or that could not be checked.
pub(super) fn refused(error: AuthError) -> ApiError {
    match error {
        AuthError::Store(error) => error.into(),
        AuthError::Token(reason) => {
            let error = ApiError::new(Code::UNAUTHORIZED, "the token is not valid");
            error.because(reason.name())
        }
        _ => ApiError::new(Code::UNAUTHORIZED, "the key is not valid"),
    }
}

/// A response that no cache may store.
fn uncached(body: impl Serialize) -> Response {
    let headers = [(header::CACHE_CONTROL, "no-store"), (header::PRAGMA, "no-cache")];
    (headers, Json(body)).into_response()
}
