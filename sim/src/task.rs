//! Requests in flight, polled by hand: between two calls of the store, everything else can happen.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::store::Memory;

/// Longer than any pause between two tries of the domains.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Polls of a task after which it is not making progress.
const POLLS_MAX: u32 = 20_000;

/// A future of a request.
pub type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A request in flight.
pub struct Task<Op, Out> {
    /// Its number in the run.
    pub id: u64,
    /// The instance that serves it.
    pub instance: usize,
    /// What it does.
    pub op: Op,
    /// The instance's clock when it began.
    pub now_ms: i64,
    /// Commits of all before it began.
    pub began_at: u64,
    /// Its own commits.
    pub commits: u64,
    /// Its calls of the store.
    pub calls: u64,
    /// Faults that struck it.
    pub faults: u64,
    polls: u32,
    work: Work<Out>,
}

impl<Op, Out> Task<Op, Out> {
    /// A request that begins now.
    pub fn new(
        id: u64,
        instance: usize,
        op: Op,
        (now_ms, began_at): (i64, u64),
        work: Work<Out>,
    ) -> Task<Op, Out> {
        let (commits, calls, faults, polls) = (0, 0, 0, 0);
        Task { id, instance, op, now_ms, began_at, commits, calls, faults, polls, work }
    }

    /// Goes on until the next call of the store, or to the end.
    pub async fn go_on(&mut self, store: &Memory) -> Option<Out> {
        store.with(|state| {
            (state.task, state.is_waiting, state.calls, state.faults) = (self.id, false, 0, 0);
        });
        self.polls += 1;
        assert!(self.polls < POLLS_MAX, "a request does not end");
        let polled = self.work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let (is_waiting, calls, faults) =
            store.with(|state| (state.is_waiting, state.calls, state.faults));
        self.calls += calls;
        self.faults += faults;
        match polled {
            Poll::Ready(out) => Some(out),
            Poll::Pending => {
                if !is_waiting {
                    // It pauses between two tries: the time of the runtime, which is nobody's clock, moves on.
                    tokio::time::advance(LONGEST_PAUSE).await;
                }
                None
            }
        }
    }
}

/// The result of a future that waits for nothing, as those of the observer do.
pub fn at_once<T>(work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(out) => out,
        Poll::Pending => panic!("the observer waits"),
    }
}

/// Runs a simulation on a runtime of its own, whose time stands still.
pub fn on_paused_runtime<T>(run: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(tokio::task::unconstrained(run))
}
