//! Sessions: `/v1/session`.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use weir_api::console::{Session, SignIn, SignOutParams};
use weir_framework::app::App;
use weir_framework::auth::claims::{Claims, TokenType};
use weir_framework::auth::session::display_name;
use weir_framework::auth::{AuthError, Identity, TokenError};
use weir_framework::authorize::{Caller, check_site};
use weir_framework::client_address::ClientAddress;
use weir_framework::extract::{Body, Query};
use weir_framework::names::checked_name;
use weir_framework::security::{Action, SecurityTrail};
use weir_framework::session_cookie::SecureConnection;
use weir_framework::time::rfc3339;
use weir_framework::{ApiError, Code};

use crate::allowance::{Allowance, Rate, site_entity};

/// Longest name of a person, in characters.
const NAME_MAX: usize = 64;
/// The name of a person who gives none.
const NAME_DEFAULT: &str = "admin";
const MINUTE_SECS: u64 = 60;

/// The bound on failed sign-ins of an address.
#[derive(Debug)]
pub(super) struct SignIns(Option<Allowance>);

impl SignIns {
    pub(super) fn new(per_minute: u64) -> SignIns {
        let rate = Rate { name: "sign-in", quota: per_minute, period_secs: MINUTE_SECS };
        SignIns((per_minute > 0).then(|| Allowance::new(rate)))
    }
}

/// Opens a session of the console
///
/// The credential is the admin key or an access token; the session may do what the credential may, for at most 12 hours, and
/// ends with it. The response sets the cookie of the session. Every route accepts it instead of a credential; a request that
/// changes something also needs the session's `csrf_token` as `X-CSRF-Token`.
#[utoipa::path(post, path = "/v1/session", tag = "console", request_body = SignIn, responses(
    (status = 200, body = Session, headers(("Set-Cookie", description = "The cookie of the session"))),
    (status = 401, description = "The credential is not valid", body = weir_framework::problem::Problem,
        content_type = "application/problem+json")))]
pub(super) async fn sign_in(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    SecureConnection(is_secure): SecureConnection,
    trail: SecurityTrail,
    headers: HeaderMap,
    Body(request): Body<SignIn>,
) -> Result<Response, ApiError> {
    check_site(&headers)?;
    let name = checked_name(request.name.as_deref().unwrap_or(NAME_DEFAULT), NAME_MAX);
    let name = name.map_err(|problem| ApiError::invalid("name", problem))?;
    let (SignIns(failures), site) = (app.kept_by("console")?, address.map(site_entity));
    // A sign-in counts as a failure until it turns out to be none.
    if let (Some(failures), Some(site)) = (failures, &site) {
        failures.spend(&app, site, 1).await.map_err(ApiError::from)?;
    }
    let opened = app.auth().open_session(request.credential.expose(), name).await;
    if !matches!(&opened, Err(AuthError::WrongKey | AuthError::Token(_)))
        && let (Some(failures), Some(site)) = (failures, &site)
    {
        failures.refund(&app, site, 1);
    }
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) => return Err(refused(&trail, error).await),
    };
    let trail = trail.by(opened.claims.sub.as_str());
    trail.record(Action::SessionOpened, &opened.claims.jti).await;
    let lifetime_secs = opened.claims.exp.saturating_sub(opened.claims.iat);
    let cookie = app.session_cookie().set(opened.token.expose(), lifetime_secs, is_secure)?;
    let headers = [(header::SET_COOKIE, cookie), no_store()];
    Ok((headers, Json(session(&app, &opened.claims))).into_response())
}

/// Returns the session of the caller
#[utoipa::path(get, path = "/v1/session", tag = "console", responses((status = 200, body = Session),
    (status = 404, description = "The caller has a credential and no session", body = weir_framework::problem::Problem,
        content_type = "application/problem+json")))]
pub(super) async fn get(
    State(app): State<App>,
    Caller(caller): Caller,
) -> Result<Response, ApiError> {
    let claims = claims(&caller)?;
    Ok(([no_store()], Json(session(&app, claims))).into_response())
}

/// Ends the session of the caller, or all sessions of the same person
#[utoipa::path(delete, path = "/v1/session", tag = "console", params(SignOutParams), responses((status = 204),
    (status = 404, description = "The caller has a credential and no session", body = weir_framework::problem::Problem,
        content_type = "application/problem+json")))]
pub(super) async fn sign_out(
    State(app): State<App>,
    SecureConnection(is_secure): SecureConnection,
    Caller(caller): Caller,
    trail: SecurityTrail,
    Query(params): Query<SignOutParams>,
) -> Result<Response, ApiError> {
    let claims = claims(&caller)?;
    if params.everywhere {
        app.auth().end_sessions_of(claims).await?;
        trail.record(Action::SessionsEnded, &claims.sub).await;
    } else {
        app.auth().end_session(claims).await?;
        trail.record(Action::SessionEnded, &claims.jti).await;
    }
    let removed = [(header::SET_COOKIE, app.session_cookie().set("", 0, is_secure)?)];
    Ok((StatusCode::NO_CONTENT, removed).into_response())
}

/// The error of a failed sign-in, which is recorded.
async fn refused(trail: &SecurityTrail, error: AuthError) -> ApiError {
    let refuse = |detail: &str| ApiError::new(Code::UNAUTHORIZED, detail);
    match error {
        AuthError::Store(error) => error.into(),
        AuthError::TooLongForCookie => {
            let problem = "has too long a scope for a session; issue a token with fewer scopes";
            ApiError::invalid("credential", problem)
        }
        AuthError::Token(TokenError::Expired) => refuse("the token has expired"),
        AuthError::Token(reason) => {
            trail.sign_in_failed(None, reason.name()).await;
            refuse("the credential is not valid").because(reason.name())
        }
        _ => {
            trail.sign_in_failed(None, "wrong_key").await;
            refuse("the credential is not valid")
        }
    }
}

/// The claims of the caller's session.
fn claims(caller: &Identity) -> Result<&Claims, ApiError> {
    let claims = caller.claims.as_deref();
    let claims = claims.filter(|claims| claims.token_type == TokenType::Session);
    claims.ok_or_else(|| ApiError::not_found("a session, because the request has a credential,"))
}

fn session(app: &App, claims: &Claims) -> Session {
    let scopes: Vec<String> = claims.scope.split(' ').map(str::to_owned).collect();
    Session {
        subject: claims.sub.clone(),
        name: display_name(&claims.sub).to_owned(),
        admin: scopes.iter().any(|scope| scope == "admin"),
        scopes,
        expires_at: rfc3339(claims.exp.saturating_mul(1000)),
        csrf_token: app.auth().csrf_token(claims),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        demo: app.is_demo(),
    }
}

fn no_store() -> (header::HeaderName, header::HeaderValue) {
    (header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"))
}
