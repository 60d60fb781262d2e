//! The body of a request, which must arrive at a least pace.
//!
//! It has `body_timeout` to begin with, and every [`BYTES_PER_SECOND_MIN`] bytes add a second: a
//! large body on a slow line comes through, one byte every few seconds does not. The clock starts
//! when a handler first has to wait, so a body that came along with its head costs no timer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};

use super::turn::Turn;

const BYTES_PER_SECOND_MIN: u32 = 1_024;

#[derive(Debug)]
pub(super) struct Upload {
    body: Incoming,
    turn: Arc<Turn>,
    timeout: Duration,
    alarm: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

impl Upload {
    pub(super) fn new(body: Incoming, turn: Arc<Turn>, timeout: Duration) -> Upload {
        Upload { body, turn, timeout, alarm: None, ended: false }
    }

    fn earn_time(&mut self, frame: &Frame<Bytes>) {
        if let (Some(alarm), Some(data)) = (&mut self.alarm, frame.data_ref()) {
            let bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
            let earned = Duration::from_secs(1) * bytes / BYTES_PER_SECOND_MIN;
            let deadline = alarm.deadline() + earned;
            alarm.as_mut().reset(deadline);
        }
    }

    fn poll_too_slow(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let timeout = self.timeout;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(timeout)));
        alarm.as_mut().poll(cx)
    }
}

impl HttpBody for Upload {
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
                self.earn_time(&frame);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => {
                self.ended = true;
                Poll::Ready(None)
            }
            Poll::Pending => self.poll_too_slow(cx).map(|()| {
                self.ended = true;
                self.turn.leave_unread();
                Some(Err("the body came too slowly".into()))
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

impl Drop for Upload {
    fn drop(&mut self) {
        if !self.is_end_stream() {
            self.turn.leave_unread();
        }
    }
}
