//! The outermost layer of every request: its id, its bounds, its line in the log, its count, and
//! the form of its error.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::sync::Semaphore;

use crate::app::App;
use crate::error::{ApiError, Code};
use crate::extract::too_large;
use crate::guard::Passed;
use crate::metrics::Refusal;
use crate::problem::Problem;
use crate::request_id::{self, RequestId};
use crate::{limits, problem};

const NO_SNIFF: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
/// What stands for the paths that no route has, and for the socket's own.
const NO_ROUTE: &str = "none";
const SOCKET: &str = "socket";

/// The bounds of a request.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Bytes of a body (1 MiB).
    pub body_bytes_max: usize,
    /// How long a request may take, its body included (30 s).
    pub request_timeout: Duration,
    /// Requests under way at once (1024); more are told to come back.
    pub requests_max: usize,
    /// Whether answers are compressed for callers that ask for it.
    pub compression: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            body_bytes_max: 1024 * 1024,
            request_timeout: Duration::from_secs(30),
            requests_max: 1024,
            compression: true,
        }
    }
}

/// What the edge keeps for a listener.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    app: App,
    turns: Arc<Semaphore>,
    body_bytes_max: usize,
    /// On the socket causes are told: its user may read the log anyway.
    local: bool,
}

impl Edge {
    pub(crate) fn new(app: App, body_bytes_max: usize, local: bool) -> Edge {
        let turns = Arc::new(Semaphore::new(app.bounds().requests_max.max(1)));
        Edge { app, turns, body_bytes_max, local }
    }
}

pub(crate) async fn edge(State(edge): State<Edge>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = RequestId::of(request.headers());
    let method = request.method().clone();
    let path = tracing::enabled!(tracing::Level::INFO).then(|| request.uri().path().to_owned());
    request.extensions_mut().insert(id.clone());

    let mut response = bounded(&edge, request, next).await;
    let error = response.extensions_mut().remove::<Arc<ApiError>>();
    if let Some(error) = &error {
        let problem = Problem::of(error, id.text(), edge.app.now_ms(), edge.local);
        problem::write(&mut response, &problem);
    }
    let headers = response.headers_mut();
    headers.insert(request_id::HEADER, id.value());
    headers.insert(NO_SNIFF.0, NO_SNIFF.1);

    let passed = response.extensions_mut().remove::<Passed>();
    let took = started.elapsed();
    let unknown = if edge.local { SOCKET } else { NO_ROUTE };
    let route = passed.as_ref().map_or(unknown, |passed| passed.route);
    let status = response.status();
    edge.app.metrics().answered(name_of(&method), route, status.as_u16(), took);
    let line = Line { id: &id, method: &method, path: path.as_deref(), status, took };
    line.log(passed.as_ref(), error.as_deref());
    response
}

/// Runs a request within the bounds of time and number.
async fn bounded(edge: &Edge, request: Request, next: Next) -> Response {
    let metrics = edge.app.metrics();
    let Ok(_turn) = edge.turns.try_acquire() else {
        metrics.refused(Refusal::Overloaded);
        let error =
            ApiError::new(Code::ServiceUnavailable, "the server has as much to do as it takes");
        return limits::retry_after(error, 1).into_response();
    };
    // What says that it is too large need not be read to find that out.
    if announced(request.headers()).is_some_and(|bytes| bytes > edge.body_bytes_max as u64) {
        return too_large().into_response();
    }
    metrics.under_way.inc();
    let answered = tokio::time::timeout(edge.app.bounds().request_timeout, next.run(request)).await;
    metrics.under_way.dec();
    answered.unwrap_or_else(|_| {
        metrics.refused(Refusal::TimedOut);
        ApiError::new(Code::RequestTimeout, "the request was not done in time").into_response()
    })
}

/// The size of the body that a request says it has.
fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A method that this server knows; labels are bounded.
fn name_of(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

/// A request's line in the log.
struct Line<'r> {
    id: &'r RequestId,
    method: &'r Method,
    path: Option<&'r str>,
    status: StatusCode,
    took: Duration,
}

impl Line<'_> {
    /// Faults are warnings, refusals are told, and what went well is for whoever asks for `debug`. So is a limit that is
    /// reached: to a limiter that is an answer like any other, and there may be tens of thousands a second.
    fn log(&self, passed: Option<&Passed>, error: Option<&ApiError>) {
        let subject = passed.and_then(|passed| passed.subject.as_deref());
        let subject = subject.map_or("-", |identity| identity.subject.as_str());
        let code = error.map_or("-", |error| error.code.text());
        let cause = error.and_then(|error| error.cause.as_deref()).unwrap_or("-");
        macro_rules! line {
            ($level:ident, $text:literal) => {
                tracing::$level!(
                    request_id = self.id.text(),
                    method = self.method.as_str(),
                    path = self.path.unwrap_or("-"),
                    status = self.status.as_u16(),
                    duration_ms = (self.took.as_secs_f64() * 1e6).round() / 1e3,
                    subject,
                    code,
                    cause,
                    $text
                )
            };
        }
        if self.status.is_server_error() {
            line!(warn, "request failed");
        } else if self.status == StatusCode::TOO_MANY_REQUESTS {
            line!(debug, "request limited");
        } else if self.status.is_client_error() {
            line!(info, "request refused");
        } else {
            line!(debug, "request answered");
        }
    }
}
