//! The job `practice-dual-write` keeps PostgreSQL and the table equal while an application moves. It is off unless
//! `practice.dual_write_from_file` names a file with the URL of PostgreSQL.

use std::path::Path;
use std::time::Duration;

use tokio::sync::Mutex;
use weir_framework::jobs::{Done, PeriodicJob, Result, RunContext};
use weir_practice::Practice;
use weir_practice::migrate::dual_write::DualWrite;
use weir_practice::migrate::{Migration, Source};
use weir_table::clock::Clock;
use weir_table::{AnyBackend, Error};

/// Interval between two looks at the queues of both sides.
const EVERY: Duration = Duration::from_secs(1);

/// Reads the URL of PostgreSQL.
///
/// # Errors
/// The file cannot be read, or has no valid URL. The error never has the URL.
pub(super) fn source(file: &Path) -> weir_table::Result<Source> {
    let invalid = |problem: String| Error::invalid("practice.dual_write_from_file", problem);
    let url = std::fs::read_to_string(file)
        .map_err(|error| invalid(format!("{} cannot be read: {error}", file.display())))?;
    Source::new(url.trim()).map_err(|error| invalid(error.to_string()))
}

/// Moves what waits in the queues of both sides.
pub(super) struct DualWriteJob {
    migration: Migration<AnyBackend>,
    owner: String,
    clock: Clock,
    /// The position in the change feed. It is opened again after a failure, because its lease may be over.
    open: Mutex<Option<DualWrite<AnyBackend>>>,
}

impl DualWriteJob {
    pub(super) fn new(practice: &Practice<AnyBackend>, source: Source, clock: Clock) -> Self {
        let owner = format!("server-{}-{}", std::process::id(), clock.now_ms());
        let migration = Migration::new(source, practice.clone());
        DualWriteJob { migration, owner, clock, open: Mutex::default() }
    }
}

impl PeriodicJob for DualWriteJob {
    fn name(&self) -> &str {
        "practice-dual-write"
    }

    fn every(&self) -> Duration {
        EVERY
    }

    async fn run(&self, _: &RunContext) -> Result<Done> {
        let mut open = self.open.lock().await;
        let mut dual_write = match open.take() {
            Some(dual_write) => dual_write,
            None => {
                let (migration, clock) = (self.migration.clone(), self.clock.clone());
                DualWrite::start(migration, &self.owner, clock).await?
            }
        };
        let moved = dual_write.run_once().await?;
        *open = Some(dual_write);
        let refused = moved.refused_by_table + moved.refused_by_postgres.len() as u64;
        let detail = (refused > 0).then(|| {
            let first = moved.refused_by_postgres.first();
            let why = first.map(|(key, why)| format!("; PostgreSQL refused {key:?}: {why}"));
            format!("{refused} changes were refused{}", why.unwrap_or_default())
        });
        Ok(Done { items: moved.replayed + moved.applied, more: moved.has_more, detail })
    }
}
