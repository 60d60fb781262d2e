//! Jobs that do what a test says.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use weir_framework::jobs::{Done, Failure, FeedJob, PeriodicJob, Placement, Result, RunContext};
use weir_table::expr::add;
use weir_table::feed::Change;
use weir_table::{Key, Write};

use crate::places::{ORDERS, TOTALS, soon};

type Act =
    dyn Fn(u64, RunContext) -> Pin<Box<dyn Future<Output = Result<Done>> + Send>> + Send + Sync;

/// A periodic job. It tells how many of its rounds have begun.
#[derive(Clone)]
pub(crate) struct Script {
    every: Duration,
    placement: Placement,
    deadline: Option<Duration>,
    act: Arc<Act>,
    begun: Rounds,
}

/// Counts rounds, and lets a test wait for them.
#[derive(Clone)]
pub(crate) struct Rounds(watch::Sender<u64>);

impl Rounds {
    pub(crate) fn new() -> Rounds {
        Rounds(watch::channel(0).0)
    }

    /// Counts one more, and says which it is.
    pub(crate) fn next(&self) -> u64 {
        let mut number = 0;
        self.0.send_modify(|count| {
            *count += 1;
            number = *count;
        });
        number
    }

    pub(crate) fn count(&self) -> u64 {
        *self.0.borrow()
    }

    pub(crate) async fn reach(&self, wanted: u64) {
        let mut heard = self.0.subscribe();
        let reached = heard.wait_for(|count| *count >= wanted);
        soon("a round", reached).await.unwrap();
    }
}

impl Script {
    /// A job that runs alone, once an hour, and does `act` with the number of the round.
    pub(crate) fn new<F>(act: impl Fn(u64, RunContext) -> F + Send + Sync + 'static) -> Script
    where
        F: Future<Output = Result<Done>> + Send + 'static,
    {
        Script {
            every: Duration::from_secs(3600),
            placement: Placement::OneInstance,
            deadline: None,
            act: Arc::new(move |round, run| Box::pin(act(round, run))),
            begun: Rounds::new(),
        }
    }

    /// A job that ends well at once.
    pub(crate) fn idle() -> Script {
        Script::new(|_, _| async { Ok(Done::all(1)) })
    }

    /// A job whose runs never end.
    pub(crate) fn endless() -> Script {
        Script::new(|_, _| std::future::pending())
    }

    pub(crate) fn every_ms(mut self, ms: u64) -> Script {
        self.every = Duration::from_millis(ms);
        self
    }

    pub(crate) fn everywhere(mut self) -> Script {
        self.placement = Placement::EveryInstance;
        self
    }

    pub(crate) fn deadline_ms(mut self, ms: u64) -> Script {
        self.deadline = Some(Duration::from_millis(ms));
        self
    }

    pub(crate) fn begun(&self) -> &Rounds {
        &self.begun
    }
}

impl PeriodicJob for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn every(&self) -> Duration {
        self.every
    }

    fn placement(&self) -> Placement {
        self.placement
    }

    fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    async fn run(&self, run: &RunContext) -> Result<Done> {
        let round = self.begun.next();
        (self.act)(round, run.clone()).await
    }
}

pub(crate) fn failure() -> Failure {
    Failure::new("the wind has turned")
}

/// The numbers of the orders that changed.
pub(crate) fn numbers(changes: &[Change]) -> Vec<i64> {
    let new = changes.iter().filter_map(|change| change.new.as_ref());
    new.filter_map(|image| image.item().unwrap().i64("number")).collect()
}

/// The write that counts orders.
pub(crate) fn count(numbers: &[i64]) -> Write {
    let update = add("count", numbers.len() as i64).add("sum", numbers.iter().sum::<i64>());
    Write::update(TOTALS, Key::partition("total"), update).flushed()
}

/// A job that counts all orders in one item, with a pause before it writes.
#[derive(Clone)]
pub(crate) struct Count {
    pub(crate) pause: Duration,
    pub(crate) begun: Rounds,
    pub(crate) passes: Rounds,
}

impl Count {
    pub(crate) fn new() -> Count {
        Count { pause: Duration::ZERO, begun: Rounds::new(), passes: Rounds::new() }
    }
}

impl FeedJob for Count {
    type Accumulator = Vec<i64>;

    fn name(&self) -> &str {
        "count"
    }

    fn table(&self) -> &str {
        ORDERS
    }

    fn fold(&self, accumulator: &mut Vec<i64>, changes: Vec<Change>) -> Result<usize> {
        accumulator.extend(numbers(&changes));
        Ok(accumulator.len())
    }

    async fn writes(&self, accumulator: Vec<i64>, _run: &RunContext) -> Result<Vec<Write>> {
        self.begun.next();
        tokio::time::sleep(self.pause).await;
        Ok(vec![count(&accumulator)])
    }

    async fn full_pass(&self, _run: &RunContext) -> Result<Done> {
        self.passes.next();
        Ok(Done::all(1))
    }
}
