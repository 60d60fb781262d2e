//! A client's secret for a pair of tokens, and a refresh token for another access token.

use crate::keeper::error::KeeperError;
use crate::keeper::metrics::metrics;
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_keeper::ids::Scope;

use super::form::JsonOrForm;
use crate::keeper::place::{Peer, keeper};
use crate::keeper::rates::allowances;
use weir_framework::app::App;
use weir_framework::auth::grant::{Grant, Grants, Tenant};
use weir_framework::auth::{AuthError, Holder, Secret};
use weir_framework::{ApiError, Code};

const CLIENT_CREDENTIALS: &str = "client_credentials";
const REFRESH_TOKEN: &str = "refresh_token";
const BEARER: &str = "Bearer";

/// A client that wants tokens.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenRequest {
    /// `org-{org}` or `org-{org}-app-{app}`.
    #[schema(min_length = 1, max_length = 256)]
    client_id: String,
    /// Its secret.
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    client_secret: Secret,
    /// Always `client_credentials`.
    #[schema(pattern = "^client_credentials$")]
    grant_type: String,
    /// Taken and not used: a client has what its id says.
    #[serde(default)]
    #[schema(max_length = 4096)]
    #[expect(dead_code, reason = "clients of OAuth may send it")]
    scope: Option<String>,
}

/// A pair of tokens.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenAnswer {
    /// To make requests.
    pub access_token: String,
    /// To get further access tokens.
    pub refresh_token: String,
    /// Always `Bearer`.
    pub token_type: String,
    /// How long the access token counts, in seconds.
    pub expires_in: u64,
    /// How long the refresh token counts, in seconds.
    pub refresh_expires_in: u64,
    /// What they may do: `org:{org}`, and `app:{app}` for an app.
    pub scope: String,
}

/// A client that wants another access token.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RefreshRequest {
    /// Its refresh token.
    #[schema(value_type = String, min_length = 1, max_length = 8192)]
    refresh_token: Secret,
    /// Always `refresh_token`.
    #[serde(default)]
    #[schema(pattern = "^refresh_token$")]
    grant_type: Option<String>,
}

/// An access token.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RefreshAnswer {
    /// To make requests.
    pub access_token: String,
    /// Always `Bearer`.
    pub token_type: String,
    /// How long it counts, in seconds.
    pub expires_in: u64,
    /// What it may do.
    pub scope: String,
}

/// Gives a client tokens for its secret
#[utoipa::path(post, path = "/auth/token", tag = "auth",
    request_body(content((TokenRequest = "application/json"), (TokenRequest = "application/x-www-form-urlencoded"))),
    responses((status = 200, body = TokenAnswer),
        (status = 401, description = "The client or its secret is wrong", body = weir_framework::problem::Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn token(
    State(app): State<App>,
    Peer(from): Peer,
    JsonOrForm(asked): JsonOrForm<TokenRequest>,
) -> Result<Response, KeeperError> {
    check_grant(&asked.grant_type, CLIENT_CREDENTIALS)?;
    allowances(&app)?.token(&app, &asked.client_id, from).await?;
    let secret = asked.client_secret.expose();
    let Some(scope) = keeper(&app)?.check_secret(&asked.client_id, secret).await? else {
        metrics(&app)?.token("refused");
        return Err(ApiError::new(Code::UNAUTHORIZED, "the client or its secret is wrong").into());
    };
    let pair = issue(&app, &scope).await?;
    metrics(&app)?.token("issued");
    Ok(private(pair))
}

async fn issue(app: &App, scope: &Scope) -> Result<TokenAnswer, KeeperError> {
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
    Ok(TokenAnswer {
        access_token: access.token.expose().to_owned(),
        refresh_token: refresh.token.expose().to_owned(),
        token_type: BEARER.to_owned(),
        expires_in: access.claims.exp.saturating_sub(access.claims.iat),
        refresh_expires_in: refresh.claims.exp.saturating_sub(refresh.claims.iat),
        scope: access.claims.scope.clone(),
    })
}

/// What a client may do: an org everything of its own, an app everything of itself.
fn grants(scope: &Scope) -> Result<Grants, KeeperError> {
    let org = scope.org().to_string();
    let tenant = match scope.app() {
        None => Tenant::Org(org),
        Some(app) => Tenant::App { org, app: app.to_string() },
    };
    let wrong = |error: weir_framework::auth::grant::GrantError| {
        ApiError::new(Code::INTERNAL_ERROR, "the server's log says why, under this request's id")
            .because(error.to_string())
    };
    Ok(Grants::new([Grant::write(tenant)]).map_err(wrong)?)
}

/// Gives a client another access token
#[utoipa::path(post, path = "/auth/refresh", tag = "auth",
    request_body(content((RefreshRequest = "application/json"), (RefreshRequest = "application/x-www-form-urlencoded"))),
    responses((status = 200, body = RefreshAnswer),
        (status = 401, description = "The token does not count", body = weir_framework::problem::Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn refresh(
    State(app): State<App>,
    JsonOrForm(asked): JsonOrForm<RefreshRequest>,
) -> Result<Response, KeeperError> {
    check_grant(asked.grant_type.as_deref().unwrap_or(REFRESH_TOKEN), REFRESH_TOKEN)?;
    let token = asked.refresh_token.expose();
    let subject = app.auth().subject_of(token).map_err(|error| refused(error.into()))?;
    allowances(&app)?.refresh(&app, &subject).await?;
    let access = app.auth().refresh(token).await.map_err(refused)?;
    metrics(&app)?.token("refreshed");
    Ok(private(RefreshAnswer {
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

/// A token does not count, or nobody can tell now.
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

/// An answer for its caller alone.
fn private(answer: impl Serialize) -> Response {
    let headers = [(header::CACHE_CONTROL, "no-store"), (header::PRAGMA, "no-cache")];
    (headers, Json(answer)).into_response()
}
