//! When connections are asked where they belong (`home`): soon after some were accepted, then ever more rarely.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::home::Processors;

/// How long after a connection was accepted, or a round found them mixed, the next begins; and how many times as long
/// after one that found them parted.
const AFTER: Duration = Duration::from_millis(4);
const TIMES: u32 = 2;
/// How long a round lasts: a connection in use is at rest many times meanwhile.
const ROUND: Duration = Duration::from_millis(1);
const ROUNDS_MAX: u32 = 20;
/// How many of them follow soon after one that found connections mixed. Those of more threads than there are processors stay
/// mixed, however often they move.
const SOON_MAX: u32 = 10;
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(40);
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
    soon: u32,
}

impl Rounds {
    pub(super) fn new() -> Rounds {
        Rounds { next: Box::pin(sleep(IDLE)), asks: false, pause: AFTER, left: 0, soon: 0 }
    }

    /// A connection was accepted.
    pub(super) fn begin(&mut self) {
        if self.left == 0 || self.pause > AGAIN {
            (self.asks, self.pause) = (false, AFTER);
            (self.left, self.soon) = (ROUNDS_MAX, SOON_MAX);
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
            // Those that moved may have been asked while a client's thread changed its processor.
            if !processors.decide() && self.soon > 0 {
                self.soon -= 1;
                return self.wait(AFTER);
            }
            self.pause = self.pause.saturating_mul(TIMES).min(PAUSE_MAX);
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
