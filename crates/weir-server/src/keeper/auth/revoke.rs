//! The route that revokes tokens (RFC 7009).

use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use weir_api::keeper::RevocationRequest;

use super::form::JsonOrForm;
use super::issue::refused;
use crate::keeper::error::KeeperError;
use weir_framework::app::App;
use weir_framework::auth::{AuthError, Secret};
use weir_framework::authorize::{API_KEY, Local};
use weir_framework::security::{Action, SecurityTrail};
use weir_framework::{ApiError, Code};

/// Whether the caller is the operator: with the admin key, or through the socket of the data folder.
pub(crate) struct IsOperator(bool);

impl FromRequestParts<App> for IsOperator {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<IsOperator, KeeperError> {
        if parts.extensions.get::<Local>().is_some() {
            return Ok(IsOperator(true));
        }
        let Some(key) = parts.headers.get(&API_KEY).and_then(|key| key.to_str().ok()) else {
            return Ok(IsOperator(false));
        };
        let checked = app.auth().authenticate_key(key).await;
        if let Err(AuthError::WrongKey) = &checked {
            let Ok(trail) = SecurityTrail::from_request_parts(parts, app).await;
            trail.sign_in_failed(None, "wrong_key").await;
        }
        checked.map_err(refused)?;
        Ok(IsOperator(true))
    }
}

/// Revokes a token, or all tokens of a client
///
/// The response for an unknown or expired token is the same. To revoke all tokens of a client, send one of them that is valid,
/// or the client id with the admin key.
#[utoipa::path(post, path = "/auth/revoke", tag = "auth",
    request_body(content((RevocationRequest = "application/json"), (RevocationRequest = "application/x-www-form-urlencoded"))),
    responses((status = 204),
        (status = 401, description = "All tokens of a client were to be revoked, and the credentials are not valid.",
            body = weir_framework::problem::Problem, content_type = "application/problem+json")))]
pub(crate) async fn revoke(
    State(app): State<App>,
    IsOperator(is_operator): IsOperator,
    trail: SecurityTrail,
    JsonOrForm(request): JsonOrForm<RevocationRequest>,
) -> Result<StatusCode, KeeperError> {
    let is_empty = |token: &Secret| token.expose().is_empty();
    match (request.all, &request.token, &request.client_id) {
        (_, Some(token), _) if is_empty(token) => {
            return Err(ApiError::invalid("token", "is empty").into());
        }
        (false, Some(token), None) => {
            if let Some(claims) = app.auth().revoke(token.expose()).await? {
                let trail = if is_operator { trail } else { trail.by(claims.sub.as_str()) };
                trail.record_with(Action::TokenRevoked, &claims.jti, &claims.sub).await;
            }
        }
        (true, Some(token), None) => {
            let subject = app.auth().revoke_all_of(token.expose()).await.map_err(refused)?;
            let trail = if is_operator { trail } else { trail.by(subject.as_str()) };
            trail.record(Action::TokensRevoked, &subject).await;
        }
        (true, None, Some(client)) if is_operator => {
            app.auth().revoke_all(client).await?;
            trail.record(Action::TokensRevoked, client).await;
        }
        (true, None, Some(_)) => {
            let detail = "revoking all tokens of a client requires one of them, or the admin key";
            return Err(ApiError::new(Code::UNAUTHORIZED, detail).into());
        }
        (_, Some(_), Some(_)) => {
            return Err(ApiError::invalid("client_id", "cannot be combined with `token`").into());
        }
        (_, None, _) => return Err(ApiError::invalid("token", "is missing").into()),
    }
    Ok(StatusCode::NO_CONTENT)
}
