//! Tokens for operators and programs: issue, list, revoke; and who am I.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::auth::grant::Grants;
use crate::auth::issued::IssuedToken;
use crate::authorize::Caller;
use crate::error::ApiError;
use crate::extract::{Body, Path, Query};
use crate::page::{Page, PageLimit as _, PageParams, page_response};
use crate::time::rfc3339;

/// Default lifetime of a token: a quarter of a year.
const LIFETIME_DEFAULT_SECS: u64 = 90 * 24 * 60 * 60;
/// How long a token may count.
const LIFETIME_MAX_SECS: u64 = 366 * 24 * 60 * 60;
/// Characters of a token's name; of the widest ones, as many as still fit into the token's subject.
const NAME_MAX: usize = 100;

/// The token to issue.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// Whose it is, for people.
    #[schema(
        min_length = 1,
        max_length = 100,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]+$",
        example = "nightly-report"
    )]
    pub name: String,
    /// What it may do: `admin`, or grants such as `org:ID`, `ns:NAME` and `owner:LOGIN`, separated by spaces.
    #[schema(format = "scope", min_length = 1, max_length = 4096, example = "ns:default")]
    pub scope: String,
    /// How long it counts.
    #[schema(minimum = 1, maximum = 31_622_400, default = 7_776_000)]
    pub expires_in: Option<u64>,
}

/// A newly issued token. The server shows its text once.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct MadeToken {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub name: String,
    /// What it may do.
    pub scope: String,
    /// The token.
    pub access_token: String,
    /// Always `Bearer`.
    pub token_type: String,
    /// How long it counts.
    pub expires_in: u64,
}

/// A token, without its text.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub name: String,
    /// What it may do.
    pub scope: String,
    /// When it was issued.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Until when it counts.
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// When it was revoked.
    #[schema(format = DateTime)]
    pub revoked_at: Option<String>,
}

/// Who is asking.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Whoami {
    /// Their name.
    pub subject: String,
    /// What they may do.
    pub scope: String,
    /// Until when their token counts; `null` for the admin key.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}

/// Issues a token
#[utoipa::path(post, path = "/v1/tokens", tag = "access", request_body = NewToken,
    responses((status = 201, body = MadeToken)))]
pub(crate) async fn issue(
    State(app): State<App>,
    Body(new): Body<NewToken>,
) -> Result<impl IntoResponse, ApiError> {
    if !(1..=NAME_MAX).contains(&new.name.chars().count()) || new.name.chars().any(char::is_control)
    {
        let problem =
            format!("must have 1 to {NAME_MAX} characters, none of them a control character");
        return Err(ApiError::invalid("name", problem));
    }
    let grants: Grants =
        new.scope.parse().map_err(|error| ApiError::invalid("scope", format!("{error}")))?;
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
    let minted = app.auth().issue_operator(&new.name, &grants, lifetime_secs).await?;
    let made = MadeToken {
        id: minted.claims.jti.clone(),
        name: new.name,
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
    Ok(page_response(tokens, Token::from))
}

/// Revokes a token
#[utoipa::path(delete, path = "/v1/tokens/{id}", tag = "access",
    params(("id" = String, Path, description = "The token's id", format = "uuid")),
    responses((status = 200, body = Token)))]
pub(crate) async fn revoke(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Token>, ApiError> {
    let revoked = app.auth().revoke_operator(&id).await?;
    let revoked = revoked.ok_or_else(|| ApiError::not_found(format!("token {id:?}")))?;
    Ok(Json(revoked.into()))
}

/// Tells who is asking
#[utoipa::path(get, path = "/v1/whoami", tag = "access", responses((status = 200, body = Whoami)))]
pub(crate) async fn whoami(Caller(caller): Caller) -> Json<Whoami> {
    Json(Whoami {
        subject: caller.subject.clone(),
        scope: caller.grants.to_string(),
        expires_at: caller.claims.as_ref().map(|claims| rfc3339(claims.exp * 1000)),
    })
}

impl From<IssuedToken> for Token {
    fn from(token: IssuedToken) -> Token {
        let time = |secs: u64| rfc3339(secs.saturating_mul(1000));
        Token {
            id: token.jti,
            name: token.name,
            scope: token.scope,
            created_at: time(token.created),
            expires_at: time(token.expires),
            revoked_at: token.revoked.map(time),
        }
    }
}
