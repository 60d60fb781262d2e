//! Where a job's task waits: until it is due, woken, asked for, or the driver stops.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};

use super::failure::Failure;
use super::job::Done;
use super::settings::{ASKS_MAX, PAUSE_MIN};
use super::turn::Phase;

/// What became of a run that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ran {
    /// It ended.
    Done(Done),
    /// It failed.
    Failed(Failure),
    /// The job is running on this other instance.
    Elsewhere(String),
    /// The driver is stopping.
    Stopping,
}

/// Why a task goes on.
#[derive(Debug)]
pub(super) enum Call {
    /// The wait is over.
    Due,
    /// Somebody has work for it.
    Woken,
    /// Somebody waits for the result.
    Asked(oneshot::Sender<Ran>),
}

impl Call {
    /// Whether the job is to run though it is not due.
    pub(super) fn is_wanted(&self) -> bool {
        !matches!(self, Call::Due)
    }

    /// Tells whoever asked.
    pub(super) fn answer(self, ran: Ran) {
        if let Call::Asked(asker) = self {
            // An asker that went away does not want to know.
            asker.send(ran).ok();
        }
    }
}

/// The task's side.
#[derive(Debug)]
pub(super) struct Desk {
    wake: Arc<Notify>,
    asks: mpsc::Receiver<oneshot::Sender<Ran>>,
    phase: watch::Receiver<Phase>,
}

/// Everyone else's side.
#[derive(Debug, Clone)]
pub(super) struct Bell {
    wake: Arc<Notify>,
    asks: mpsc::Sender<oneshot::Sender<Ran>>,
}

pub(super) fn desk(phase: watch::Receiver<Phase>) -> (Bell, Desk) {
    let (sender, asks) = mpsc::channel(ASKS_MAX);
    let wake = Arc::new(Notify::new());
    let bell = Bell { wake: Arc::clone(&wake), asks: sender };
    (bell, Desk { wake, asks, phase })
}

impl Desk {
    /// Waits for `wait` or a call; none when the driver stops.
    pub(super) async fn next(&mut self, wait: Duration) -> Option<Call> {
        tokio::select! {
            biased;
            _ = self.phase.wait_for(|phase| *phase != Phase::Serving) => None,
            Some(asker) = self.asks.recv() => Some(Call::Asked(asker)),
            () = self.wake.notified() => Some(Call::Woken),
            () = tokio::time::sleep(wait.max(PAUSE_MIN)) => Some(Call::Due),
        }
    }
}

impl Bell {
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    pub(super) async fn ask(&self) -> Ran {
        let (asker, answer) = oneshot::channel();
        if self.asks.send(asker).await.is_err() {
            return Ran::Stopping;
        }
        answer.await.unwrap_or(Ran::Stopping)
    }
}
