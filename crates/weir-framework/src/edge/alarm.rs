//! The end of a request's time.
//!
//! Connections have one request at a time, so all requests of one share a timer. It is made when a
//! request first has to wait, and moved only when it rings: a busy connection sets no timer for each
//! request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::time::{Instant, Sleep, sleep_until};

/// A connection's timer, while no request has it.
#[derive(Debug, Default)]
pub(super) struct Alarm(Arc<Mutex<Option<Pin<Box<Sleep>>>>>);

impl Alarm {
    /// The end of a request that may take until `deadline`.
    pub(super) fn set(&self, deadline: Instant) -> Deadline {
        Deadline { deadline, timer: None, home: Arc::clone(&self.0) }
    }
}

/// When a request is over, and the timer that tells it. One that is answered without waiting leaves the timer where it is.
#[derive(Debug)]
pub(super) struct Deadline {
    deadline: Instant,
    timer: Option<Pin<Box<Sleep>>>,
    home: Arc<Mutex<Option<Pin<Box<Sleep>>>>>,
}

impl Deadline {
    /// Ready when the time is over.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline;
        let home = &self.home;
        let timer = self.timer.get_or_insert_with(|| {
            let kept = home.lock().take();
            kept.unwrap_or_else(|| Box::pin(sleep_until(deadline)))
        });
        if deadline < timer.deadline() {
            timer.as_mut().reset(deadline);
        }
        // It may still be set for a request before this one.
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
            *self.home.lock() = Some(timer);
        }
    }
}
