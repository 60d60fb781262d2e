//! Runs that need no lease, written down now and then: when the outcome changes, after a while,
//! and at the end.

use tokio::time::Instant;

use super::hub::Hub;
use super::record::{Ended, Outcome};
use super::writes;

#[derive(Debug, Default)]
pub(super) struct Tally {
    runs: u64,
    failures: u64,
    last: Option<Ended>,
    told: Option<(Outcome, Instant)>,
}

impl Tally {
    /// Notes a run, and writes down what was noted if it is time.
    pub(super) async fn note(&mut self, hub: &Hub, job: &str, ended: &Ended) {
        self.runs += 1;
        self.failures += writes::failed(ended);
        self.last = Some(ended.clone());
        let is_news = self.told.is_none_or(|(outcome, at)| {
            outcome != ended.outcome() || at.elapsed() >= hub.settings.record_every
        });
        if is_news {
            self.tell(hub, job).await;
        }
    }

    /// Writes down what was noted. What cannot be written is told with the next.
    pub(super) async fn tell(&mut self, hub: &Hub, job: &str) {
        let Some(last) = &self.last else { return };
        let write = writes::tell(job, last, self.runs, self.failures);
        let told = Some((last.outcome(), Instant::now()));
        match hub.write(write).await {
            Ok(_) => {
                *self = Tally { told, ..Tally::default() };
            }
            Err(error) => {
                tracing::warn!(job, %error, "a job's result could not be stored");
            }
        }
    }
}
