//! Runs a job once: it ends, fails, panics, times out or is dropped.

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::context::Context;
use super::erased::{AnyFeedJob, AnyPeriodic, Boxed};
use super::failure::{Failure, Result};
use super::job::Done;
use super::run_context::{Phase, RunContext};

/// The end of a run.
#[derive(Debug)]
pub(super) enum End<T> {
    /// The run ended by itself.
    Ended(Result<T>),
    /// The run was dropped because its lease was lost.
    Lost,
    /// The run was dropped because the driver stops.
    CutOff,
}

/// Runs `work` until it ends, for at most `within`, until `lost` resolves or the driver drops it.
pub(super) async fn guarded<T>(
    work: Boxed<'_, Result<T>>,
    within: Duration,
    phase: watch::Receiver<Phase>,
    lost: impl Future<Output = ()>,
) -> End<T> {
    tokio::select! {
        biased;
        ended = catching(work) => End::Ended(ended),
        () = cut_off(phase) => End::CutOff,
        () = lost => End::Lost,
        () = tokio::time::sleep(within) => {
            let secs = within.as_secs_f64();
            End::Ended(Err(Failure::new(format!("the run did not end within {secs} s"))))
        }
    }
}

/// A panic is a failed run. Its text is not stored, because it may contain anything; the process has
/// printed it.
async fn catching<T>(mut work: Boxed<'_, Result<T>>) -> Result<T> {
    poll_fn(move |context| {
        // After a panic the work is dropped, never polled again.
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))).unwrap_or_else(|_| {
            Poll::Ready(Err(Failure::new("the run panicked; the log says where")))
        })
    })
    .await
}

async fn cut_off(mut phase: watch::Receiver<Phase>) {
    if phase.wait_for(|phase| *phase == Phase::CutOff).await.is_err() {
        // The driver was dropped, and its tasks end with it.
        pending::<()>().await;
    }
}

/// Work in rounds.
#[derive(Clone, Copy)]
pub(super) enum Work<'a> {
    /// A periodic job's run.
    Run(&'a dyn AnyPeriodic),
    /// A feed job's full pass.
    Pass(&'a dyn AnyFeedJob),
}

impl Work<'_> {
    fn round<'a>(&'a self, run: &'a RunContext) -> Boxed<'a, Result<Done>> {
        match self {
            Work::Run(job) => job.run(run),
            Work::Pass(job) => job.full_pass(run),
        }
    }
}

/// Runs rounds while there is more to do, up to the bound of rounds and half of `within`, so that a job with a backlog
/// reports progress and does not reach its deadline.
pub(super) async fn rounds(
    context: &Context,
    work: Work<'_>,
    items_max: u64,
    within: Duration,
    lost: watch::Receiver<bool>,
) -> Result<Done> {
    let started = Instant::now();
    let mut total = Done::default();
    for _ in 0..context.settings.rounds_max {
        let run = context.run(items_max, &lost);
        total = total.then(work.round(&run).await?);
        if !total.more || run.stopping() || started.elapsed() >= within / 2 {
            break;
        }
        tokio::task::yield_now().await;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(work: Boxed<'static, Result<u8>>, within: Duration) -> impl Future<Output = End<u8>> {
        let (tell, phase) = watch::channel(Phase::Serving);
        async move {
            let end = guarded(work, within, phase, pending()).await;
            drop(tell);
            end
        }
    }

    #[tokio::test]
    async fn a_panic_is_a_failed_run() {
        let panics = Box::pin(async { panic!("the secret is 12345") });
        let End::Ended(Err(failure)) = guard(panics, Duration::from_secs(60)).await else {
            panic!("the panic was not reported");
        };
        assert_eq!(failure.text(), "the run panicked; the log says where");
    }

    #[tokio::test]
    async fn a_run_past_its_deadline_is_a_failed_run() {
        let End::Ended(Err(failure)) = guard(Box::pin(pending()), Duration::from_millis(5)).await
        else {
            panic!("the deadline was not kept");
        };
        assert_eq!(failure.text(), "the run did not end within 0.005 s");
    }

    #[tokio::test]
    async fn a_run_that_ends_is_heard_first() {
        let (_tell, phase) = watch::channel(Phase::CutOff);
        let ready = Box::pin(async { Ok(7) });
        let end = guarded(ready, Duration::ZERO, phase, async {}).await;
        assert!(matches!(end, End::Ended(Ok(7))), "{end:?}");
    }
}
