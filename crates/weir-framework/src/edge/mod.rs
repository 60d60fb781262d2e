//! The outermost layer of every request: its id, its limits, its access log and metrics, and the
//! body of its error.
//!
//! It is one service around all routes rather than a tower layer for each of these, because a layer
//! costs every request a boxed service, a boxed future and two moves of request and response.
//!
//! 1. [`Edge`] takes a permit and calls the handler: on the
//!    fast path (`fast_path`) or through axum's router.
//! 2. [`ResponseFuture`] waits for the handler, at most until the deadline.
//! 3. Then it writes the body of an error, compresses a large response, adds the request's id, and
//!    records the request in the access log and the metrics.

mod access_log;
mod compression;
mod concurrency_limit;
mod deadline;
pub(crate) mod fast_path;
mod request_context;
mod response_future;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Request};
use axum::response::Response;
use tower_service::Service;

use crate::app::App;
use crate::authorize::Local;
use crate::client_address::client_address;
use crate::limits;
use crate::listen::Routes;
use crate::metrics::{Rejection, RouteMetrics};
use crate::networks::Networks;
use crate::settings::ServerSettings;
use crate::{ApiError, Code};
use access_log::AccessLog;
use concurrency_limit::{ConcurrencyLimit, Permit};
use deadline::ConnectionTimer;
use fast_path::FastRoute;
pub(crate) use request_context::RequestContext;
use response_future::HandlerFuture;
pub use response_future::ResponseFuture;

/// The route label of requests that match no route, and of those of the socket.
const NO_ROUTE: &str = "none";
const SOCKET: &str = "socket";
/// The `Retry-After` of a request beyond the limit of concurrent requests.
const OVERLOADED_RETRY_SECS: u64 = 1;

/// The limits of a request.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The largest request body, in bytes (1 MiB).
    pub body_bytes_max: usize,
    /// The time limit of a request, its body included (30 s).
    pub request_timeout: Duration,
    /// Concurrent requests (1024); further ones are refused with 503.
    pub requests_max: usize,
    /// Whether large responses are compressed for clients that accept it.
    pub compression: bool,
    /// Proxies whose reports of the client's address are believed.
    pub trusted_proxies: Networks,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::from(&ServerSettings::default())
    }
}

impl From<&ServerSettings> for Settings {
    fn from(server: &ServerSettings) -> Settings {
        Settings {
            body_bytes_max: server.body_bytes_max,
            request_timeout: Duration::from_secs(server.request_timeout_secs),
            requests_max: server.requests_max,
            compression: server.compression,
            trusted_proxies: server.trusted_proxies.clone(),
        }
    }
}

/// All routes of a listener behind the edge. Each connection has a clone.
#[derive(Debug)]
pub struct Edge {
    state: Arc<EdgeState>,
    routes: Router,
    timer: ConnectionTimer,
}

/// The state that the requests of a listener share.
#[derive(Debug, Clone)]
struct EdgeState {
    app: App,
    concurrency: Arc<ConcurrencyLimit>,
    fast_routes: Arc<[FastRoute]>,
    /// The metrics of requests that match no route.
    unmatched: &'static RouteMetrics,
    body_bytes_max: usize,
    compresses: bool,
    /// The caller behind the socket. It also gets the causes of errors, because it can read the log.
    local: Option<Local>,
}

impl EdgeState {
    fn new(app: &App, body_bytes_max: usize, local: Option<Local>) -> EdgeState {
        let (metrics, settings) = (app.metrics(), app.bounds());
        EdgeState {
            app: app.clone(),
            concurrency: ConcurrencyLimit::new(settings.requests_max, metrics.in_flight.clone()),
            fast_routes: Arc::new([]),
            unmatched: metrics.route(if local.is_some() { SOCKET } else { NO_ROUTE }),
            body_bytes_max,
            compresses: settings.compression && local.is_none(),
            local,
        }
    }

    /// A copy for one connection, so that connections on different cores do not share reference
    /// counts.
    fn for_connection(&self) -> Arc<EdgeState> {
        Arc::new(EdgeState { concurrency: self.concurrency.handle(), ..self.clone() })
    }

    /// Takes a permit.
    fn admit(&self) -> Option<Permit> {
        let permit = ConcurrencyLimit::try_acquire(&self.concurrency);
        if permit.is_none() {
            self.app.metrics().rejected(Rejection::Overloaded);
        }
        permit
    }
}

fn overloaded() -> ApiError {
    let detail = format!(
        "the server is at its limit of concurrent requests; retry after {OVERLOADED_RETRY_SECS} s"
    );
    limits::retry_after(ApiError::new(Code::SERVICE_UNAVAILABLE, detail), OVERLOADED_RETRY_SECS)
}

impl Edge {
    /// The edge of the TCP listener.
    pub(crate) fn public(app: &App, routes: Router, fast_routes: Vec<FastRoute>) -> Edge {
        let state = EdgeState::new(app, app.bounds().body_bytes_max, None);
        Edge::new(EdgeState { fast_routes: fast_routes.into(), ..state }, routes)
    }

    /// The edge of the socket in the data folder.
    pub(crate) fn local(app: &App, routes: Router, body_bytes_max: usize) -> Edge {
        Edge::new(EdgeState::new(app, body_bytes_max, Some(Local::new())), routes)
    }

    fn new(state: EdgeState, routes: Router) -> Edge {
        Edge { state: Arc::new(state), routes, timer: ConnectionTimer::default() }
    }

    fn handle(&mut self, mut request: Request, peer: Option<SocketAddr>) -> ResponseFuture {
        let state = Arc::clone(&self.state);
        let access_log = AccessLog::start(&request);
        let deadline = access_log.started + state.app.bounds().request_timeout;
        let accept_encoding = compression::accept_encoding(request.headers());
        let (fast_route, params) =
            fast_path::find(&state.fast_routes, request.method(), request.uri()).unzip();
        let trusted = &state.app.bounds().trusted_proxies;
        let client = peer.map(|peer| client_address(peer.ip(), request.headers(), trusted));
        let context = RequestContext::new(request.headers(), client, state.body_bytes_max, params);
        let permit = state.admit();
        request.extensions_mut().insert(context.clone());
        let handler = match (&permit, fast_route) {
            (None, _) => HandlerFuture::refused(overloaded()),
            (Some(_), Some(route)) => HandlerFuture::Fast(route.call(&state.app, request)),
            (Some(_), None) => self.route(request, peer),
        };
        let deadline = self.timer.deadline(deadline);
        ResponseFuture { state, context, access_log, handler, permit, deadline, accept_encoding }
    }

    /// Calls axum's router.
    fn route(&mut self, mut request: Request, peer: Option<SocketAddr>) -> HandlerFuture {
        if let Some(peer) = peer {
            request.extensions_mut().insert(ConnectInfo(peer));
        }
        if let Some(caller) = &self.state.local {
            request.extensions_mut().insert(caller.clone());
        }
        DefaultBodyLimit::max(self.state.body_bytes_max).apply(&mut request);
        HandlerFuture::Routed(Service::call(&mut self.routes, request))
    }
}

impl Clone for Edge {
    fn clone(&self) -> Edge {
        Edge {
            state: self.state.for_connection(),
            routes: self.routes.clone(),
            timer: ConnectionTimer::default(),
        }
    }
}

impl Service<Request> for Edge {
    type Response = Response;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> ResponseFuture {
        self.handle(request, None)
    }
}

impl Routes for Edge {
    type Future = ResponseFuture;

    fn call(&mut self, request: Request, peer: SocketAddr) -> ResponseFuture {
        self.handle(request, Some(peer))
    }
}
