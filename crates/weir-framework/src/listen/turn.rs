//! Whose turn it is on a connection: the client's to ask, or ours to answer.
//!
//! The service, the bodies and the stream of one connection share a [`Turn`]. It only says how
//! patient to be and guards no other memory, so relaxed order is enough.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

#[derive(Debug, Default)]
pub(super) struct Turn {
    answering: AtomicBool,
    unread: AtomicBool,
    elsewhere: AtomicBool,
}

impl Turn {
    /// Whether a request is under way, until the last piece of its answer was handed over.
    pub(super) fn is_ours(&self) -> bool {
        self.answering.load(Relaxed)
    }

    /// Whether a body was given up before its end, so that the client may still be sending.
    pub(super) fn has_unread(&self) -> bool {
        self.unread.load(Relaxed)
    }

    pub(super) fn leave_unread(&self) {
        self.unread.store(true, Relaxed);
    }

    /// Whether the connection is between two requests and belongs to another thread. After a body that was given up the next
    /// bytes are most likely not a request, and only who has read its beginning knows.
    pub(super) fn may_move(&self) -> bool {
        self.elsewhere.load(Relaxed) && !self.is_ours() && !self.has_unread()
    }

    pub(super) fn set_elsewhere(&self, elsewhere: bool) {
        self.elsewhere.store(elsewhere, Relaxed);
    }

    /// Begins the answer to one request.
    pub(super) fn take(turn: &Arc<Turn>) -> Ours {
        turn.answering.store(true, Relaxed);
        Ours(Arc::clone(turn))
    }
}

/// Held while a request is under way.
#[derive(Debug)]
pub(super) struct Ours(Arc<Turn>);

impl Drop for Ours {
    fn drop(&mut self) {
        self.0.answering.store(false, Relaxed);
    }
}

/// The body of an answer; the turn passes to the client when hyper drops it.
#[derive(Debug)]
pub(super) struct Answer {
    body: Body,
    _ours: Ours,
}

impl Answer {
    pub(super) fn new(body: Body, ours: Ours) -> Answer {
        Answer { body, _ours: ours }
    }
}

impl HttpBody for Answer {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_moves_only_between_requests_that_were_read() {
        let turn = Arc::new(Turn::default());
        assert!(!turn.may_move(), "it is at home");
        turn.set_elsewhere(true);
        assert!(turn.may_move());
        let ours = Turn::take(&turn);
        assert!(!turn.may_move(), "a request is under way");
        drop(ours);
        assert!(turn.may_move());
        turn.leave_unread();
        assert!(!turn.may_move(), "a body may still come");
    }
}
