//! A job works a little and rests a little, so that requests do not wait long for its processor.
//!
//! A job with much to do would hold a processor for as long as the system lets it, which is some milliseconds, and whoever
//! is answered on that processor waits as long. What jobs do is not urgent: they rest at the next place where they
//! can be left, and catch up with what has come meanwhile in one go. One that is far behind,
//! that somebody waits for or that is to end does not rest.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use tokio::time::sleep;

/// How long a job works before it rests, and how long it does so; the timer makes up to 1 ms more of it.
const WORK: Duration = Duration::from_micros(500);
const REST: Duration = Duration::from_millis(1);

/// Does `work`, with rests unless it `hurries`.
pub(super) async fn unhurried<T>(work: impl Future<Output = T>, hurries: impl Fn() -> bool) -> T {
    let mut work = pin!(work);
    let mut worked = Duration::ZERO;
    let mut rest = pin!(sleep(Duration::ZERO));
    let mut rests = false;
    poll_fn(|context| {
        loop {
            if rests {
                ready!(rest.as_mut().poll(context));
                rests = false;
            }
            let begun = Instant::now();
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(done);
            }
            worked += begun.elapsed();
            if worked < WORK {
                return Poll::Pending;
            }
            worked = Duration::ZERO;
            if hurries() {
                return Poll::Pending;
            }
            // What wakes the work meanwhile is not lost: it is asked when the rest is over.
            rests = true;
            rest.as_mut().reset(tokio::time::Instant::now() + REST);
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    fn busy(time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {}
    }

    const STEPS: u32 = 5;

    /// Work that can be left after each step.
    async fn steps() -> u32 {
        for _ in 0..STEPS {
            busy(WORK);
            tokio::task::yield_now().await;
        }
        STEPS
    }

    #[tokio::test]
    async fn work_rests_between_its_steps_and_ends() {
        let began = Instant::now();
        assert_eq!(unhurried(steps(), || false).await, STEPS);
        assert!(began.elapsed() >= (WORK + REST) * STEPS, "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn what_comes_during_a_rest_is_seen_after_it() {
        let (tell, told) = tokio::sync::oneshot::channel();
        let listens = async {
            busy(WORK);
            told.await
        };
        // It is asked second, so the work rests by then.
        let speaks = async { tell.send(7) };
        let (heard, spoken) = tokio::join!(biased; unhurried(listens, || false), speaks);
        assert_eq!((heard, spoken), (Ok(7), Ok(())));
    }

    #[tokio::test]
    async fn work_that_hurries_goes_on() {
        let asked = std::cell::Cell::new(0);
        let hurries = || {
            asked.set(asked.get() + 1);
            true
        };
        let mut work = pin!(unhurried(steps(), hurries));
        // Nothing but the work's own wakes is waited for: each poll is a step.
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..STEPS {
            assert!(work.as_mut().poll(&mut context).is_pending());
        }
        assert!(work.as_mut().poll(&mut context).is_ready());
        assert_eq!(asked.get(), STEPS);
    }
}
