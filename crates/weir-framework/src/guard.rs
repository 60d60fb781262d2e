//! Who is asking, and may they? Runs before the handler of every declared route.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::Route;
use tower::util::ServiceExt as _;

use crate::app::App;
use crate::auth::grant::Grants;
use crate::auth::{AuthError, Identity, TokenError};
use crate::edge::Visit;
use crate::metrics::RouteMetrics;
use crate::need::{Denied, Need};
use crate::{ApiError, Code};

/// The header of the admin key.
pub const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const ADMIN_KEY_PREFIX: &str = "wak_";

/// Who asks; handlers take it with `Extension`.
#[derive(Debug, Clone)]
pub struct Caller(pub Arc<Identity>);

/// A mark on requests that came through the socket in the data folder: who may use it may do all.
#[derive(Debug, Clone)]
pub struct Local(Arc<Identity>);

impl Local {
    pub(crate) fn new() -> Local {
        Local(Arc::new(Identity {
            subject: "local".to_owned(),
            grants: Grants::admin(),
            claims: None,
        }))
    }
}

/// A declared route, as its requests and answers know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared {
    pub(crate) path: &'static str,
    pub(crate) need: Need,
    pub(crate) metrics: &'static RouteMetrics,
}

/// What the guard leaves with a visit for the log and the metrics.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) metrics: &'static RouteMetrics,
    subject: Option<Arc<Identity>>,
}

impl Passed {
    pub(crate) fn new(metrics: &'static RouteMetrics, subject: Option<Arc<Identity>>) -> Passed {
        Passed { metrics, subject }
    }

    /// Who asked, if they said so.
    pub(crate) fn caller(&self) -> Option<&Arc<Identity>> {
        self.subject.as_ref()
    }

    pub(crate) fn subject(&self) -> Option<&str> {
        self.subject.as_deref().map(|identity| identity.subject.as_str())
    }
}

/// Runs `handler` for a request whose caller may ask for it.
pub(crate) async fn guard(
    app: App,
    declared: Declared,
    handler: Route,
    request: Request,
) -> Result<Response, Infallible> {
    let (mut parts, body) = request.into_parts();
    let params = match declared.need {
        Need::Nothing(_) => None,
        _ => RawPathParams::from_request_parts(&mut parts, &()).await.ok(),
    };
    let find = |name: &str| {
        let mut params = params.as_ref()?.iter();
        params.find(|(known, _)| *known == name).map(|(_, value)| value)
    };
    let (caller, checked) = admit(&app, declared.need, &parts, find).await;
    if let Some(caller) = &caller {
        parts.extensions.insert(Caller(Arc::clone(caller)));
    }
    if let Some(visit) = parts.extensions.get::<Visit>() {
        visit.pass(Passed::new(declared.metrics, caller));
    }
    match checked {
        Ok(()) => handler.oneshot(Request::from_parts(parts, body)).await,
        Err(error) => Ok(error.into_response()),
    }
}

/// Who asks, and whether they may ask this of a path with these parameters.
pub(crate) async fn admit<'p>(
    app: &App,
    need: Need,
    parts: &Parts,
    parameters: impl Fn(&str) -> Option<&'p str>,
) -> (Option<Arc<Identity>>, Result<(), ApiError>) {
    if let Need::Nothing(_) = need {
        return (None, Ok(()));
    }
    let caller = match identify(app, parts).await {
        Ok(caller) => caller,
        Err(error) => return (None, Err(error)),
    };
    let checked =
        need.check(caller.as_deref(), &parts.method, parameters).map_err(|denied| match denied {
            Denied::Unknown => unauthorized("send X-API-Key or Authorization: Bearer"),
            Denied::Forbidden => {
                ApiError::new(Code::FORBIDDEN, "the credentials are valid, but not for this")
                    .with("scope_needed", need.text())
            }
        });
    (caller, checked)
}

/// Who asks; none when no credentials were sent.
async fn identify(app: &App, parts: &Parts) -> Result<Option<Arc<Identity>>, ApiError> {
    if let Some(Local(identity)) = parts.extensions.get() {
        return Ok(Some(Arc::clone(identity)));
    }
    let key = single(&parts.headers, &API_KEY)?;
    let authorization = single(&parts.headers, &header::AUTHORIZATION)?;
    let known = match (key, authorization) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(unauthorized("send X-API-Key or Authorization, not both"));
        }
        (Some(key), None) => app.auth().authenticate_key(key).await,
        (None, Some(text)) => match bearer(text) {
            None => return Err(unauthorized("Authorization must be: Bearer TOKEN")),
            // Scrapers and other programs that can send nothing but a bearer token.
            Some(key) if key.starts_with(ADMIN_KEY_PREFIX) => {
                app.auth().authenticate_key(key).await
            }
            Some(token) => app.auth().authenticate_bearer(token).await,
        },
    };
    known.map(Some).map_err(refusal)
}

/// The one value of a header. Two would leave open which of them counts.
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
        _ => unauthorized("the key is not valid").because("wrong_key"),
    }
}

fn unauthorized(detail: &str) -> ApiError {
    let scheme = HeaderValue::from_static("Bearer realm=\"weir\"");
    ApiError::new(Code::UNAUTHORIZED, detail).header(header::WWW_AUTHENTICATE, scheme)
}
