//! The context of a request: its id, the address of its client, its path parameters on the fast path, and its caller.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;

use super::capacity::Admission;
use super::fast_path::ParamSpans;
use crate::authorize::Authorized;
use crate::request_id::RequestId;

/// An extension of every request; the edge has a second handle to it for log and metrics.
#[derive(Debug, Clone)]
pub(crate) struct RequestContext(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: RequestId,
    client_address: Option<IpAddr>,
    /// Whether the client's connection is encrypted.
    is_secure: bool,
    body_bytes_max: usize,
    /// The bounds of the route, where it has bounds of its own.
    route_body: OnceLock<BodyBounds>,
    /// The path parameters, if the fast path has matched them.
    params: Option<ParamSpans>,
    authorized: OnceLock<Authorized>,
    admission: Admission,
}

/// The bounds of a body that a route sets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyBounds {
    pub(crate) bytes_max: usize,
    /// Time for the whole body, where it is shorter than that of the request.
    pub(crate) timeout: Option<Duration>,
}

impl RequestContext {
    pub(super) fn new(
        headers: &HeaderMap,
        (client_address, is_secure): (Option<IpAddr>, bool),
        body_bytes_max: usize,
        params: Option<ParamSpans>,
        admission: Admission,
    ) -> RequestContext {
        let id = RequestId::of(headers);
        let authorized = OnceLock::new();
        RequestContext(Arc::new(Inner {
            id,
            client_address,
            is_secure,
            body_bytes_max,
            route_body: OnceLock::new(),
            params,
            authorized,
            admission,
        }))
    }

    pub(crate) fn id(&self) -> &RequestId {
        &self.0.id
    }

    /// The address of the client; none behind the socket.
    pub(crate) fn client_address(&self) -> Option<IpAddr> {
        self.0.client_address
    }

    /// Whether the client's connection is encrypted, as far as the server or a trusted proxy knows.
    pub(crate) fn is_secure(&self) -> bool {
        self.0.is_secure
    }

    /// The largest body that the route accepts.
    pub(crate) fn body_bytes_max(&self) -> usize {
        self.0.route_body.get().map_or(self.0.body_bytes_max, |bounds| bounds.bytes_max)
    }

    /// Time for the whole body, on routes that bound it.
    pub(crate) fn body_timeout(&self) -> Option<Duration> {
        self.0.route_body.get()?.timeout
    }

    /// Sets the bounds of the route, which replace those of the listener.
    pub(crate) fn set_body_bounds(&self, bounds: BodyBounds) {
        self.0.route_body.set(bounds).ok();
    }

    /// The request's share of the server's capacity.
    pub(crate) fn admission(&self) -> &Admission {
        &self.0.admission
    }

    /// Whether the caller has turned out to be an administrator.
    pub(crate) fn is_admin(&self) -> bool {
        self.authorized().is_some_and(Authorized::is_admin)
    }

    pub(crate) fn params(&self) -> Option<&ParamSpans> {
        self.0.params.as_ref()
    }

    /// Records the route and the caller of the request.
    pub(crate) fn set_authorized(&self, authorized: Authorized) {
        self.0.authorized.set(authorized).ok();
    }

    /// The route and the caller; none if no route matched.
    pub(crate) fn authorized(&self) -> Option<&Authorized> {
        self.0.authorized.get()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<RequestId, Infallible> {
        let context = parts.extensions.get::<RequestContext>();
        Ok(context.map_or_else(|| RequestId::of(&parts.headers), |context| context.id().clone()))
    }
}
