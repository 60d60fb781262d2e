//! A job works a little and rests a little, so that requests do not wait long for its processor.
//!
//! A job with much to do would hold a processor for as long as the system lets it, which is some milliseconds, and whoever
//! is answered on that processor waits as long. What jobs do is not urgent: they rest at the next place where they
//! can be left, and catch up with what has come meanwhile in one go. One that is far behind,
//! that somebody waits for or that is to end does not rest.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use tokio::time::sleep;

/// How long a job works before it rests, and how long it does so; the timer makes up to 1 ms more of it.
const WORK: Duration = Duration::from_micros(500);
const REST: Duration = Duration::from_millis(1);

/// Does `work`, with rests unless it `hurries`.
pub(super) async fn unhurried<F: Future + Unpin>(
    mut work: F,
    hurries: impl Fn() -> bool,
) -> F::Output {
    let mut worked = Duration::ZERO;
    let mut rest = Box::pin(sleep(Duration::ZERO));
    let mut rests = false;
    poll_fn(move |context| {
        loop {
            if rests {
                ready!(rest.as_mut().poll(context));
                rests = false;
            }
            let begun = Instant::now();
            if let Poll::Ready(done) = Pin::new(&mut work).poll(context) {
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

    #[tokio::test]
    async fn work_rests_between_its_steps_and_ends() {
        let began = Instant::now();
        let steps = Box::pin(async {
            for _ in 0..5 {
                busy(WORK);
                tokio::task::yield_now().await;
            }
            5
        });
        assert_eq!(unhurried(steps, || false).await, 5);
        assert!(began.elapsed() >= (WORK + REST) * 5, "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn what_comes_during_a_rest_is_seen_after_it() {
        let (tell, told) = tokio::sync::oneshot::channel();
        let listens = Box::pin(async {
            busy(WORK);
            told.await
        });
        // It is asked second, so the work rests by then.
        let speaks = async { tell.send(7) };
        let (heard, spoken) = tokio::join!(biased; unhurried(listens, || false), speaks);
        assert_eq!((heard, spoken), (Ok(7), Ok(())));
    }

    #[tokio::test]
    async fn work_that_hurries_goes_on() {
        let asked = std::cell::Cell::new(0);
        let steps = Box::pin(async {
            for _ in 0..5 {
                busy(WORK);
                tokio::task::yield_now().await;
            }
        });
        let mut work = Box::pin(unhurried(steps, || {
            asked.set(asked.get() + 1);
            true
        }));
        // Nothing but the work's own wakes is waited for: each poll is a step.
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..5 {
            assert!(work.as_mut().poll(&mut context).is_pending());
        }
        assert!(work.as_mut().poll(&mut context).is_ready());
        assert_eq!(asked.get(), 5);
    }
}
