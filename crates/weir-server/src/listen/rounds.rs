//! When connections are asked where they belong (`home`): soon after some were accepted, then ever more rarely.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::home::Processors;

/// How long after a connection was accepted the first round begins, and how many times as long after it the next.
const AFTER: Duration = Duration::from_millis(20);
const TIMES: u32 = 2;
/// How long a round lasts: a connection in use is at rest many times meanwhile.
const ROUND: Duration = Duration::from_millis(5);
const ROUNDS_MAX: u32 = 12;
/// From this pause on new connections begin the rounds anew.
const AGAIN: Duration = Duration::from_secs(1);
/// How long nothing is asked when there is nothing to ask.
const IDLE: Duration = Duration::from_secs(3_600);

#[derive(Debug)]
pub(super) struct Rounds {
    next: Pin<Box<Sleep>>,
    /// Whether a round is on.
    asks: bool,
    pause: Duration,
    left: u32,
}

impl Rounds {
    pub(super) fn new() -> Rounds {
        Rounds { next: Box::pin(sleep(IDLE)), asks: false, pause: AFTER, left: 0 }
    }

    /// A connection was accepted.
    pub(super) fn begin(&mut self) {
        if self.left == 0 || self.pause > AGAIN {
            (self.asks, self.pause, self.left) = (false, AFTER, ROUNDS_MAX);
            self.wait(AFTER);
        }
    }

    /// Until a round begins or ends; [`Rounds::turn`] is due then.
    pub(super) async fn next(&mut self) {
        self.next.as_mut().await;
    }

    /// Ends the round, or begins one.
    pub(super) fn turn(&mut self, processors: &Processors) {
        if std::mem::take(&mut self.asks) {
            processors.decide();
            self.pause = self.pause.saturating_mul(TIMES);
            self.wait(self.pause);
        } else if let Some(left) = self.left.checked_sub(1) {
            processors.ask();
            (self.asks, self.left) = (true, left);
            self.wait(ROUND);
        } else {
            self.wait(IDLE);
        }
    }

    fn wait(&mut self, pause: Duration) {
        self.next.as_mut().reset(Instant::now() + pause);
    }
}
