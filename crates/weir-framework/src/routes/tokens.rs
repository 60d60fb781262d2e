//! Tokens for operators and programs: issue, list, revoke; and the caller's identity.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use weir_api::server::{MadeToken, NewToken, Token, Whoami};

use crate::app::App;
use crate::auth::grant::Grants;
use crate::auth::issued::IssuedToken;
use crate::authorize::Caller;
use crate::error::ApiError;
use crate::extract::{Body, Path, Query};
use crate::names::checked_name;
use crate::page::{Page, PageLimit as _, PageParams, page_response};
use crate::security::{Action, SecurityTrail};
use crate::time::rfc3339;

/// Default lifetime of a token: a quarter of a year.
const LIFETIME_DEFAULT_SECS: u64 = 90 * 24 * 60 * 60;
/// Maximum lifetime of a token.
const LIFETIME_MAX_SECS: u64 = 366 * 24 * 60 * 60;
/// Maximum length of a token's name in characters, so that the widest ones still fit into the token's subject.
const NAME_MAX: usize = 100;

/// Issues a token
#[utoipa::path(post, path = "/v1/tokens", tag = "access", request_body = NewToken,
    responses((status = 201, body = MadeToken)))]
pub(crate) async fn issue(
    State(app): State<App>,
    trail: SecurityTrail,
    Body(new): Body<NewToken>,
) -> Result<impl IntoResponse, ApiError> {
    let name = checked_name(&new.name, NAME_MAX);
    let name = name.map_err(|problem| ApiError::invalid("name", problem))?;
    let grants = Grants::parse(&new.scope, app.auth().scope_kinds())
        .map_err(|error| ApiError::invalid("scope", error.to_string()))?;
    if !grants.is_admin() && grants.list().is_empty() {
        return Err(ApiError::invalid("scope", "grants nothing"));
    }
    let lifetime_secs = match new.expires_in.unwrap_or(LIFETIME_DEFAULT_SECS) {
        secs @ 1..=LIFETIME_MAX_SECS => secs,
        _ => {
            return Err(ApiError::invalid(
                "expires_in",
                format!("must be from 1 to {LIFETIME_MAX_SECS}"),
            ));
        }
    };
    let minted = app.auth().issue_operator(name, &grants, lifetime_secs).await?;
    let detail = format!("{name:?} with the scope {}", minted.claims.scope);
    trail.record_with(Action::TokenIssued, &minted.claims.jti, &detail).await;
    let made = MadeToken {
        id: minted.claims.jti.clone(),
        name: name.to_owned(),
        scope: minted.claims.scope.clone(),
        access_token: minted.token.expose().to_owned(),
        token_type: "Bearer".to_owned(),
        expires_in: lifetime_secs,
    };
    Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(made)))
}

/// Lists the tokens that have not expired
#[utoipa::path(get, path = "/v1/tokens", tag = "access", params(PageParams),
    responses((status = 200, body = Page<Token>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Token>>, ApiError> {
    let tokens = app.auth().operator_tokens(page.checked_limit()?, page.cursor.as_deref()).await?;
    Ok(page_response(tokens, token))
}

/// Revokes a token
#[utoipa::path(delete, path = "/v1/tokens/{id}", tag = "access",
    params(("id" = String, Path, description = "The token's id", format = "uuid")),
    responses((status = 200, body = Token)))]
pub(crate) async fn revoke(
    State(app): State<App>,
    trail: SecurityTrail,
    Path(id): Path<String>,
) -> Result<Json<Token>, ApiError> {
    let revoked = app.auth().revoke_operator(&id).await?;
    let revoked = revoked.ok_or_else(|| ApiError::not_found(format!("token {id:?}")))?;
    trail.record_with(Action::TokenRevoked, &revoked.jti, &format!("{:?}", revoked.name)).await;
    Ok(Json(token(revoked)))
}

/// Returns the caller's identity
#[utoipa::path(get, path = "/v1/whoami", tag = "access", responses((status = 200, body = Whoami)))]
pub(crate) async fn whoami(Caller(caller): Caller) -> Json<Whoami> {
    Json(Whoami {
        subject: caller.subject.clone(),
        scope: caller.grants.to_string(),
        expires_at: caller.claims.as_ref().map(|claims| rfc3339(claims.exp * 1000)),
    })
}

fn token(token: IssuedToken) -> Token {
    let time = |secs: u64| rfc3339(secs.saturating_mul(1000));
    Token {
        session: token.session_of.is_some(),
        id: token.jti,
        name: token.name,
        scope: token.scope,
        created_at: time(token.created),
        expires_at: time(token.expires),
        revoked_at: token.revoked.map(time),
    }
}
