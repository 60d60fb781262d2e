//! A job's mailbox: its task waits here until the job is due, somebody wakes or requests it, or the driver stops.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};

use super::failure::Failure;
use super::job::Done;
use super::run_context::Phase;
use super::settings::{PAUSE_MIN, REQUESTS_MAX};

/// The result of a requested run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunResult {
    /// The run ended.
    Done(Done),
    /// The run failed.
    Failed(Failure),
    /// The job is running on this other instance.
    Elsewhere(String),
    /// The driver is stopping.
    Stopping,
}

/// Why a task wakes up.
#[derive(Debug)]
pub(super) enum Wakeup {
    /// The job is due.
    Due,
    /// Somebody has work for the job.
    Woken,
    /// Somebody requested a run and waits for its result.
    Requested(oneshot::Sender<RunResult>),
}

impl Wakeup {
    /// Whether the job runs although it is not due.
    pub(super) fn is_requested(&self) -> bool {
        !matches!(self, Wakeup::Due)
    }

    /// Sends the result to the requester, if there is one.
    pub(super) fn reply(self, ran: RunResult) {
        if let Wakeup::Requested(requester) = self {
            // A requester that went away does not need the result.
            requester.send(ran).ok();
        }
    }
}

/// The receiving half, which belongs to the job's task.
#[derive(Debug)]
pub(super) struct Mailbox {
    wake: Arc<Notify>,
    requests: mpsc::Receiver<oneshot::Sender<RunResult>>,
    phase: watch::Receiver<Phase>,
}

/// The sending half.
#[derive(Debug, Clone)]
pub(super) struct Waker {
    wake: Arc<Notify>,
    requests: mpsc::Sender<oneshot::Sender<RunResult>>,
}

pub(super) fn mailbox(phase: watch::Receiver<Phase>) -> (Waker, Mailbox) {
    let (sender, requests) = mpsc::channel(REQUESTS_MAX);
    let wake = Arc::new(Notify::new());
    let waker = Waker { wake: Arc::clone(&wake), requests: sender };
    (waker, Mailbox { wake, requests, phase })
}

impl Mailbox {
    /// Waits up to `wait` for a wake-up. Returns none when the driver stops.
    pub(super) async fn next(&mut self, wait: Duration) -> Option<Wakeup> {
        tokio::select! {
            biased;
            _ = self.phase.wait_for(|phase| *phase != Phase::Serving) => None,
            Some(requester) = self.requests.recv() => Some(Wakeup::Requested(requester)),
            () = self.wake.notified() => Some(Wakeup::Woken),
            () = tokio::time::sleep(wait.max(PAUSE_MIN)) => Some(Wakeup::Due),
        }
    }
}

impl Waker {
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    pub(super) async fn request(&self) -> RunResult {
        let (requester, answer) = oneshot::channel();
        if self.requests.send(requester).await.is_err() {
            return RunResult::Stopping;
        }
        answer.await.unwrap_or(RunResult::Stopping)
    }
}
