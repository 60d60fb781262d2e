//! Authentication and authorization: identifies the caller and checks the scope that the route
//! requires. Runs before the handler of every declared route, on the fast path too.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};

use crate::app::App;
use crate::auth::grant::{Access, Grants};
use crate::auth::scope_kind::ScopeKind;
use crate::auth::{AuthError, Identity, Proof, TokenError};
use crate::edge::{BodyBounds, RequestContext};
use crate::extract::{PathParams, too_large};
use crate::metrics::RouteMetrics;
use crate::required_scope::{Denied, RequiredScope, check_ids};
use crate::security::SecurityTrail;
use crate::{ApiError, Code};

/// The header of the admin key.
pub const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// The header of a session's CSRF token.
pub const CSRF_TOKEN: HeaderName = HeaderName::from_static("x-csrf-token");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEND_CSRF_TOKEN: &str =
    "a request that changes something with the session's cookie needs the session's X-CSRF-Token";
const WRONG_KEY: &str = "wrong_key";
const ADMIN_KEY_PREFIX: &str = "wak_";
const SEND_CREDENTIALS: &str = "send X-API-Key or Authorization: Bearer";

/// The caller of a request, as an extractor.
#[derive(Debug, Clone)]
pub struct Caller(pub Arc<Identity>);

impl Caller {
    /// Checks that the caller has `access` to the tenant with these ids; without ids, to every tenant.
    ///
    /// # Errors
    /// The caller does not: a 403 that names the scope.
    pub fn require(
        &self,
        kind: &'static ScopeKind,
        ids: &[&str],
        access: Access,
    ) -> Result<(), ApiError> {
        check_ids(&self.0.grants, kind, ids, access).map_err(denial)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Caller, ApiError> {
        let context = parts.extensions.get::<RequestContext>();
        let authorized = context.and_then(RequestContext::authorized);
        let caller = authorized.and_then(|authorized| authorized.caller.clone());
        caller.map(Caller).ok_or_else(|| unauthorized(SEND_CREDENTIALS))
    }
}

/// Marks requests from the socket in the data folder, whose callers have every grant.
#[derive(Debug, Clone)]
pub struct Local(Arc<Identity>);

impl Local {
    /// The name of the callers.
    pub(crate) fn subject(&self) -> &str {
        &self.0.subject
    }

    pub(crate) fn new() -> Local {
        Local(Arc::new(Identity {
            subject: "local".to_owned(),
            grants: Grants::admin(),
            claims: None,
            proof: Proof::Socket,
        }))
    }
}

/// A declared route: its path, its required scope and its metrics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeclaredRoute {
    pub(crate) path: &'static str,
    pub(crate) required_scope: RequiredScope,
    pub(crate) metrics: &'static RouteMetrics,
    /// The largest body, where it is not that of the listener.
    pub(crate) body_bytes_max: Option<usize>,
}

impl DeclaredRoute {
    /// The bounds of its bodies, where they are not those of the listener.
    fn body_bounds(&self, app: &App) -> Option<BodyBounds> {
        let settings = app.bounds();
        match (self.body_bytes_max, self.required_scope) {
            (Some(bytes_max), _) => Some(BodyBounds { bytes_max, timeout: None }),
            (None, RequiredScope::Public(_)) => Some(BodyBounds {
                bytes_max: settings.public_body_bytes_max,
                timeout: Some(settings.public_body_timeout),
            }),
            (None, _) => None,
        }
    }

    /// Whether this is the route of scrapers.
    fn is_metrics(&self) -> bool {
        self.path == "/metrics"
    }
}

/// The outcome of [`check`], which the access log and the metrics read.
#[derive(Debug)]
pub(crate) struct Authorized {
    pub(crate) metrics: &'static RouteMetrics,
    caller: Option<Arc<Identity>>,
}

impl Authorized {
    pub(crate) fn is_admin(&self) -> bool {
        self.caller.as_deref().is_some_and(|identity| identity.grants.is_admin())
    }

    pub(crate) fn subject(&self) -> Option<&str> {
        self.caller.as_deref().map(|identity| identity.subject.as_str())
    }
}

/// Calls the handler if the caller has the scope that `route` requires.
pub(crate) async fn authorize<F: Future<Output = Response>>(
    app: App,
    route: DeclaredRoute,
    request: Request,
    handler: impl FnOnce(App, Request) -> F,
) -> Response {
    let (mut parts, body) = request.into_parts();
    if let Some(refused) = check_length(&app, &parts, route) {
        return refused.into_response();
    }
    let params = match route.required_scope {
        RequiredScope::Public(_) => None,
        _ => PathParams::from_request_parts(&mut parts, &()).await.ok(),
    };
    let find = |name: &str| params.as_ref()?.get(name);
    let (caller, checked) = check(&app, route.required_scope, &parts, find).await;
    if let Some(context) = parts.extensions.get::<RequestContext>() {
        let authorized = Authorized { metrics: route.metrics, caller };
        let is_operator = authorized.is_admin() || route.is_metrics();
        context.set_authorized(authorized);
        // The edge admits any key on the operators' reserve; a route without credentials has not checked it.
        if checked.is_ok() && context.admission().is_for_operators() && !is_operator {
            return context.admission().overloaded().into_response();
        }
    }
    match checked {
        Ok(()) => handler(app, Request::from_parts(parts, body)).await,
        Err(error) => error.into_response(),
    }
}

/// Refuses a body whose announced length exceeds the bound of the route, and notes the bounds for its reader.
fn check_length(app: &App, parts: &Parts, route: DeclaredRoute) -> Option<ApiError> {
    let context = parts.extensions.get::<RequestContext>()?;
    if let Some(bounds) = route.body_bounds(app) {
        context.set_body_bounds(bounds);
    }
    let is_too_long = content_length(&parts.headers)? > context.body_bytes_max() as u64;
    is_too_long.then(|| too_large(context.body_bytes_max()))
}

/// The announced length of a body.
fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Identifies the caller and checks the required scope against the path parameters.
async fn check<'p>(
    app: &App,
    required_scope: RequiredScope,
    parts: &Parts,
    parameters: impl Fn(&str) -> Option<&'p str>,
) -> (Option<Arc<Identity>>, Result<(), ApiError>) {
    if let RequiredScope::Public(_) = required_scope {
        return (None, Ok(()));
    }
    let caller = match identify(app, parts).await {
        Ok(caller) => caller,
        Err(error) => return (None, Err(error)),
    };
    let checked = required_scope.check(caller.as_deref(), &parts.method, parameters);
    (caller, checked.map_err(denial))
}

fn denial(denied: Denied) -> ApiError {
    let forbidden = |scope: &str, advice: &str| {
        let problem = "which this request requires";
        let detail = format!("the credentials do not have the scope {scope}, {problem}{advice}");
        ApiError::new(Code::FORBIDDEN, detail).with("scope_needed", scope)
    };
    match denied {
        Denied::Unauthenticated => unauthorized(SEND_CREDENTIALS),
        Denied::Forbidden(scope) => forbidden(&scope, ""),
        Denied::TooNarrow(scope, advice) => forbidden(&scope, &format!("; {advice}")),
    }
}

/// Identifies the caller; `None` if the request carries no credentials.
async fn identify(app: &App, parts: &Parts) -> Result<Option<Arc<Identity>>, ApiError> {
    if let Some(Local(identity)) = parts.extensions.get() {
        return Ok(Some(Arc::clone(identity)));
    }
    let key = single(&parts.headers, &API_KEY)?;
    let authorization = single(&parts.headers, &header::AUTHORIZATION)?;
    let identified = match (key, authorization) {
        (None, None) => return identify_session(app, parts).await,
        (Some(_), Some(_)) => {
            return Err(unauthorized("send X-API-Key or Authorization, not both"));
        }
        (Some(key), None) => app.auth().authenticate_key(key).await,
        (None, Some(text)) => match bearer(text) {
            None => return Err(unauthorized("Authorization must be: Bearer TOKEN")),
            // Prometheus and some other clients can send a bearer token only.
            Some(key) if key.starts_with(ADMIN_KEY_PREFIX) => {
                app.auth().authenticate_key(key).await
            }
            Some(token) => app.auth().authenticate_bearer(token).await,
        },
    };
    accepted(app, parts, identified).await.map(Some)
}

/// Identifies the caller by the cookie of a console session, and checks that a page of this server caused the request.
async fn identify_session(app: &App, parts: &Parts) -> Result<Option<Arc<Identity>>, ApiError> {
    let context = parts.extensions.get::<RequestContext>();
    let is_secure = context.is_some_and(RequestContext::is_secure);
    let cookie = app.session_cookie().value(&parts.headers, is_secure)?;
    let Some(cookie) = cookie else { return Ok(None) };
    check_site(&parts.headers)?;
    let identified = app.auth().authenticate_session(cookie).await;
    let identity = accepted(app, parts, identified).await?;
    if parts.method.is_safe() {
        return Ok(Some(identity));
    }
    let presented = parts.headers.get(CSRF_TOKEN).map(HeaderValue::as_bytes).unwrap_or_default();
    let session = identity.claims.as_deref();
    match session.is_some_and(|session| app.auth().is_csrf_token(session, presented)) {
        true => Ok(Some(identity)),
        false => Err(ApiError::new(Code::CSRF_TOKEN_INVALID, SEND_CSRF_TOKEN)),
    }
}

/// Checks that no other site caused a request with a cookie, or a sign-in. Only browsers send the header.
///
/// # Errors
/// Another site caused it.
pub fn check_site(headers: &HeaderMap) -> Result<(), ApiError> {
    match headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes) {
        // `none`: the person typed the address.
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => {
            let detail = "the browser reports that another site caused the request";
            Err(ApiError::new(Code::CROSS_SITE_REQUEST, detail))
        }
    }
}

/// The caller, or the refusal of wrong credentials, which is recorded.
async fn accepted(
    app: &App,
    parts: &Parts,
    identified: Result<Arc<Identity>, AuthError>,
) -> Result<Arc<Identity>, ApiError> {
    match identified {
        Ok(identity) => Ok(identity),
        Err(error) => {
            record(app, parts, &error).await;
            Err(refusal(error))
        }
    }
}

/// Records that credentials were refused. That a token expires is its normal end.
async fn record(app: &App, parts: &Parts, error: &AuthError) {
    let reason = match error {
        AuthError::Store(_)
        | AuthError::Token(TokenError::Expired)
        | AuthError::TooLongForCookie => return,
        AuthError::Token(reason) => reason.name(),
        AuthError::WrongKey => WRONG_KEY,
    };
    SecurityTrail::of(app, parts).sign_in_failed(None, reason).await;
}

/// The only value of a header. Two values would be ambiguous.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, ApiError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(unauthorized(&format!("the header {name} was sent more than once")));
    }
    let text = value
        .to_str()
        .map_err(|_| unauthorized(&format!("the header {name} is not plain text")))?;
    Ok(Some(text))
}

fn bearer(text: &str) -> Option<&str> {
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

fn refusal(error: AuthError) -> ApiError {
    match error {
        AuthError::Store(error) => match ApiError::from(error) {
            error if error.code() == Code::SERVICE_UNAVAILABLE => error,
            error => ApiError::new(Code::SERVICE_UNAVAILABLE, "credentials cannot be checked now")
                .because(error.cause.unwrap_or(error.detail)),
        },
        AuthError::Token(TokenError::Expired) => {
            unauthorized("the token has expired").because("expired")
        }
        AuthError::Token(reason) => unauthorized("the token is not valid").because(reason.name()),
        _ => unauthorized("the key is not valid").because(WRONG_KEY),
    }
}

fn unauthorized(detail: &str) -> ApiError {
    let scheme = HeaderValue::from_static("Bearer realm=\"weir\"");
    ApiError::new(Code::UNAUTHORIZED, detail).header(header::WWW_AUTHENTICATE, scheme)
}
