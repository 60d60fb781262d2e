//! The state of a connection that its service, its bodies and its stream share.
//!
//! It only decides which timeout applies and guards no other memory, so relaxed order is enough.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

#[derive(Debug, Default)]
pub(super) struct ConnectionState {
    in_request: AtomicBool,
    unread_body: AtomicBool,
    closing: AtomicBool,
}

impl ConnectionState {
    /// Whether a request is in progress, from its head until its response body was handed to hyper.
    pub(super) fn in_request(&self) -> bool {
        self.in_request.load(Relaxed)
    }

    /// Whether a request body was dropped before its end, so that the client may still be sending.
    pub(super) fn has_unread_body(&self) -> bool {
        self.unread_body.load(Relaxed)
    }

    pub(super) fn leave_body_unread(&self) {
        self.unread_body.store(true, Relaxed);
    }

    /// The server stops: the next response is the last of the connection, and says so.
    pub(super) fn close_after_next_response(&self) {
        self.closing.store(true, Relaxed);
    }

    /// Marks the start of a request.
    pub(super) fn start_request(state: &Arc<ConnectionState>) -> RequestInProgress {
        state.in_request.store(true, Relaxed);
        RequestInProgress(Arc::clone(state))
    }
}

/// Marks the end of the request when dropped.
#[derive(Debug)]
pub(super) struct RequestInProgress(Arc<ConnectionState>);

impl RequestInProgress {
    /// Whether the connection closes after the response.
    pub(super) fn is_last(&self) -> bool {
        self.0.closing.load(Relaxed)
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        self.0.in_request.store(false, Relaxed);
    }
}

/// A response body. The request ends when hyper drops it.
#[derive(Debug)]
pub(super) struct ResponseBody {
    body: Body,
    _request: RequestInProgress,
}

impl ResponseBody {
    pub(super) fn new(body: Body, request: RequestInProgress) -> ResponseBody {
        ResponseBody { body, _request: request }
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
