//! Taking tokens back (RFC 7009).

use crate::keeper::error::KeeperError;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::Deserialize;
use utoipa::ToSchema;

use super::form::JsonOrForm;
use super::issue::refused;
use weir_framework::app::App;
use weir_framework::auth::Secret;
use weir_framework::authorize::{API_KEY, Local};
use weir_framework::{ApiError, Code};

/// What to take back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RevokeRequest {
    /// The token, of either type. Tokens that came from a refresh token go with it.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 8192)]
    token: Option<Secret>,
    /// Which type it is; it is found out anyway.
    #[serde(default)]
    #[schema(max_length = 64)]
    #[expect(dead_code, reason = "clients of OAuth may send it")]
    token_type_hint: Option<String>,
    /// Whether to take all tokens of the client back that were given so far.
    #[serde(default)]
    #[schema(default = false)]
    all: bool,
    /// The client, where the operator takes all of its tokens back with the admin key and without one of them.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    client_id: Option<String>,
}

/// Whether the operator asks, with the admin key or through the socket.
pub(crate) struct Operator(bool);

impl FromRequestParts<App> for Operator {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Operator, KeeperError> {
        if parts.extensions.get::<Local>().is_some() {
            return Ok(Operator(true));
        }
        let Some(key) = parts.headers.get(&API_KEY).and_then(|key| key.to_str().ok()) else {
            return Ok(Operator(false));
        };
        app.auth().authenticate_key(key).await.map_err(refused)?;
        Ok(Operator(true))
    }
}

/// Takes a token back, or all tokens of a client
///
/// A token that is not known, or counts no longer, is answered alike. All tokens are taken back for one of them that
/// counts, or for the admin key and the client's id.
#[utoipa::path(post, path = "/auth/revoke", tag = "auth",
    request_body(content((RevokeRequest = "application/json"), (RevokeRequest = "application/x-www-form-urlencoded"))),
    responses((status = 204),
        (status = 401, description = "The token does not count, and all were to be taken back",
            body = weir_framework::problem::Problem, content_type = "application/problem+json")))]
pub(crate) async fn revoke(
    State(app): State<App>,
    Operator(is_operator): Operator,
    JsonOrForm(asked): JsonOrForm<RevokeRequest>,
) -> Result<StatusCode, KeeperError> {
    let is_empty = |token: &Secret| token.expose().is_empty();
    match (asked.all, &asked.token, &asked.client_id) {
        (_, Some(token), _) if is_empty(token) => {
            return Err(ApiError::invalid("token", "is empty").into());
        }
        (false, Some(token), None) => {
            app.auth().revoke(token.expose()).await?;
        }
        (true, Some(token), None) => {
            app.auth().revoke_all_of(token.expose()).await.map_err(refused)?;
        }
        (true, None, Some(client)) if is_operator => app.auth().revoke_all(client).await?,
        (true, None, Some(_)) => {
            let detail = "all tokens of a client are taken back with one of them, or the admin key";
            return Err(ApiError::new(Code::UNAUTHORIZED, detail).into());
        }
        (_, Some(_), Some(_)) => {
            return Err(
                ApiError::invalid("client_id", "is whose the token is; leave it out").into()
            );
        }
        (_, None, _) => return Err(ApiError::invalid("token", "is missing").into()),
    }
    Ok(StatusCode::NO_CONTENT)
}
