//! Settings of the practice service.

use weir_calendar::Zone;
use weir_table::Name;

use crate::bounds::{
    JOB_ATTEMPTS, JOB_ATTEMPTS_MAX, JOB_LEASE_MAX_MS, JOB_LEASE_MIN_MS, JOB_LEASE_MS,
    JOB_RETENTION_DAYS, RETENTION_DAYS_MAX, ROLLUP_RETENTION_DAYS, USAGE_RETENTION_DAYS,
};
use crate::day::utc_day;
use crate::error::{Error, Result};
use crate::keys::List;
use crate::table::TABLE;

/// How the public feed is divided into partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeedPartitioning {
    /// One partition, as in the source.
    #[default]
    Single,
    /// One partition per day in UTC, for feeds with many writes.
    Day,
}

impl FeedPartitioning {
    /// The partition that a run of this time enters.
    #[must_use]
    pub fn list(self, created_s: i64) -> List {
        match self {
            FeedPartitioning::Single => List::Feed(None),
            FeedPartitioning::Day => List::Feed(Some(utc_day(created_s.saturating_mul(1000)))),
        }
    }
}

/// Settings of the practice service.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Name of the table.
    pub table: Name,
    /// Time zone of the days that limits count in.
    pub zone: Zone,
    /// How the public feed is divided into partitions. With `Day` the feed goes on with the one partition after its last
    /// day, so it can be turned on at any time.
    pub public_feed_partitioning: FeedPartitioning,
    /// Days that usage logs and counters are retained after their day.
    pub usage_days: u32,
    /// Days after which the usage log of a day is archived to the object storage; `None` for no archive.
    pub usage_archive_days: Option<u32>,
    /// Days that rollups of usage are retained after their day; no statistics go further back.
    pub rollup_days: u32,
    /// Days that task results are retained.
    pub task_result_days: u32,
    /// Days that progress steps of jobs are retained.
    pub job_progress_days: u32,
    /// Lease of a claimed job, unless its worker requests another, in milliseconds.
    pub job_lease_ms: i64,
    /// How often a job is claimed, since it was submitted or retried, before it fails because its workers die.
    pub job_attempts_max: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            table: TABLE.into(),
            zone: Zone::utc(),
            public_feed_partitioning: FeedPartitioning::Single,
            usage_days: USAGE_RETENTION_DAYS,
            usage_archive_days: None,
            rollup_days: ROLLUP_RETENTION_DAYS,
            task_result_days: JOB_RETENTION_DAYS,
            job_progress_days: JOB_RETENTION_DAYS,
            job_lease_ms: JOB_LEASE_MS,
            job_attempts_max: JOB_ATTEMPTS,
        }
    }
}

impl Settings {
    /// Checks the settings.
    ///
    /// # Errors
    /// One is out of its bounds.
    pub fn check(&self) -> Result<()> {
        for (field, days) in [
            ("usage_days", self.usage_days),
            ("rollup_days", self.rollup_days),
            ("task_result_days", self.task_result_days),
            ("job_progress_days", self.job_progress_days),
        ] {
            if !(1..=RETENTION_DAYS_MAX).contains(&days) {
                let problem = format!("is {days}; 1 to {RETENTION_DAYS_MAX}");
                return Err(Error::invalid(field, problem));
            }
        }
        if self.rollup_days < self.usage_days {
            let problem = format!(
                "is {}; at least usage_days ({}), because archives find their users by the rollups",
                self.rollup_days, self.usage_days
            );
            return Err(Error::invalid("rollup_days", problem));
        }
        if let Some(days) = self.usage_archive_days
            && !(1..self.usage_days).contains(&days)
        {
            let problem = format!("is {days}; at least 1 and less than usage_days");
            return Err(Error::invalid("usage_archive_days", problem));
        }
        if !(JOB_LEASE_MIN_MS..=JOB_LEASE_MAX_MS).contains(&self.job_lease_ms) {
            let problem =
                format!("is {}; {JOB_LEASE_MIN_MS} to {JOB_LEASE_MAX_MS}", self.job_lease_ms);
            return Err(Error::invalid("job_lease_ms", problem));
        }
        if !(1..=JOB_ATTEMPTS_MAX).contains(&self.job_attempts_max) {
            let problem = format!("is {}; 1 to {JOB_ATTEMPTS_MAX}", self.job_attempts_max);
            return Err(Error::invalid("job_attempts_max", problem));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked() {
        let good = Settings::default;
        good().check().unwrap();
        Settings { usage_archive_days: Some(30), ..good() }.check().unwrap();
        for (wrong, field) in [
            (Settings { usage_days: 0, ..good() }, "usage_days"),
            (Settings { rollup_days: 40_000, ..good() }, "rollup_days"),
            (Settings { rollup_days: 89, ..good() }, "rollup_days"),
            (Settings { task_result_days: 0, ..good() }, "task_result_days"),
            (Settings { job_progress_days: 0, ..good() }, "job_progress_days"),
            (Settings { usage_archive_days: Some(0), ..good() }, "usage_archive_days"),
            (Settings { usage_archive_days: Some(90), ..good() }, "usage_archive_days"),
            (Settings { job_lease_ms: 10, ..good() }, "job_lease_ms"),
            (Settings { job_attempts_max: 0, ..good() }, "job_attempts_max"),
        ] {
            assert!(wrong.check().unwrap_err().to_string().starts_with(field));
        }
    }

    #[test]
    fn a_feed_can_have_a_partition_per_day() {
        let at_s = 1_759_917_600;
        assert_eq!(FeedPartitioning::Single.list(at_s).partition(), "HIST#PUBLIC");
        assert_eq!(FeedPartitioning::Day.list(at_s).partition(), "HIST#PUBLIC#20251008");
    }
}
