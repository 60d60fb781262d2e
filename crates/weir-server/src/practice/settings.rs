//! `[practice]`: the settings of practice. Their defaults are those of the domain, which a test checks; so are the bounds.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weir_framework::settings::{SettingProblem, defaults, in_range, object_store_problem};
use weir_practice::bounds::{
    JOB_ATTEMPTS_MAX, JOB_LEASE_MAX_MS, JOB_LEASE_MIN_MS, RETENTION_DAYS_MAX,
};
use weir_practice::day::parse_zone;
use weir_practice::settings as domain;

/// Users, problems, runs and jobs of a coding-practice platform.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub struct Settings {
    /// Name of the table, without store.table_prefix.
    #[config(default = "algoitny_main", env = "WEIR_PRACTICE_TABLE")]
    pub table: String,
    /// IANA name of the time zone of the days that limits count in. A change takes effect with the next request;
    /// what users did on the day that changes may count for the day before or after.
    #[config(default = "UTC", env = "WEIR_PRACTICE_TIMEZONE")]
    pub timezone: String,
    /// Partitions of the public feed: "single" for one, "day" for one per day, which takes more writes per second on
    /// DynamoDB. With "day" the feed goes on with the one partition after its last day.
    #[config(default = "single", env = "WEIR_PRACTICE_PUBLIC_FEED_PARTITIONING")]
    pub public_feed_partitioning: FeedPartitioning,
    /// Days that usage logs and daily counters are retained.
    #[config(default = 90, env = "WEIR_PRACTICE_USAGE_DAYS")]
    pub usage_days: u64,
    /// Age in days at which the usage log of a day is archived to the object storage, as JSON lines. Without it there
    /// is no archive.
    #[config(env = "WEIR_PRACTICE_USAGE_ARCHIVE_DAYS")]
    pub usage_archive_days: Option<u64>,
    /// Days that the sums behind statistics are retained.
    #[config(default = 400, env = "WEIR_PRACTICE_ROLLUP_DAYS")]
    pub rollup_days: u64,
    /// Seconds between two rollups of usage, which statistics lag behind. Without it they are those of
    /// jobs.aggregate_interval_secs. On DynamoDB an hour costs a sixth of ten seconds (docs/cost.md).
    #[config(env = "WEIR_PRACTICE_ROLLUP_INTERVAL_SECS")]
    pub rollup_interval_secs: Option<u64>,
    /// Days that task results are retained.
    #[config(default = 30, env = "WEIR_PRACTICE_TASK_RESULT_DAYS")]
    pub task_result_days: u64,
    /// Days that progress steps of jobs are retained.
    #[config(default = 30, env = "WEIR_PRACTICE_JOB_PROGRESS_DAYS")]
    pub job_progress_days: u64,
    /// Milliseconds after which a job is free for another worker when its worker sends nothing, unless the worker
    /// requests another time.
    #[config(default = 60_000, env = "WEIR_PRACTICE_JOB_LEASE_MS")]
    pub job_lease_ms: u64,
    /// Claims of a job after which it fails instead of being claimed again, because its workers die. A retry counts anew.
    #[config(default = 5, env = "WEIR_PRACTICE_JOB_ATTEMPTS_MAX")]
    pub job_attempts_max: u64,
    /// Milliseconds between two looks for new progress steps of a job, for each client that follows it as server-sent
    /// events.
    #[config(default = 500, env = "WEIR_PRACTICE_PROGRESS_POLL_MS")]
    pub progress_poll_ms: u64,
    /// Clients that follow jobs as server-sent events at the same time; further ones are refused with 503.
    #[config(default = 256, env = "WEIR_PRACTICE_PROGRESS_STREAMS_MAX")]
    pub progress_streams_max: u64,
    /// Object storage for texts that are too large for an item, and for archives: "s3://BUCKET/PREFIX" or
    /// "file:///FOLDER". Without it they are in the folder practice-objects of the data folder; with store.kind =
    /// "dynamodb" they are refused.
    #[config(env = "WEIR_PRACTICE_OBJECTS")]
    pub objects: Option<String>,
    /// File with the URL of a PostgreSQL database, which is then kept equal to the table while an application moves
    /// (docs/practice-migration.md). Without it there are no dual writes.
    #[config(env = "WEIR_PRACTICE_DUAL_WRITE_FROM_FILE")]
    pub dual_write_from_file: Option<PathBuf>,
}

/// Seconds between two rollups of usage.
const ROLLUP_INTERVAL_SECS: RangeInclusive<u64> = 1..=86_400;

/// Milliseconds between two looks for progress steps.
const PROGRESS_POLL_MS: RangeInclusive<u64> = 10..=60_000;
/// Clients that follow jobs at the same time.
const PROGRESS_STREAMS: RangeInclusive<u64> = 1..=100_000;

/// Partitions of the public feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeedPartitioning {
    /// One partition.
    Single,
    /// One partition per day.
    Day,
}

impl Default for Settings {
    fn default() -> Settings {
        defaults()
    }
}

impl Settings {
    /// Problems of single values.
    #[must_use]
    pub fn problems(&self) -> Vec<SettingProblem> {
        let days = |key, value| in_range(key, value, 1..=u64::from(RETENTION_DAYS_MAX));
        let lease = JOB_LEASE_MIN_MS.unsigned_abs()..=JOB_LEASE_MAX_MS.unsigned_abs();
        let archive = self.usage_archive_days.and_then(|value| {
            in_range("usage_archive_days", value, 1..=self.usage_days.saturating_sub(1).max(1))
        });
        // Archives find the users of a day by its rollups.
        let early = format!("is {}; it must be at least usage_days", self.rollup_days);
        let rollups_expire_early =
            (self.rollup_days < self.usage_days).then_some(("rollup_days", early));
        let rollup_interval = self
            .rollup_interval_secs
            .and_then(|value| in_range("rollup_interval_secs", value, ROLLUP_INTERVAL_SECS));
        let objects = self.objects.as_deref().and_then(object_store_problem);
        [
            self.zone_problem().map(|problem| ("timezone", problem)),
            days("usage_days", self.usage_days),
            archive,
            days("rollup_days", self.rollup_days).or(rollups_expire_early),
            rollup_interval,
            days("task_result_days", self.task_result_days),
            days("job_progress_days", self.job_progress_days),
            in_range("job_lease_ms", self.job_lease_ms, lease),
            in_range("job_attempts_max", self.job_attempts_max, 1..=u64::from(JOB_ATTEMPTS_MAX)),
            in_range("progress_poll_ms", self.progress_poll_ms, PROGRESS_POLL_MS),
            in_range("progress_streams_max", self.progress_streams_max, PROGRESS_STREAMS),
            objects.map(|problem| ("objects", problem)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn zone_problem(&self) -> Option<String> {
        match parse_zone(&self.timezone) {
            Err(weir_practice::Error::Invalid { problem, .. }) => Some(problem),
            _ => None,
        }
    }

    /// The settings as the domain takes them.
    ///
    /// # Errors
    /// The time zone is unknown.
    pub fn to_domain(&self) -> weir_practice::Result<weir_practice::Settings> {
        let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        Ok(weir_practice::Settings {
            table: self.table.as_str().into(),
            zone: parse_zone(&self.timezone)?,
            public_feed_partitioning: match self.public_feed_partitioning {
                FeedPartitioning::Single => domain::FeedPartitioning::Single,
                FeedPartitioning::Day => domain::FeedPartitioning::Day,
            },
            usage_days: number(self.usage_days),
            usage_archive_days: self.usage_archive_days.map(number),
            rollup_days: number(self.rollup_days),
            task_result_days: number(self.task_result_days),
            job_progress_days: number(self.job_progress_days),
            job_lease_ms: i64::try_from(self.job_lease_ms).unwrap_or(i64::MAX),
            job_attempts_max: number(self.job_attempts_max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_domain() {
        let (configured, domain) =
            (Settings::default().to_domain().unwrap(), weir_practice::Settings::default());
        assert_eq!(format!("{configured:?}"), format!("{domain:?}"));
        assert_eq!(Settings::default().problems(), []);
    }

    #[test]
    fn values_out_of_their_range_are_named() {
        let wrong = Settings {
            timezone: "Nowhere/Now".into(),
            usage_days: 0,
            usage_archive_days: Some(90),
            rollup_days: 40_000,
            rollup_interval_secs: Some(0),
            task_result_days: 0,
            job_progress_days: 0,
            job_lease_ms: 10,
            job_attempts_max: 0,
            progress_poll_ms: 1,
            progress_streams_max: 0,
            objects: Some("ftp://x".into()),
            ..Settings::default()
        };
        let problems = wrong.problems();
        let keys: Vec<_> = problems.iter().map(|(key, _)| *key).collect();
        let expected = [
            "timezone",
            "usage_days",
            "usage_archive_days",
            "rollup_days",
            "rollup_interval_secs",
            "task_result_days",
            "job_progress_days",
            "job_lease_ms",
            "job_attempts_max",
            "progress_poll_ms",
            "progress_streams_max",
            "objects",
        ];
        assert_eq!(keys, expected);
        let archived = Settings { usage_archive_days: Some(90), ..Settings::default() };
        assert_eq!(archived.problems()[0].1, "is 90; it must be from 1 to 89");
    }
}
