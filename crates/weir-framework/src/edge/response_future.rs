//! The response to one request: waits for its handler, then completes the response.

use std::any::Any;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use axum::routing::future::RouteFuture;

use super::EdgeState;
use super::access_log::AccessLog;
use super::compression;
use super::deadline::Deadline;
use super::fast_path::FastResponse;
use super::request_context::RequestContext;
use crate::metrics::Rejection;
use crate::problem;
use crate::request_id;
use crate::{ApiError, Code};

const NO_SNIFF: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));

/// The handler of a request.
pub(super) enum HandlerFuture {
    Fast(FastResponse),
    /// Boxed, because it is large and every request moves the handler.
    Routed(Box<RouteFuture<Infallible>>),
    /// The request did not reach its handler.
    Refused(Option<Response>),
}

impl HandlerFuture {
    pub(super) fn refused(error: ApiError) -> HandlerFuture {
        HandlerFuture::Refused(Some(error.into_response()))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Response> {
        let polled = match self {
            HandlerFuture::Fast(response) => caught(|| response.as_mut().poll(cx)),
            HandlerFuture::Routed(response) => {
                caught(|| Pin::new(&mut **response).poll(cx).map(|Ok(response)| response))
            }
            HandlerFuture::Refused(response) => {
                return response.take().map_or(Poll::Pending, Poll::Ready);
            }
        };
        polled.unwrap_or_else(|panic| Poll::Ready(panicked(&*panic).into_response()))
    }
}

/// The response to a request on its way to the client.
pub struct ResponseFuture {
    pub(super) state: Arc<EdgeState>,
    pub(super) context: RequestContext,
    pub(super) access_log: AccessLog,
    pub(super) handler: HandlerFuture,
    pub(super) deadline: Deadline,
    pub(super) accept_encoding: Option<HeaderValue>,
}

impl std::fmt::Debug for ResponseFuture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseFuture").field("context", &self.context).finish_non_exhaustive()
    }
}

impl Future for ResponseFuture {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let response = match this.handler.poll(cx) {
            Poll::Ready(response) => response,
            Poll::Pending => {
                ready!(this.deadline.poll(cx));
                this.context.admission().reject(Rejection::TimedOut);
                let detail = "the request did not complete in time";
                ApiError::new(Code::REQUEST_TIMEOUT, detail).into_response()
            }
        };
        // Drops the handler, in case it timed out, and frees its place for the next request.
        this.handler = HandlerFuture::Refused(None);
        this.context.admission().end();
        Poll::Ready(Ok(this.complete(response)))
    }
}

impl ResponseFuture {
    /// Writes the body of an error or compresses the response, adds the headers that every response
    /// has, and records it in the log and the metrics.
    fn complete(&mut self, mut response: Response) -> Response {
        let error = response.extensions_mut().remove::<Arc<ApiError>>();
        if let Some(error) = &error {
            let (now_ms, local) = (self.state.app.now_ms(), self.state.local.is_some());
            problem::write(&mut response, error, self.context.id(), now_ms, local);
        } else if self.state.compresses {
            response = compression::compress(response, self.accept_encoding.take());
        }
        let headers = response.headers_mut();
        headers.insert(request_id::HEADER, self.context.id().value());
        headers.insert(NO_SNIFF.0, NO_SNIFF.1);

        let authorized = self.context.authorized();
        let metrics = authorized.map_or(self.state.unmatched, |authorized| authorized.metrics);
        let (status, duration) = (response.status(), self.access_log.started.elapsed());
        metrics.observe(self.access_log.method_label(), status.as_u16(), duration);
        self.access_log.log(&self.context, status, duration, error.as_deref());
        response
    }
}

/// Catches the panic of a handler. The handler is dropped then, so its state is never observed.
fn caught<T>(act: impl FnOnce() -> T) -> std::thread::Result<T> {
    catch_unwind(AssertUnwindSafe(act))
}

/// The error of a request whose handler panicked.
fn panicked(panic: &(dyn Any + Send)) -> ApiError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = text.unwrap_or("unknown"), "a handler panicked");
    ApiError::new(Code::INTERNAL_ERROR, "the server's log says why, under this request's id")
        .because("a handler panicked")
}
