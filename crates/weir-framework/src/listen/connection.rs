//! One connection: the TLS handshake if there is one, then HTTP until either side is done.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{HeaderMap, Version, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use weir_table::Error;

use super::home::{Arriving, Home};
use super::patience::{Limits, Patient};
use super::tls::{Certificate, handshake};
use super::turn::{Answer, Ours, Turn};
use super::upload::Upload;
use super::{Answers, Routes, Settings};
use crate::problem;

/// What all connections of a listener share.
pub(super) struct Host<R> {
    routes: R,
    http: http1::Builder,
    limits: Limits,
    body_timeout: Duration,
    handshake_timeout: Duration,
    certificate: Option<Certificate>,
}

impl<R> Host<R> {
    pub(super) fn new(routes: R, settings: &Settings, certificate: Option<Certificate>) -> Host<R> {
        let mut http = http1::Builder::new();
        // Hyper's own timeout would also count while a client has nothing to ask, and sets a new
        // timer for each request; `Patient` does both. The buffer alone bounds a head only roughly.
        http.header_read_timeout(None)
            .max_header_size(settings.header_bytes_max)
            .max_buf_size(settings.header_bytes_max);
        Host {
            routes,
            http,
            limits: Limits {
                header: settings.header_timeout,
                idle: settings.idle_timeout,
                write: settings.write_timeout,
            },
            body_timeout: settings.body_timeout,
            handshake_timeout: settings.handshake_timeout,
            certificate,
        }
    }
}

/// A connection that is to be served.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) stream: std::net::TcpStream,
    pub(super) peer: SocketAddr,
    /// What another thread has left to say of it, if it comes from one.
    pub(super) before: Option<Before>,
}

/// What a thread says of a connection that it hands over.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) home: Home,
    turn: Arc<Turn>,
    /// What was read of the next request.
    ahead: Bytes,
}

/// Serves one client until it leaves, is cut off, or `stop` says that no more requests are taken; or until it is better off
/// with another thread, which is what is returned then.
pub(super) async fn serve<R: Routes>(
    host: Arc<Host<R>>,
    Arrival { stream, peer, before }: Arrival,
    home: Home,
    mut stop: oneshot::Receiver<()>,
) -> Option<Arrival> {
    let stream = match TcpStream::from_std(stream) {
        Ok(stream) => stream,
        Err(error) => {
            tracing::warn!(%peer, %error, "a connection could not be taken up");
            return None;
        }
    };
    if before.is_none()
        && let Err(error) = stream.set_nodelay(true)
    {
        tracing::debug!(%peer, %error, "TCP_NODELAY could not be set");
    }
    let Some(certificate) = &host.certificate else {
        let (stream, before) = converse(&host, stream, peer, (home, before), stop).await?;
        let stream = stream.into_std();
        let stream = stream.inspect_err(|error| {
            tracing::warn!(%peer, %error, "a connection could not be handed over");
        });
        return Some(Arrival { stream: stream.ok()?, peer, before: Some(before) });
    };
    let shaken = handshake(stream, certificate.newest());
    let shaken = tokio::select! {
        shaken = tokio::time::timeout(host.handshake_timeout, shaken) => shaken,
        _ = &mut stop => return None,
    };
    match shaken {
        // Such a stream never says that it is elsewhere.
        Ok(Ok(stream)) => drop(converse(&host, stream, peer, (home, None), stop).await),
        Ok(Err(error)) => tracing::debug!(%peer, %error, "a TLS handshake failed"),
        Err(_) => tracing::debug!(%peer, "a TLS handshake took too long"),
    }
    None
}

/// Talks to a client. If the connection is at rest and belongs to another thread it is returned as it is.
async fn converse<R, S>(
    host: &Host<R>,
    stream: S,
    peer: SocketAddr,
    (home, before): (Home, Option<Before>),
    mut stop: oneshot::Receiver<()>,
) -> Option<(S, Before)>
where
    R: Routes,
    S: AsyncRead + AsyncWrite + Arriving + Unpin + 'static,
{
    let (turn, ahead) = before.map(|before| (before.turn, before.ahead)).unzip();
    let turn = turn.unwrap_or_default();
    turn.set_elsewhere(false);
    let client = Client {
        routes: RefCell::new(host.routes.clone()),
        body_timeout: host.body_timeout,
        turn: Arc::clone(&turn),
        peer,
    };
    let stream = Patient::new(stream, home, Arc::clone(&turn), host.limits);
    let stream = match ahead {
        Some(ahead) => stream.after(ahead),
        None => stream,
    };
    let mut connection = host.http.serve_connection(TokioIo::new(stream), client);
    let talk = poll_fn(|cx| match Pin::new(&mut connection).poll(cx) {
        Poll::Ready(served) => Poll::Ready(Some(served)),
        Poll::Pending if turn.may_move() => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    let served = tokio::select! {
        biased;
        // First, so that a request that has arrived is taken up, and answered.
        served = talk => served,
        _ = &mut stop => {
            Pin::new(&mut connection).graceful_shutdown();
            Some(Pin::new(&mut connection).await)
        }
    };
    match served {
        Some(Ok(())) => None,
        Some(Err(error)) => {
            tracing::debug!(%peer, %error, "a connection ended early");
            None
        }
        None => {
            let parts = connection.into_parts();
            let (stream, home) = parts.io.into_inner().into_parts();
            Some((stream, Before { home, turn, ahead: parts.read_buf }))
        }
    }
}

/// The service of one connection.
struct Client<R> {
    /// Hyper has a shared reference only, and one request at a time.
    routes: RefCell<R>,
    body_timeout: Duration,
    turn: Arc<Turn>,
    peer: SocketAddr,
}

impl<R: Routes> hyper::service::Service<Request<Incoming>> for Client<R> {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Answering<R::Answer>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let ours = Turn::take(&self.turn);
        // First, so that it is known of every body whether it was read.
        let request = request.map(|body| self.receive(body));
        if let Err(error) = check_host(request.version(), request.headers()) {
            let refusal = problem::early(&error.into());
            return Answering::Refused(Some(refusal.map(|body| Answer::new(body, ours))));
        }
        let answer = self.routes.borrow_mut().answer(request, self.peer);
        Answering::Routed(answer, Some(ours))
    }
}

impl<R> Client<R> {
    fn receive(&self, body: Incoming) -> Body {
        if body.is_end_stream() {
            return Body::empty();
        }
        let turn = Arc::clone(&self.turn);
        Body::new(Upload::new(body, turn, self.body_timeout))
    }
}

/// RFC 9112 section 3.2: without exactly one `Host`, what stands between the client and us may have
/// read another one than we do.
fn check_host(version: Version, headers: &HeaderMap) -> Result<(), Error> {
    let hosts = headers.get_all(header::HOST).iter().take(2).count();
    match hosts {
        1 => Ok(()),
        0 if version < Version::HTTP_11 => Ok(()),
        0 => Err(Error::invalid("Host", "the header is missing")),
        _ => Err(Error::invalid("Host", "the header is there more than once")),
    }
}

/// The answer to one request on its way.
enum Answering<F> {
    Routed(F, Option<Ours>),
    Refused(Option<Response<Answer>>),
}

impl<F: Answers> Future for Answering<F> {
    type Output = Result<Response<Answer>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = match &mut *self {
            Answering::Refused(refusal) => refusal.take(),
            Answering::Routed(answer, ours) => {
                let answer = ready!(Pin::new(answer).poll(cx))?;
                ours.take().map(|ours| answer.map(|body| Answer::new(body, ours)))
            }
        };
        // Both are there until the future is done; hyper does not ask again after that.
        answer.map_or(Poll::Pending, |answer| Poll::Ready(Ok(answer)))
    }
}
