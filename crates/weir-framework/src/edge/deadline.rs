//! The deadline of a request.
//!
//! A connection has one request at a time, so all requests of a connection share a timer. It is made
//! when a request first has to wait, and moved only when it fires: a busy connection sets no timer
//! per request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::time::{Instant, Sleep, sleep_until};

/// A connection's timer, while no request uses it.
#[derive(Debug, Default)]
pub(super) struct ConnectionTimer(Arc<Mutex<Option<Pin<Box<Sleep>>>>>);

impl ConnectionTimer {
    pub(super) fn deadline(&self, deadline: Instant) -> Deadline {
        Deadline { deadline, timer: None, connection: Arc::clone(&self.0) }
    }
}

/// The deadline of one request. A request that never waits leaves the timer with the connection.
#[derive(Debug)]
pub(super) struct Deadline {
    deadline: Instant,
    timer: Option<Pin<Box<Sleep>>>,
    connection: Arc<Mutex<Option<Pin<Box<Sleep>>>>>,
}

impl Deadline {
    /// Ready when the deadline has passed.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline;
        let connection = &self.connection;
        let timer = self.timer.get_or_insert_with(|| {
            let reused = connection.lock().take();
            reused.unwrap_or_else(|| Box::pin(sleep_until(deadline)))
        });
        if deadline < timer.deadline() {
            timer.as_mut().reset(deadline);
        }
        // The timer may still be set for an earlier request.
        while timer.deadline() < deadline {
            ready!(timer.as_mut().poll(cx));
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(cx)
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        if let Some(timer) = self.timer.take() {
            *self.connection.lock() = Some(timer);
        }
    }
}
