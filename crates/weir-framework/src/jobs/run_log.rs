//! The log of runs that need no lease. It is stored when the outcome changes, every `record_every`, and at the end.

use tokio::time::Instant;
use weir_api::server::JobOutcome;

use super::context::Context;
use super::record::Ended;
use super::writes;

#[derive(Debug, Default)]
pub(super) struct RunLog {
    runs: u64,
    failures: u64,
    last: Option<Ended>,
    stored: Option<(JobOutcome, Instant)>,
}

impl RunLog {
    /// Records a run, and stores the log if it is time.
    pub(super) async fn record(&mut self, context: &Context, job: &str, ended: &Ended) {
        self.runs += 1;
        self.failures += writes::failed(ended);
        self.last = Some(ended.clone());
        let is_due = self.stored.is_none_or(|(outcome, at)| {
            outcome != ended.outcome() || at.elapsed() >= context.settings.record_every
        });
        if is_due {
            self.flush(context, job).await;
        }
    }

    /// Stores the log. What cannot be stored now is stored with the next run.
    pub(super) async fn flush(&mut self, context: &Context, job: &str) {
        let Some(last) = &self.last else { return };
        let write = writes::record(job, last, self.runs, self.failures);
        let stored = Some((last.outcome(), Instant::now()));
        match context.write(write).await {
            Ok(_) => {
                *self = RunLog { stored, ..RunLog::default() };
            }
            Err(error) => {
                tracing::warn!(job, %error, "a job's result could not be stored");
            }
        }
    }
}
