//! The answer to one request on its way.

use std::any::Any;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use axum::routing::future::RouteFuture;

use super::Listener;
use super::alarm::Deadline;
use super::express::Travelling;
use super::line::Line;
use super::packing::{self, Packed};
use super::turns::Turn;
use super::visit::Visit;
use crate::metrics::Rejection;
use crate::problem;
use crate::request_id;
use crate::{ApiError, Code};

const NO_SNIFF: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));

/// What a handler answers. The error of one on the long way is inside its answer.
pub(super) type Answer = Result<Response, ApiError>;

/// Who works on an answer.
pub(super) enum Work {
    Express(Travelling),
    Routed(RouteFuture<Infallible>),
    Packed(Packed),
    Done(Answer),
    Over,
}

impl Work {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Answer> {
        let answered = match self {
            Work::Express(answer) => caught(|| answer.as_mut().poll(cx)),
            Work::Routed(answer) => caught(|| Pin::new(answer).poll(cx).map(sure)),
            Work::Packed(answer) => caught(|| answer.as_mut().poll(cx).map(sure)),
            Work::Done(_) | Work::Over => Ok(Poll::Pending),
        };
        match answered {
            Ok(Poll::Ready(answer)) => Poll::Ready(answer),
            Err(panic) => Poll::Ready(Err(panicked(&*panic))),
            Ok(Poll::Pending) => match std::mem::replace(self, Work::Over) {
                Work::Done(answer) => Poll::Ready(answer),
                other => {
                    *self = other;
                    Poll::Pending
                }
            },
        }
    }
}

fn sure(answer: Result<Response, Infallible>) -> Answer {
    answer.map_err(|never| match never {})
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
        let answer = match this.work.poll(cx) {
            Poll::Ready(answer) => answer,
            Poll::Pending => {
                ready!(this.alarm.poll(cx));
                this.listener.app.metrics().rejected(Rejection::TimedOut);
                let detail = "the request was not done in time";
                Err(ApiError::new(Code::REQUEST_TIMEOUT, detail))
            }
        };
        this.work = Work::Over;
        this.turn = None;
        Poll::Ready(Ok(this.finish(answer)))
    }
}

impl Answering {
    /// Gives an error its form, adds what every answer has, and tells of it.
    fn finish(&self, answer: Answer) -> Response {
        match answer {
            Ok(mut response) => match response.extensions_mut().remove::<Arc<ApiError>>() {
                Some(error) => self.fail(response, &error),
                None => {
                    if self.packs {
                        packing::vary(&mut response);
                    }
                    self.tell(response, None)
                }
            },
            Err(mut error) => self.fail(error.bare_response(), &error),
        }
    }

    fn fail(&self, mut response: Response, error: &ApiError) -> Response {
        let (now_ms, local) = (self.listener.app.now_ms(), self.listener.local.is_some());
        problem::write(&mut response, error, self.visit.id(), now_ms, local);
        self.tell(response, Some(error))
    }

    fn tell(&self, mut response: Response, error: Option<&ApiError>) -> Response {
        let headers = response.headers_mut();
        headers.insert(request_id::HEADER, self.visit.id().value());
        headers.insert(NO_SNIFF.0, NO_SNIFF.1);

        let passed = self.visit.passed();
        let metrics = passed.map_or(self.listener.unknown, |passed| passed.metrics);
        let (status, took) = (response.status(), self.line.started.elapsed());
        metrics.observe(self.line.method_name(), status.as_u16(), took);
        self.line.log(self.visit.id(), status, took, passed, error);
        response
    }
}

/// Does something of a handler, which may panic. What panicked is dropped, so nobody sees what it left half done.
pub(super) fn caught<T>(act: impl FnOnce() -> T) -> std::thread::Result<T> {
    catch_unwind(AssertUnwindSafe(act))
}

/// The answer to a request whose handler panicked.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> ApiError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = text.unwrap_or("unknown"), "a handler panicked");
    ApiError::new(Code::INTERNAL_ERROR, "the server's log says why, under this request's id")
        .because("a handler panicked")
}
