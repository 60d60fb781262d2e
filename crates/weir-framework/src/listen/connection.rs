//! One connection: the TLS handshake if configured, then HTTP/1.1 until either side closes it.

use std::cell::RefCell;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, Version, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use weir_table::Error;

use super::connection_state::{ConnectionState, RequestInProgress, ResponseBody};
use super::timed_body::TimedBody;
use super::timed_stream::{TimedStream, Timeouts};
use super::tls::{Certificate, handshake};
use super::{Routes, Settings};
use crate::metrics::{ListenerMetrics, Refusal};
use crate::problem;

const CLOSE: HeaderValue = HeaderValue::from_static("close");
/// How long an open connection may wait for one more request when the server stops.
const DRAIN_IDLE: Duration = Duration::from_secs(1);

/// The routes, settings and certificate that all connections of a listener share.
pub(super) struct ServerContext<R> {
    routes: R,
    http: http1::Builder,
    timeouts: Timeouts,
    body_timeout: Duration,
    handshake_timeout: Duration,
    certificate: Option<Certificate>,
    metrics: ListenerMetrics,
}

impl<R> ServerContext<R> {
    pub(super) fn new(
        routes: R,
        settings: &Settings,
        certificate: Option<Certificate>,
        metrics: ListenerMetrics,
    ) -> ServerContext<R> {
        let mut http = http1::Builder::new();
        // Hyper's timeout also runs while a connection is idle and makes a timer for each request;
        // `TimedStream` has its own. The buffer alone bounds a head only roughly.
        http.header_read_timeout(None)
            .max_header_size(settings.header_bytes_max)
            .max_buf_size(settings.header_bytes_max);
        ServerContext {
            routes,
            http,
            timeouts: Timeouts {
                header: settings.header_timeout,
                idle: settings.idle_timeout,
                write: settings.write_timeout,
            },
            body_timeout: settings.body_timeout,
            handshake_timeout: settings.handshake_timeout,
            certificate,
            metrics,
        }
    }
}

/// Serves one client until it leaves, times out, or `stop` ends the connection after the request
/// in progress.
pub(super) async fn serve<R: Routes>(
    context: Arc<ServerContext<R>>,
    stream: std::net::TcpStream,
    peer: SocketAddr,
    mut stop: oneshot::Receiver<()>,
) {
    let stream = match TcpStream::from_std(stream) {
        Ok(stream) => stream,
        Err(error) => {
            tracing::warn!(%peer, %error, "a connection could not be registered");
            return;
        }
    };
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, %error, "TCP_NODELAY could not be set");
    }
    let Some(certificate) = &context.certificate else {
        return serve_http(&context, stream, peer, stop).await;
    };
    let handshake = handshake(stream, certificate.current());
    let shaken = tokio::select! {
        shaken = tokio::time::timeout(context.handshake_timeout, handshake) => shaken,
        _ = &mut stop => return,
    };
    match shaken {
        Ok(Ok(stream)) => serve_http(&context, stream, peer, stop).await,
        Ok(Err(error)) => {
            context.metrics.refuse(Refusal::TlsFailed);
            tracing::debug!(%peer, %error, "a TLS handshake failed");
        }
        Err(_) => {
            context.metrics.refuse(Refusal::TlsTimedOut);
            tracing::debug!(%peer, "a TLS handshake timed out");
        }
    }
}

async fn serve_http<R, S>(
    context: &ServerContext<R>,
    stream: S,
    peer: SocketAddr,
    mut stop: oneshot::Receiver<()>,
) where
    R: Routes,
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let state = Arc::new(ConnectionState::default());
    let draining = Arc::clone(&state);
    let service = ConnectionService {
        routes: RefCell::new(context.routes.clone()),
        body_timeout: context.body_timeout,
        state: Arc::clone(&state),
        peer,
    };
    let stream = TimedStream::new(stream, state, context.timeouts);
    let mut connection = pin!(context.http.serve_connection(TokioIo::new(stream), service));
    let served = tokio::select! {
        biased;
        // First, so that a request that has already arrived is served.
        served = &mut connection => served,
        _ = &mut stop => {
            draining.close_after_next_response();
            tokio::select! {
                biased;
                served = &mut connection => served,
                () = idle(&draining) => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        }
    };
    if let Err(error) = served {
        tracing::debug!(%peer, %error, "a connection ended early");
    }
}

/// Resolves when the connection has had no request for a while. A client that sends one request after the other has sent the
/// next by then, and its response says that it is the last.
async fn idle(state: &ConnectionState) {
    let mut was_idle = !state.in_request();
    loop {
        tokio::time::sleep(DRAIN_IDLE).await;
        let is_idle = !state.in_request();
        if is_idle && was_idle {
            return;
        }
        was_idle = is_idle;
    }
}

/// The service of one connection.
struct ConnectionService<R> {
    /// Hyper calls it with a shared reference, one request at a time.
    routes: RefCell<R>,
    body_timeout: Duration,
    state: Arc<ConnectionState>,
    peer: SocketAddr,
}

impl<R: Routes> hyper::service::Service<Request<Incoming>> for ConnectionService<R> {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = ResponseFuture<R::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let in_progress = ConnectionState::start_request(&self.state);
        // First, so that a body that is dropped unread is always noticed.
        let request = request.map(|body| self.timed(body));
        if let Err(error) = check_host(request.version(), request.headers()) {
            let refusal = problem::early(&error.into());
            let refusal = refusal.map(|body| ResponseBody::new(body, in_progress));
            return ResponseFuture::Refused(Some(refusal));
        }
        let response = self.routes.borrow_mut().call(request, self.peer);
        ResponseFuture::Routed(response, Some(in_progress))
    }
}

impl<R> ConnectionService<R> {
    fn timed(&self, body: Incoming) -> Body {
        if body.is_end_stream() {
            return Body::empty();
        }
        Body::new(TimedBody::new(body, Arc::clone(&self.state), self.body_timeout))
    }
}

/// RFC 9112 section 3.2: without exactly one `Host`, a proxy in front may have routed by another
/// one than we do.
fn check_host(version: Version, headers: &HeaderMap) -> Result<(), Error> {
    let hosts = headers.get_all(header::HOST).iter().take(2).count();
    match hosts {
        1 => Ok(()),
        0 if version < Version::HTTP_11 => Ok(()),
        0 => Err(Error::invalid("Host", "the header is missing")),
        _ => Err(Error::invalid("Host", "the header was sent more than once")),
    }
}

enum ResponseFuture<F> {
    Routed(F, Option<RequestInProgress>),
    Refused(Option<Response<ResponseBody>>),
}

impl<F> Future for ResponseFuture<F>
where
    F: Future<Output = Result<axum::response::Response, Infallible>> + Unpin,
{
    type Output = Result<Response<ResponseBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let response = match &mut *self {
            ResponseFuture::Refused(refusal) => refusal.take(),
            ResponseFuture::Routed(response, in_progress) => {
                let mut response = ready!(Pin::new(response).poll(cx))?;
                let in_progress = in_progress.take();
                if in_progress.as_ref().is_some_and(RequestInProgress::is_last) {
                    response.headers_mut().insert(header::CONNECTION, CLOSE);
                }
                in_progress.map(|request| response.map(|body| ResponseBody::new(body, request)))
            }
        };
        // Both are present until the future is ready, and hyper does not poll it after that.
        response.map_or(Poll::Pending, |response| Poll::Ready(Ok(response)))
    }
}
