//! The answer to one request on its way.

use std::any::Any;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use axum::routing::future::RouteFuture;

use super::Listener;
use super::alarm::Deadline;
use super::line::Line;
use super::packing::{self, Packed};
use super::turns::Turn;
use super::visit::Visit;
use crate::error::{ApiError, Code};
use crate::metrics::Refusal;
use crate::problem;
use crate::request_id;

const NO_SNIFF: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
/// What stands for the paths that no route has, and for the socket's own.
const NO_ROUTE: &str = "none";
const SOCKET: &str = "socket";

/// Who works on an answer.
pub(super) enum Work {
    Routed(RouteFuture<Infallible>),
    Packed(Packed),
    Done(Response),
    Over,
}

impl Work {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Response> {
        let answered = match self {
            Work::Routed(answer) => caught(|| Pin::new(answer).poll(cx)),
            Work::Packed(answer) => caught(|| answer.as_mut().poll(cx)),
            Work::Done(_) | Work::Over => Ok(Poll::Pending),
        };
        match answered {
            Ok(Poll::Ready(Ok(response))) => Poll::Ready(response),
            Err(panic) => Poll::Ready(panicked(&*panic)),
            Ok(Poll::Pending) => match std::mem::replace(self, Work::Over) {
                Work::Done(response) => Poll::Ready(response),
                other => {
                    *self = other;
                    Poll::Pending
                }
            },
        }
    }
}

/// An answer on its way to its caller.
pub struct Answering {
    pub(super) listener: Arc<Listener>,
    pub(super) visit: Visit,
    pub(super) line: Line,
    pub(super) work: Work,
    pub(super) turn: Option<Turn>,
    pub(super) alarm: Deadline,
    /// Whether answers to others may be compressed.
    pub(super) packs: bool,
}

impl std::fmt::Debug for Answering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answering").field("visit", &self.visit).finish_non_exhaustive()
    }
}

impl Future for Answering {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut response = match this.work.poll(cx) {
            Poll::Ready(response) => response,
            Poll::Pending => {
                ready!(this.alarm.poll(cx));
                this.listener.app.metrics().refused(Refusal::TimedOut);
                ApiError::new(Code::RequestTimeout, "the request was not done in time")
                    .into_response()
            }
        };
        this.work = Work::Over;
        this.turn = None;
        this.finish(&mut response);
        Poll::Ready(Ok(response))
    }
}

impl Answering {
    /// Gives an error its form, adds what every answer has, and tells of it.
    fn finish(&mut self, response: &mut Response) {
        let app = &self.listener.app;
        let error = response.extensions_mut().remove::<Arc<ApiError>>();
        if let Some(error) = &error {
            let local = self.listener.local.is_some();
            problem::write(response, error, self.visit.id(), app.now_ms(), local);
        } else if self.packs {
            packing::vary(response);
        }
        let headers = response.headers_mut();
        headers.insert(request_id::HEADER, self.visit.id().value());
        headers.insert(NO_SNIFF.0, NO_SNIFF.1);

        let passed = self.visit.passed();
        let unknown = if self.listener.local.is_some() { SOCKET } else { NO_ROUTE };
        let route = passed.map_or(unknown, |passed| passed.route);
        let (status, took) = (response.status(), self.line.started.elapsed());
        app.metrics().answered(self.line.method_name(), route, status.as_u16(), took);
        self.line.log(self.visit.id(), status, took, passed, error.as_deref());
    }
}

/// Does something of a handler, which may panic. What panicked is dropped, so nobody sees what it left half done.
pub(super) fn caught<T>(act: impl FnOnce() -> T) -> std::thread::Result<T> {
    catch_unwind(AssertUnwindSafe(act))
}

/// The answer to a request whose handler panicked.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> Response {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = text.unwrap_or("unknown"), "a handler panicked");
    ApiError::new(Code::InternalError, "the server's log says why, under this request's id")
        .because("a handler panicked")
        .into_response()
}
