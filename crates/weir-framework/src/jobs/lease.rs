//! A job's lease in the store: read, take, renew, release.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use weir_table::{Get, Result, Write};

use super::context::Context;
use super::keys::{self, JOBS_TABLE};
use super::record::Record;
use super::settings::RECORD_TRIES;
use super::writes::{self, Finish};

/// A job's lease as this instance last read it.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) context: Arc<Context>,
    pub(super) job: String,
    /// The last beat, and since when it has been the same.
    watched: Option<(u64, Instant)>,
}

/// A lease that was taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    fence: u64,
    /// Start of the lease: the time before the write was sent.
    from: Instant,
}

impl Lease {
    pub(super) fn new(context: Arc<Context>, job: &str) -> Lease {
        Lease { context, job: job.to_owned(), watched: None }
    }

    /// Reads the job's item. Returns it with the time for which it has been unchanged.
    pub(super) async fn read(&mut self) -> Result<(Record, Duration)> {
        let get = Get::new(JOBS_TABLE, keys::job(&self.job));
        let found = self.context.get(&get).await?;
        let record = found.as_ref().map_or_else(Record::default, Record::read);
        let since = match self.watched {
            Some((beat, since)) if beat == record.beat => since,
            _ => Instant::now(),
        };
        self.watched = Some((record.beat, since));
        Ok((record, since.elapsed()))
    }

    /// Takes the lease if the item still equals `seen`. Returns the lease and the new item.
    pub(super) async fn take(&self, seen: &Record, owe: bool) -> Result<Option<(Held, Record)>> {
        let context = &self.context;
        let from = Instant::now();
        let (me, now_ms, lease) = (&context.instance, context.now_ms(), context.settings.lease);
        let take = writes::take(&self.job, seen, me, now_ms, lease, owe);
        let written = context.write(take).await?;
        if !written.is_applied() {
            return Ok(None);
        }
        let fence = seen.beat + 1;
        let record = written.item().map_or_else(Record::default, Record::read);
        Ok(Some((Held { fence, from }, record)))
    }

    /// Renews the lease after each third of its time. Returns when the lease is lost: refused, or not
    /// renewed within two thirds of its time. The result is the time at which the run must end.
    pub(super) async fn keep(&self, held: Held) -> Instant {
        let third = self.context.settings.lease / 3;
        let mut from = held.from;
        loop {
            sleep_until(from + third).await;
            let begun = Instant::now();
            match timeout_at(from + 2 * third, self.renew(held.fence)).await {
                Ok(true) => from = begun,
                Ok(false) => return Instant::now() + third,
                Err(_) => return from + 3 * third,
            }
        }
    }

    /// Whether this instance still has the lease. Retries until the store responds.
    async fn renew(&self, fence: u64) -> bool {
        let lease = self.context.settings.lease;
        loop {
            let renew = writes::renew(&self.job, fence, self.context.now_ms(), lease);
            match self.context.write(renew).await {
                Ok(written) => return written.is_applied(),
                Err(error) => {
                    tracing::warn!(job = self.job, %error, "a job's lease could not be renewed");
                    sleep(lease / 30).await;
                }
            }
        }
    }

    /// Records the end of the run, which releases the lease. Returns the item, or none if another
    /// instance had taken the job over or the store failed.
    pub(super) async fn end(&self, held: Held, finish: &Finish<'_>) -> Option<Record> {
        self.write_with_retries(&writes::end(&self.job, held.fence, finish)).await
    }

    /// Releases the lease.
    pub(super) async fn release(&self, held: Held) {
        self.write_with_retries(&writes::release(&self.job, held.fence)).await;
    }

    async fn write_with_retries(&self, write: &Write) -> Option<Record> {
        for tries in 1..=RECORD_TRIES {
            match self.context.write(write.clone()).await {
                Ok(written) if written.is_applied() => return written.item().map(Record::read),
                Ok(_) => return None,
                Err(error) => {
                    tracing::warn!(job = self.job, %error, "a job's result could not be stored");
                    sleep(
                        self.context.settings.backoff_first.min(self.context.settings.lease)
                            * tries
                            / 10,
                    )
                    .await;
                }
            }
        }
        None
    }
}

#[cfg(test)]
#[cfg(feature = "embedded")]
mod tests {
    use tokio::sync::watch;
    use weir_table::clock::Clock;
    use weir_table::cursor::CursorKey;
    use weir_table::embedded::{Embedded, Options};
    use weir_table::{AnyBackend, Store};

    use super::super::record::Ended;
    use super::super::run_context::Phase;
    use super::super::settings::Settings;
    use super::*;

    /// The leases of two instances on one job.
    async fn two(folder: &tempfile::TempDir) -> [Lease; 2] {
        let backend = Embedded::open(Options::new(folder.path())).unwrap();
        let store = Store::new(AnyBackend::Embedded(backend), CursorKey::new([1; 32]));
        store.create_table(&keys::table_spec()).await.unwrap();
        ["a", "b"].map(|instance| {
            let context = Context {
                store: store.clone(),
                clock: Clock::manual(1_000),
                instance: instance.to_owned(),
                settings: Settings::default(),
                phase: watch::channel(Phase::Serving).1,
            };
            Lease::new(Arc::new(context), "sweep")
        })
    }

    fn ended() -> Ended {
        Ended {
            started_ms: 1_000,
            finished_ms: 1_200,
            duration_ms: 200,
            items: 3,
            detail: None,
            error: Some("no disk".into()),
        }
    }

    #[tokio::test]
    async fn of_two_that_saw_the_same_item_one_gets_the_lease() {
        let folder = tempfile::tempdir().unwrap();
        let [mut a, mut b] = two(&folder).await;
        for round in 0..3 {
            let (seen_by_a, _) = a.read().await.unwrap();
            let (seen_by_b, _) = b.read().await.unwrap();
            let (held, record) = a.take(&seen_by_a, false).await.unwrap().unwrap();
            assert_eq!(record.owner.as_deref(), Some("a"));
            assert_eq!(record.lease_until_ms, 31_000);
            assert!(b.take(&seen_by_b, false).await.unwrap().is_none());
            if round == 1 {
                // Also when the faster one has finished already.
                a.release(held).await;
                assert!(b.take(&seen_by_b, false).await.unwrap().is_none());
            }
        }
    }

    #[tokio::test]
    async fn a_lease_that_was_taken_over_is_good_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let [mut a, mut b] = two(&folder).await;
        let (seen, _) = a.read().await.unwrap();
        let (of_a, _) = a.take(&seen, false).await.unwrap().unwrap();
        assert!(a.renew(of_a.fence).await);
        let (seen, _) = b.read().await.unwrap();
        let (of_b, taken) = b.take(&seen, false).await.unwrap().unwrap();
        assert!(!a.renew(of_a.fence).await);
        let ended = ended();
        let finish =
            Finish { ended: &ended, failed_in_row: 1, due_in: Duration::from_secs(1), pass: None };
        assert_eq!(a.end(of_a, &finish).await, None);
        a.release(of_a).await;
        assert_eq!(a.read().await.unwrap().0, taken);
        let record = b.end(of_b, &finish).await.unwrap();
        assert_eq!((record.owner, record.due_ms), (None, 2_200));
        assert_eq!((record.runs, record.failures), (1, 1));
        assert_eq!(record.last, Some(ended));
    }

    #[tokio::test]
    async fn a_renewed_lease_counts_anew_for_whoever_watches() {
        let folder = tempfile::tempdir().unwrap();
        let [mut a, mut b] = two(&folder).await;
        let (seen, _) = a.read().await.unwrap();
        let (held, _) = a.take(&seen, false).await.unwrap().unwrap();
        b.read().await.unwrap();
        let since = b.watched.unwrap().1;
        b.read().await.unwrap();
        assert_eq!(b.watched.unwrap().1, since);
        assert!(a.renew(held.fence).await);
        b.read().await.unwrap();
        assert!(b.watched.unwrap().1 > since);
    }
}
