//! When connections are asked where they belong (`home`): soon after some were accepted, then ever more rarely.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::home::Processors;

/// How long after a connection was accepted, or a round found them mixed, the next begins; and how many times as long
/// after one that found them parted.
const AFTER: Duration = Duration::from_millis(4);
const TIMES: u32 = 2;
/// How long a round lasts. Who is not at rest meanwhile has no part in it, which does no harm: where threads run matters to those
/// that are busy.
const ROUND: Duration = Duration::from_millis(2);
const ROUNDS_MAX: u32 = 20;
/// How many of them follow soon after one that found connections mixed. Those of more threads than there are processors stay
/// mixed, however often they move.
const SOON_MAX: u32 = 10;
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(40);
/// From this pause on new connections begin the rounds anew; with this pause, if the last rounds were in vain.
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
    /// Whether connections stayed mixed however often they moved.
    in_vain: bool,
}

impl Rounds {
    pub(super) fn new() -> Rounds {
        Rounds {
            next: Box::pin(sleep(IDLE)),
            asks: false,
            pause: AFTER,
            left: 0,
            soon: 0,
            in_vain: false,
        }
    }

    /// A connection was accepted.
    pub(super) fn begin(&mut self) {
        if self.left == 0 || self.pause > AGAIN {
            (self.asks, self.left) = (false, ROUNDS_MAX);
            (self.pause, self.soon) = if self.in_vain { (AGAIN, 0) } else { (AFTER, SOON_MAX) };
            self.wait(self.pause);
        }
    }

    /// Until a round begins or ends; [`Rounds::turn`] is due then.
    pub(super) async fn next(&mut self) {
        self.next.as_mut().await;
    }

    /// Ends the round, or begins one.
    pub(super) fn turn(&mut self, processors: &Processors) {
        if std::mem::take(&mut self.asks) {
            let is_parted = processors.decide();
            // Those that moved may have been asked while a client's thread changed its processor.
            if !is_parted && self.soon > 0 {
                self.soon -= 1;
                return self.wait(AFTER);
            }
            self.in_vain = !is_parted;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::home::{Home, On};
    use super::*;

    /// A round in which connections of two threads say that they are `mixed`, or at home.
    fn round(rounds: &mut Rounds, processors: &Arc<Processors>, mixed: bool) {
        let homes = [0, 0, 0, 0, 1, 1, 1, 1].map(|thread| Home::new(thread, processors));
        rounds.turn(processors);
        for (mut home, place) in homes.into_iter().zip(0..) {
            home.is_elsewhere(&On(if mixed { place % 2 } else { place / 4 }));
        }
        rounds.turn(processors);
    }

    #[tokio::test]
    async fn mixed_connections_are_asked_soon_again_but_not_for_ever() {
        let processors = Arc::new(Processors::new(vec![0, 1], 2));
        let mut rounds = Rounds::new();
        rounds.begin();
        for soon in (0..SOON_MAX).rev() {
            round(&mut rounds, &processors, true);
            assert_eq!((rounds.pause, rounds.soon), (AFTER, soon));
        }
        round(&mut rounds, &processors, true);
        assert_eq!(rounds.pause, AFTER * TIMES);
        while rounds.pause <= AGAIN {
            round(&mut rounds, &processors, true);
        }
        rounds.begin();
        assert_eq!((rounds.pause, rounds.soon), (AGAIN, 0), "it was in vain");
        round(&mut rounds, &processors, false);
        rounds.begin();
        assert_eq!((rounds.pause, rounds.soon), (AFTER, SOON_MAX), "others may come apart");
    }

    #[tokio::test]
    async fn parted_connections_are_asked_ever_more_rarely_and_then_no_more() {
        let processors = Arc::new(Processors::new(vec![0, 1], 2));
        let mut rounds = Rounds::new();
        rounds.begin();
        let mut before = rounds.pause;
        for _ in 0..ROUNDS_MAX {
            round(&mut rounds, &processors, false);
            assert_eq!(rounds.pause, (before * TIMES).min(PAUSE_MAX));
            before = rounds.pause;
        }
        assert_eq!(before, PAUSE_MAX);
        rounds.turn(&processors);
        assert!(!rounds.asks, "all rounds are over");
    }
}
