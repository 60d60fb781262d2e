//! The operator's keys: rotating the admin key and the signing key, and publishing public keys.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use weir_api::server::{NewAdminKey, NewSigningKey, SigningKey, SigningKeyRotation};
use weir_table::Error;
use weir_table::retry::Listed;

use crate::app::App;
use crate::extract::{OptionalBody, Path};
use crate::page::{Page, page_response};
use crate::problem::Problem;
use crate::security::{Action, SecurityTrail};
use crate::{ApiError, Code};

/// Replaces the admin key
#[utoipa::path(post, path = "/v1/admin-key/rotate", tag = "access", responses(
    (status = 200, body = NewAdminKey),
    (status = 409, description = "Configuration sets the key", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn rotate_admin_key(
    State(app): State<App>,
    trail: SecurityTrail,
) -> Result<impl IntoResponse, ApiError> {
    let key = app.rotate_admin_key().await.map_err(not_ours)?;
    trail.record(Action::AdminKeyRotated, "admin").await;
    let admin_key = key.expose().to_owned();
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(NewAdminKey { admin_key })))
}

/// Replaces the signing key
///
/// Existing tokens stay valid until they expire. With `end_previous` the replaced key ends, and all tokens that it signed are
/// refused: by this instance at once, by others within `auth.revocation_cache_secs`.
#[utoipa::path(post, path = "/v1/signing-key/rotate", tag = "access",
    request_body = Option<SigningKeyRotation>, responses(
    (status = 200, body = NewSigningKey),
    (status = 409, description = "Configuration sets the key", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn rotate_signing_key(
    State(app): State<App>,
    trail: SecurityTrail,
    OptionalBody(request): OptionalBody<SigningKeyRotation>,
) -> Result<Json<NewSigningKey>, ApiError> {
    let previous = app.auth().rotate_signing_key().await.map_err(not_ours)?;
    let kid = app.auth().current_kid();
    trail.record_with(Action::SigningKeyRotated, &kid, &format!("replaced {previous}")).await;
    if request.end_previous {
        app.auth().end_signing_key(&previous).await?;
        trail.record(Action::SigningKeyEnded, &previous).await;
    }
    Ok(Json(NewSigningKey { kid, previous_kid: previous, previous_ended: request.end_previous }))
}

/// Lists the keys that verify tokens
#[utoipa::path(get, path = "/v1/signing-keys", tag = "access",
    responses((status = 200, body = Page<SigningKey>)))]
pub(crate) async fn signing_keys(
    State(app): State<App>,
) -> Result<Json<Page<SigningKey>>, ApiError> {
    let current = app.auth().current_kid();
    let kids = Listed { items: app.auth().signing_keys().await?, cursor: None };
    Ok(page_response(kids, |kid| SigningKey { signs: kid == current, kid }))
}

/// Ends a signing key that was replaced
///
/// All tokens that it signed are refused: by this instance at once, by others within `auth.revocation_cache_secs`.
#[utoipa::path(delete, path = "/v1/signing-keys/{kid}", tag = "access",
    params(("kid" = String, Path, description = "The key's id")),
    responses((status = 204), (status = 409, description = "The key signs tokens; replace it first", body = Problem,
        content_type = "application/problem+json")))]
pub(crate) async fn end_signing_key(
    State(app): State<App>,
    trail: SecurityTrail,
    Path(kid): Path<String>,
) -> Result<StatusCode, ApiError> {
    let is_ended = app.auth().end_signing_key(&kid).await.map_err(|error| match error {
        Error::Invalid { field, problem } => {
            ApiError::new(Code::STATE_CONFLICT, format!("{field}: {problem}"))
        }
        other => other.into(),
    })?;
    if !is_ended {
        return Err(ApiError::not_found(format!("signing key {kid:?}")));
    }
    trail.record(Action::SigningKeyEnded, &kid).await;
    Ok(StatusCode::NO_CONTENT)
}

/// The server cannot replace a key that its configuration sets; the request itself is valid.
fn not_ours(error: Error) -> ApiError {
    match error {
        Error::Invalid { field, problem } => {
            ApiError::new(Code::SET_BY_CONFIGURATION, format!("{field}: {problem}"))
                .with("field", field)
        }
        other => other.into(),
    }
}

/// Returns the public keys that verify tokens
#[utoipa::path(get, path = "/.well-known/jwks.json", tag = "access",
    responses((status = 200, description = "A JSON Web Key Set", body = Object)))]
pub(crate) async fn jwks(State(app): State<App>) -> Result<impl IntoResponse, ApiError> {
    let cached = [(header::CACHE_CONTROL, "public, max-age=300")];
    Ok((cached, Json(app.auth().jwks().await?)))
}
