//! The status of a job, as this instance knows it: what it did itself, and what it read in the table.

use std::time::Duration;

use parking_lot::Mutex;
use weir_api::server::{Job, JobKind, JobOutcome, JobState};

use super::failure::Failure;
use super::record::{Ended, Record};
use super::writes::failed;
use crate::time::rfc3339;

/// Delay in milliseconds up to which no job is late: restarts and short failures take as long.
const LATE_MS: u64 = 60_000;
/// Number of a job's pauses that it may be behind: a job that rests for an hour is up to an hour behind.
const LATE_PAUSES: u64 = 3;

/// The status of one job, written by its task and read by anyone.
#[derive(Debug)]
pub(super) struct StatusCell {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    status: Job,
    /// When a periodic job is due.
    due_ms: Option<u64>,
    /// Of a feed job that is behind: when the last change it handled was made, or the first that it
    /// has before it.
    behind_ms: Option<u64>,
}

impl StatusCell {
    pub(super) fn new(name: &str, kind: JobKind, every: Duration) -> StatusCell {
        let status = Job {
            name: name.to_owned(),
            kind,
            every_secs: every.as_secs(),
            state: JobState::Idle,
            last_started_at: None,
            last_finished_at: None,
            last_duration_ms: None,
            last_outcome: None,
            last_items: None,
            last_error: None,
            last_detail: None,
            runs: 0,
            failures: 0,
            lag_ms: 0,
            late: false,
            leased_by: None,
        };
        StatusCell { inner: Mutex::new(Inner { status, due_ms: None, behind_ms: None }) }
    }

    /// The status at `now_ms`.
    pub(super) fn status(&self, now_ms: u64, stopping: bool) -> Job {
        let inner = self.inner.lock();
        let mut status = inner.status.clone();
        let since_ms = match status.kind {
            JobKind::Feed => inner.behind_ms,
            JobKind::Periodic if status.state == JobState::Running => None,
            JobKind::Periodic => inner.due_ms,
        };
        status.lag_ms = since_ms.map_or(0, |since_ms| now_ms.saturating_sub(since_ms));
        status.late = is_late(&status);
        if stopping {
            status.state = JobState::Stopping;
        }
        status
    }

    /// Takes over what the table says, unless this instance knows of more.
    pub(super) fn restore(&self, record: &Record) {
        let mut inner = self.inner.lock();
        inner.status.leased_by.clone_from(&record.owner);
        inner.due_ms = Some(record.due_ms).filter(|due_ms| *due_ms > 0);
        if record.runs < inner.status.runs {
            return;
        }
        inner.status.runs = record.runs;
        inner.status.failures = record.failures;
        inner.status.last_started_at =
            record.last_started_ms.map(rfc3339).or(inner.status.last_started_at.take());
        if let Some(last) = &record.last {
            inner.set_last(last);
        }
    }

    /// A run begins, unless it has begun; under a lease of `leased_by` if under one.
    pub(super) fn running(&self, now_ms: u64, leased_by: Option<&str>) {
        let mut inner = self.inner.lock();
        if inner.status.state == JobState::Running {
            return;
        }
        inner.status.state = JobState::Running;
        inner.status.last_started_at = Some(rfc3339(now_ms));
        inner.status.leased_by = leased_by.map(str::to_owned);
    }

    /// A run of this instance ended, which the table does not tell.
    pub(super) fn ended(&self, ended: &Ended) {
        let mut inner = self.inner.lock();
        inner.status.runs += 1;
        inner.status.failures += failed(ended);
        inner.status.last_started_at = Some(rfc3339(ended.started_ms));
        inner.set_last(ended);
        inner.status.leased_by = None;
    }

    /// No run could be begun, or nobody knows how it ended. It is not counted.
    pub(super) fn fault(&self, failure: &Failure) {
        let mut inner = self.inner.lock();
        inner.status.last_outcome = Some(JobOutcome::Failed);
        inner.status.last_error = Some(failure.text().to_owned());
    }

    /// Nothing is to be done until `due_ms`.
    pub(super) fn resting(&self, due_ms: u64) {
        let mut inner = self.inner.lock();
        inner.status.state = match inner.status.last_outcome {
            Some(JobOutcome::Failed) => JobState::Failed,
            Some(JobOutcome::Ok) | None => JobState::Idle,
        };
        inner.due_ms = Some(due_ms);
    }

    /// The job is due and `owner` runs it.
    pub(super) fn waiting_for(&self, owner: &str) {
        let mut inner = self.inner.lock();
        inner.status.state = JobState::WaitingForLease;
        inner.status.leased_by = Some(owner.to_owned());
    }

    /// There are changes to handle, the first made at `at_ms`.
    pub(super) fn behind(&self, at_ms: u64) {
        self.inner.lock().behind_ms.get_or_insert(at_ms);
    }

    /// The last change handled was made at `at_ms`.
    pub(super) fn handled(&self, at_ms: u64) {
        self.inner.lock().behind_ms = Some(at_ms);
    }

    /// There are no more changes.
    pub(super) fn caught_up(&self) {
        self.inner.lock().behind_ms = None;
    }

    /// How the last run ended.
    pub(super) fn last_outcome(&self) -> Option<JobOutcome> {
        self.inner.lock().status.last_outcome
    }
}

/// Whether a job needs attention because of its delay.
fn is_late(status: &Job) -> bool {
    // Another instance that runs the job knows its delay; this one does not.
    let runs_elsewhere = status.state == JobState::WaitingForLease;
    let pauses_ms = status.every_secs.saturating_mul(1000).saturating_mul(LATE_PAUSES);
    !runs_elsewhere && status.lag_ms > LATE_MS.max(pauses_ms)
}

impl Inner {
    fn set_last(&mut self, ended: &Ended) {
        self.status.last_finished_at = Some(rfc3339(ended.finished_ms));
        self.status.last_duration_ms = Some(ended.duration_ms);
        self.status.last_outcome = Some(ended.outcome());
        self.status.last_items = Some(ended.items);
        self.status.last_error.clone_from(&ended.error);
        self.status.last_detail.clone_from(&ended.detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(error: Option<&str>) -> Ended {
        Ended {
            started_ms: 100,
            finished_ms: 140,
            duration_ms: 40,
            items: 7,
            detail: None,
            error: error.map(str::to_owned),
        }
    }

    #[test]
    fn a_periodic_job_lags_when_it_is_overdue_and_does_not_run() {
        let cell = StatusCell::new("sweep", JobKind::Periodic, Duration::from_secs(60));
        assert_eq!(cell.status(5_000, false).lag_ms, 0);
        cell.resting(1_000);
        assert_eq!(cell.status(900, false).lag_ms, 0);
        assert_eq!(cell.status(1_250, false).lag_ms, 250);
        cell.running(1_250, None);
        assert_eq!(cell.status(1_300, false).lag_ms, 0);
    }

    #[test]
    fn a_feed_job_lags_while_it_is_behind() {
        let cell = StatusCell::new("totals", JobKind::Feed, Duration::from_secs(1));
        cell.behind(1_000);
        cell.behind(1_100);
        assert_eq!(cell.status(1_500, false).lag_ms, 500);
        cell.handled(1_400);
        assert_eq!(cell.status(1_500, false).lag_ms, 100);
        cell.caught_up();
        assert_eq!(cell.status(1_500, false).lag_ms, 0);
    }

    #[test]
    fn a_job_is_late_after_a_minute_and_three_of_its_pauses() {
        for (kind, every_secs, late_after_ms) in [
            (JobKind::Feed, 1, 60_000),
            (JobKind::Periodic, 20, 60_000),
            (JobKind::Periodic, 60, 180_000),
            (JobKind::Feed, 3_600, 10_800_000),
        ] {
            let cell = StatusCell::new("totals", kind, Duration::from_secs(every_secs));
            cell.behind(1_000);
            cell.resting(1_000);
            assert!(!cell.status(1_000 + late_after_ms, false).late, "{kind:?} {every_secs}");
            assert!(cell.status(1_001 + late_after_ms, false).late, "{kind:?} {every_secs}");
            cell.waiting_for("other");
            assert!(!cell.status(1_001 + late_after_ms, false).late, "another one runs it");
        }
    }

    #[test]
    fn a_failed_run_is_told_until_one_succeeds() {
        let cell = StatusCell::new("sweep", JobKind::Periodic, Duration::from_secs(60));
        cell.ended(&ended(Some("no disk")));
        cell.resting(0);
        let status = cell.status(0, false);
        assert_eq!(status.state, JobState::Failed);
        assert_eq!(status.last_error.as_deref(), Some("no disk"));
        cell.ended(&ended(None));
        cell.resting(0);
        let status = cell.status(0, false);
        assert_eq!((status.state, status.last_error), (JobState::Idle, None));
        assert_eq!((status.runs, status.failures), (2, 1));
        assert_eq!(cell.status(0, true).state, JobState::Stopping);
    }

    #[test]
    fn what_the_table_says_is_taken_over_unless_it_is_older() {
        let cell = StatusCell::new("sweep", JobKind::Periodic, Duration::from_secs(60));
        let record = Record {
            runs: 9,
            failures: 2,
            last: Some(ended(None)),
            owner: Some("other".into()),
            ..Record::default()
        };
        cell.restore(&record);
        let status = cell.status(0, false);
        assert_eq!((status.runs, status.last_items), (9, Some(7)));
        assert_eq!(status.leased_by.as_deref(), Some("other"));
        cell.ended(&ended(Some("lost")));
        cell.restore(&record);
        assert_eq!(cell.status(0, false).runs, 10);
    }

    #[test]
    fn statuses_are_written_in_words() {
        let cell = StatusCell::new("sweep", JobKind::Periodic, Duration::from_secs(60));
        cell.waiting_for("other");
        cell.ended(&ended(None));
        let json = serde_json::to_value(cell.status(0, false)).unwrap();
        assert_eq!(json["kind"], "periodic");
        assert_eq!(json["state"], "waiting_for_lease");
        assert_eq!(json["last_outcome"], "ok");
        assert_eq!(json["last_finished_at"], "1970-01-01T00:00:00.140Z");
        assert_eq!(json["every_secs"], 60);
        assert_eq!(json["late"], false);
    }
}
