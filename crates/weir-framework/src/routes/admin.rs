//! The operator's keys: rotating the admin key and the signing key, and publishing public keys.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use weir_api::server::{NewAdminKey, NewSigningKey};
use weir_table::Error;

use crate::app::App;
use crate::problem::Problem;
use crate::{ApiError, Code};

/// Replaces the admin key
#[utoipa::path(post, path = "/v1/admin-key/rotate", tag = "access", responses(
    (status = 200, body = NewAdminKey),
    (status = 409, description = "Configuration sets the key", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn rotate_admin_key(
    State(app): State<App>,
) -> Result<impl IntoResponse, ApiError> {
    let rotated = app.auth().rotate_admin_key().await;
    let key = rotated.map_err(not_ours)?;
    let admin_key = key.expose().to_owned();
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(NewAdminKey { admin_key })))
}

/// Replaces the signing key; existing tokens stay valid
#[utoipa::path(post, path = "/v1/signing-key/rotate", tag = "access", responses(
    (status = 200, body = NewSigningKey),
    (status = 409, description = "Configuration sets the key", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn rotate_signing_key(
    State(app): State<App>,
) -> Result<Json<NewSigningKey>, ApiError> {
    app.auth().rotate_signing_key().await.map_err(not_ours)?;
    let kid = app.auth().current_kid();
    Ok(Json(NewSigningKey { kid }))
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
pub(crate) async fn jwks(State(app): State<App>) -> impl IntoResponse {
    let cached = [(header::CACHE_CONTROL, "public, max-age=300")];
    (cached, Json(app.auth().jwks()))
}
