//! A request body that must arrive at a minimum rate.
//!
//! It has `body_timeout` to begin with, and every [`BYTES_PER_SECOND_MIN`] bytes add a second: a
//! large body on a slow line arrives, one byte every few seconds times out. The timer starts when a
//! handler first has to wait, so a body that came along with its head costs no timer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};

use super::connection_state::ConnectionState;

const BYTES_PER_SECOND_MIN: u32 = 1_024;

#[derive(Debug)]
pub(super) struct TimedBody {
    body: Incoming,
    connection: Arc<ConnectionState>,
    timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

impl TimedBody {
    pub(super) fn new(
        body: Incoming,
        connection: Arc<ConnectionState>,
        timeout: Duration,
    ) -> TimedBody {
        TimedBody { body, connection, timeout, timer: None, ended: false }
    }

    fn extend_deadline(&mut self, frame: &Frame<Bytes>) {
        if let (Some(timer), Some(data)) = (&mut self.timer, frame.data_ref()) {
            let bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
            let extension = Duration::from_secs(1) * bytes / BYTES_PER_SECOND_MIN;
            let deadline = timer.deadline() + extension;
            timer.as_mut().reset(deadline);
        }
    }

    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let timeout = self.timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
        timer.as_mut().poll(cx)
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                self.extend_deadline(&frame);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => {
                self.ended = true;
                Poll::Ready(None)
            }
            Poll::Pending => self.poll_timeout(cx).map(|()| {
                self.ended = true;
                self.connection.leave_body_unread();
                Some(Err("the request body arrived too slowly".into()))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ended || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for TimedBody {
    fn drop(&mut self) {
        if !self.is_end_stream() {
            self.connection.leave_body_unread();
        }
    }
}
