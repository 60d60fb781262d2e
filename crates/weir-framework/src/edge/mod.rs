//! The outermost layer of every request: its id, its limits, its access log and metrics, and the
//! body of its error.
//!
//! It is one service around all routes rather than a tower layer for each of these, because a layer
//! costs every request a boxed service, a boxed future and two moves of request and response.
//!
//! 1. [`Edge`] takes a permit (`capacity`) and calls the handler: on the fast path (`fast_path`) or through axum's router.
//!    While a body is on its way, the request holds no permit (`body.rs`).
//! 2. [`ResponseFuture`] waits for the handler, at most until the deadline.
//! 3. Then it writes the body of an error, compresses a large response, adds the request's id, and
//!    records the request in the access log and the metrics.

mod access_log;
mod capacity;
mod compression;
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
use crate::client_address::{ForwardedHeader, client_address};
use crate::listen::Routes;
use crate::metrics::RouteMetrics;
use crate::networks::Networks;
use crate::session_cookie::is_forwarded_https;
use crate::settings::ServerSettings;
use access_log::AccessLog;
use capacity::{Admission, Capacity};
use deadline::ConnectionTimer;
use fast_path::FastRoute;
pub(crate) use request_context::{BodyBounds, RequestContext};
use response_future::HandlerFuture;
pub use response_future::ResponseFuture;

/// The route label of requests that match no route, and of those of the socket.
const NO_ROUTE: &str = "none";
const SOCKET: &str = "socket";
/// A body without credentials: a client's secret or a token, as JSON or as a form.
const PUBLIC_BODY_BYTES_MAX: usize = 16 * 1024;
const PUBLIC_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// The limits of a request.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The largest request body, in bytes (1 MiB).
    pub body_bytes_max: usize,
    /// The time limit of a request, its body included (30 s).
    pub request_timeout: Duration,
    /// Concurrent requests (1024), without those that wait for their bodies; further ones are refused with 503.
    pub requests_max: usize,
    /// Memory for request bodies that do not arrive with their heads, in bytes (256 MiB).
    pub body_bytes_in_flight_max: usize,
    /// The largest body of a request to a route without credentials, in bytes (16 KiB).
    pub public_body_bytes_max: usize,
    /// Time for the body of a request to a route without credentials (5 s).
    pub public_body_timeout: Duration,
    /// Whether large responses are compressed for clients that accept it.
    pub compression: bool,
    /// Proxies whose reports of the client's address are believed.
    pub trusted_proxies: Networks,
    /// The header in which they report it.
    pub forwarded_header: ForwardedHeader,
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
            body_bytes_in_flight_max: server.body_bytes_in_flight_max,
            public_body_bytes_max: PUBLIC_BODY_BYTES_MAX.min(server.body_bytes_max),
            public_body_timeout: PUBLIC_BODY_TIMEOUT,
            compression: server.compression,
            trusted_proxies: server.trusted_proxies.clone(),
            forwarded_header: server.forwarded_header,
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
    capacity: Arc<Capacity>,
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
            capacity: Capacity::new(settings, metrics),
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
        Arc::new(EdgeState { capacity: self.capacity.handle(), ..self.clone() })
    }
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
        let bounds = state.app.bounds();
        let (trusted, header) = (&bounds.trusted_proxies, bounds.forwarded_header);
        let peer_address = peer.map(|peer| peer.ip());
        let client =
            peer_address.map(|peer| client_address(peer, request.headers(), trusted, header));
        let is_secure = state.app.origin().is_some_and(|origin| origin.tls)
            || is_forwarded_https(peer_address, request.headers(), trusted);
        let (admission, headers) = (Admission::new(&state.capacity), request.headers());
        let is_admitted = admission.admit(&request);
        let context = RequestContext::new(
            headers,
            (client, is_secure),
            state.body_bytes_max,
            params,
            admission,
        );
        request.extensions_mut().insert(context.clone());
        let handler = match fast_route {
            _ if !is_admitted => HandlerFuture::refused(context.admission().overloaded()),
            Some(route) => HandlerFuture::Fast(route.call(&state.app, request)),
            None => self.route(request, peer),
        };
        let deadline = self.timer.deadline(deadline);
        ResponseFuture { state, context, access_log, handler, deadline, accept_encoding }
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
        HandlerFuture::Routed(Box::new(Service::call(&mut self.routes, request)))
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
