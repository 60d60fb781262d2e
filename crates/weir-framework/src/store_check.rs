//! Whether the store responds: one read of one item, which concurrent probes share.
//!
//! Anyone may ask for the readiness of a server, so a probe must cost the store next to nothing: there is one read at a time,
//! and its result holds for [`SHARED_FOR`].

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use weir_table::{AnyBackend, Get, Result, Store};

use crate::jobs;

/// How long a result holds.
const SHARED_FOR: Duration = Duration::from_secs(1);
/// A store that takes longer than this to read an item is not ready.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// The newest result. Its lock is held during a read, so that there is one read at a time.
#[derive(Debug)]
pub(crate) struct StoreCheck {
    newest: Mutex<Option<(Instant, Checked)>>,
    shared_for: Duration,
}

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Checked {
    /// Response time of the store in milliseconds.
    pub(crate) latency_ms: f64,
    /// Why the store is not ready.
    pub(crate) problem: Option<&'static str>,
}

impl Default for StoreCheck {
    fn default() -> StoreCheck {
        StoreCheck { newest: Mutex::default(), shared_for: SHARED_FOR }
    }
}

impl StoreCheck {
    /// Whether the store responds, and how fast.
    pub(crate) async fn run(&self, store: &Store<AnyBackend>) -> Checked {
        // Every server has the table. The item is never written: reading a missing item costs the least.
        let get = Get::new(jobs::JOBS_TABLE, jobs::readiness_key()).eventual();
        self.share(async { store.get(&get).await.map(drop) }).await
    }

    /// The newest result, or that of `read`. Callers that arrive during a read wait for its result.
    async fn share(&self, read: impl Future<Output = Result<()>>) -> Checked {
        let mut newest = self.newest.lock().await;
        if let Some((at, checked)) = *newest
            && at.elapsed() < self.shared_for
        {
            return checked;
        }
        let started = Instant::now();
        let answer = tokio::time::timeout(READY_WITHIN, read).await;
        let latency_ms = (started.elapsed().as_secs_f64() * 1e6).round() / 1e3;
        let problem = match answer {
            Ok(Ok(())) => None,
            Ok(Err(error)) => {
                tracing::warn!(%error, "the store failed a readiness check");
                Some("the store failed; the server's log says how")
            }
            Err(_) => Some("the store did not answer in time"),
        };
        let checked = Checked { latency_ms, problem };
        *newest = Some((Instant::now(), checked));
        checked
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// The number of reads that three concurrent probes make.
    async fn reads(check: &StoreCheck) -> u32 {
        let reads = AtomicU32::new(0);
        let read = || async {
            reads.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(())
        };
        let (one, two, three) =
            tokio::join!(check.share(read()), check.share(read()), check.share(read()));
        for result in [one, two, three] {
            assert_eq!(result.problem, None);
            assert!(result.latency_ms >= 20.0, "{result:?}");
        }
        reads.into_inner()
    }

    #[tokio::test]
    async fn concurrent_and_later_probes_share_one_read() {
        let check = StoreCheck { shared_for: Duration::from_secs(3600), ..StoreCheck::default() };
        assert_eq!(reads(&check).await, 1);
        assert_eq!(reads(&check).await, 0, "the result holds");
    }

    #[tokio::test]
    async fn a_result_that_no_longer_holds_is_renewed() {
        let check = StoreCheck { shared_for: Duration::ZERO, ..StoreCheck::default() };
        assert_eq!(reads(&check).await, 3);
    }

    #[tokio::test]
    async fn a_probe_that_gives_up_lets_the_next_read() {
        let check = StoreCheck::default();
        let never = check.share(std::future::pending());
        assert!(tokio::time::timeout(Duration::from_millis(10), never).await.is_err());
        assert_eq!(reads(&check).await, 1);
    }

    #[tokio::test]
    async fn a_failed_read_is_a_problem_without_its_text() {
        let check = StoreCheck::default();
        let failed = async { Err(weir_table::Error::Unavailable("10.1.2.3 is gone".to_owned())) };
        let problem = check.share(failed).await.problem;
        assert_eq!(problem, Some("the store failed; the server's log says how"));
    }
}
