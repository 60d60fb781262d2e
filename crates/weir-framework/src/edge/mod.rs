//! The outermost part of every request: its id, its bounds, its line in the log, its count, and the
//! form of its error.
//!
//! It is one service around all routes rather than a layer for each of these, because a layer costs
//! every request a boxed service, a boxed future and two moves of request and answer. What a
//! request does not need (compression, a timer, a copy of its path) it does not pay for.
//!
//! 1. [`Edge`] takes a turn, refuses what is too large, and calls the route: over the router or, where it has
//!    one, on its short way (`express`).
//! 2. `answering` waits for the answer, but not for longer than the request may take.
//! 3. Then it gives an error its form, adds the id, counts, and writes the log's line.

mod alarm;
mod answering;
pub mod express;
mod line;
mod packing;
mod turns;
mod visit;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Request};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use tower_service::Service;

use crate::app::App;
use crate::authorize::Local;
use crate::extract::too_large;
use crate::limits;
use crate::listen::Routes;
use crate::metrics::{Rejection, RouteMetrics};
use crate::settings::ServerSettings;
use crate::{ApiError, Code};
use alarm::Alarm;
use answering::{Answering, Work};
use express::Express;
use packing::Packing;
use turns::{Turn, Turns};
pub(crate) use visit::Visit;

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
        }
    }
}

/// All routes of a listener, behind their edge. A clone of it serves one connection.
#[derive(Debug)]
pub struct Edge {
    listener: Arc<Listener>,
    routes: Router,
    packing: Option<Packing>,
    alarm: Alarm,
}

/// What the requests of a listener share.
#[derive(Debug, Clone)]
struct Listener {
    app: App,
    turns: Arc<Turns>,
    express: Arc<[Express]>,
    /// Counts what no route has.
    unknown: &'static RouteMetrics,
    body_bytes_max: usize,
    /// Who asks through the socket; that one is told causes, because it may read the log anyway.
    local: Option<Local>,
}

impl Listener {
    fn new(app: &App, body_bytes_max: usize, local: Option<Local>) -> Listener {
        let turns = Turns::new(app.bounds().requests_max, app.metrics().in_flight.clone());
        let unknown = app.metrics().route(if local.is_some() { SOCKET } else { NO_ROUTE });
        let express = Arc::new([]);
        Listener { app: app.clone(), turns, express, unknown, body_bytes_max, local }
    }

    /// The same for one connection. It has holds of its own, so that requests of different connections, on different
    /// cores, do not count theirs in one place.
    fn apart(&self) -> Arc<Listener> {
        Arc::new(Listener { turns: self.turns.apart(), ..self.clone() })
    }
}

impl Edge {
    /// The edge of what the network reaches.
    pub(crate) fn public(app: &App, routes: Router, express: Vec<Express>) -> Edge {
        let packing = app.bounds().compression.then(|| Packing::new(routes.clone()));
        let listener = Listener::new(app, app.bounds().body_bytes_max, None);
        Edge::new(Listener { express: express.into(), ..listener }, routes, packing)
    }

    /// The edge of the socket in the data folder.
    pub(crate) fn local(app: &App, routes: Router, body_bytes_max: usize) -> Edge {
        Edge::new(Listener::new(app, body_bytes_max, Some(Local::new())), routes, None)
    }

    fn new(listener: Listener, routes: Router, packing: Option<Packing>) -> Edge {
        Edge { listener: Arc::new(listener), routes, packing, alarm: Alarm::default() }
    }

    /// Calls the route of a request, unless its bounds forbid it.
    fn work(
        &mut self,
        request: Request,
        peer: Option<SocketAddr>,
        visit: &Visit,
    ) -> (Work, Option<Turn>) {
        let listener = &self.listener;
        let Some(turn) = Turns::take(&listener.turns) else {
            listener.app.metrics().rejected(Rejection::Overloaded);
            let error = ApiError::new(
                Code::SERVICE_UNAVAILABLE,
                "the server has as much to do as it takes",
            );
            return (Work::Done(Err(limits::retry_after(error, 1))), None);
        };
        // What says that it is too large need not be read to find that out.
        if announced(request.headers()).is_some_and(|bytes| bytes > listener.body_bytes_max as u64)
        {
            return (Work::Done(Err(too_large())), Some(turn));
        }
        let work = answering::caught(|| self.route(request, peer, visit));
        let work = work.unwrap_or_else(|panic| Work::Done(Err(answering::panicked(&*panic))));
        (work, Some(turn))
    }

    fn route(&mut self, mut request: Request, peer: Option<SocketAddr>, visit: &Visit) -> Work {
        let Listener { app, express, body_bytes_max, local, .. } = &*self.listener;
        let packing = self.packing.as_mut().filter(|_| Packing::is_wanted(request.headers()));
        if packing.is_none()
            && let Some(way) = express::find(express, &request)
        {
            return Work::Express(way.start(app, visit, *body_bytes_max, request));
        }
        if let Some(peer) = peer {
            request.extensions_mut().insert(ConnectInfo(peer));
        }
        if let Some(caller) = local {
            request.extensions_mut().insert(caller.clone());
        }
        request.extensions_mut().insert(visit.clone());
        DefaultBodyLimit::max(*body_bytes_max).apply(&mut request);
        match packing {
            Some(packing) => Work::Packed(packing.call(request)),
            None => Work::Routed(self.routes.call(request)),
        }
    }

    fn begin(&mut self, request: Request, peer: Option<SocketAddr>) -> Answering {
        let visit = Visit::of(request.headers());
        let line = line::Line::of(&request);
        let (work, turn) = self.work(request, peer, &visit);
        let deadline = line.started + self.listener.app.bounds().request_timeout;
        let alarm = self.alarm.set(deadline);
        let packs = self.packing.is_some();
        Answering { listener: Arc::clone(&self.listener), visit, line, work, turn, alarm, packs }
    }
}

impl Clone for Edge {
    fn clone(&self) -> Edge {
        Edge {
            listener: self.listener.apart(),
            routes: self.routes.clone(),
            packing: self.packing.clone(),
            alarm: Alarm::default(),
        }
    }
}

impl Service<Request> for Edge {
    type Response = Response;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Answering {
        self.begin(request, None)
    }
}

impl Routes for Edge {
    type Answer = Answering;

    fn answer(&mut self, request: Request, peer: SocketAddr) -> Answering {
        self.begin(request, Some(peer))
    }
}

/// The size of the body that a request says it has.
fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
