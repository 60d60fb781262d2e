//! `[reviews]`: the settings of reviews, and the only place with their defaults.

use serde::Serialize;
use weir_framework::settings::{Problem, defaults, in_range, object_store_problem};
use weir_reviews::bounds::INDEX_SHARDS_MAX;
use weir_reviews::table::table_name;

/// Reviews of pull requests by several models.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub struct Settings {
    /// Environment in the name of the table, which is quorum-metrics-ENVIRONMENT.
    #[config(default = "dev", env = "WEIR_REVIEWS_ENVIRONMENT")]
    pub environment: String,
    /// Name of the table, without store.table_prefix; it replaces the name from the environment.
    #[config(env = "WEIR_REVIEWS_TABLE")]
    pub table: Option<String>,
    /// Days that a review is retained with its responses, findings, consensus and raw outputs, from its created_at on.
    #[config(default = 90, env = "WEIR_REVIEWS_REVIEW_DAYS")]
    pub review_days: u64,
    /// Days that the costs of a review are retained.
    #[config(default = 365, env = "WEIR_REVIEWS_COST_DAYS")]
    pub cost_days: u64,
    /// Days that the sums behind comparisons are retained.
    #[config(default = 400, env = "WEIR_REVIEWS_ROLLUP_DAYS")]
    pub rollup_days: u64,
    /// Partitions of the lists that every review is in: all reviews, reviews of a day, and findings of a severity.
    /// More of them allow more writes per second on DynamoDB, and cost a query each. With a smaller number than
    /// before, lists lack older entries.
    #[config(default = 1, env = "WEIR_REVIEWS_INDEX_SHARDS")]
    pub index_shards: u64,
    /// Object store for raw outputs of models: "s3://BUCKET/PREFIX" or "file:///FOLDER". Without it they are in the
    /// folder reviews-raw of the data folder; with store.kind = "dynamodb" they are refused.
    #[config(env = "WEIR_REVIEWS_RAW")]
    pub raw: Option<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        defaults()
    }
}

/// Longest retention, in days.
const DAYS_MAX: u64 = 3650;

impl Settings {
    /// Problems of single values.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let ranges = [
            in_range("review_days", self.review_days, 1..=DAYS_MAX),
            in_range("cost_days", self.cost_days, 1..=DAYS_MAX),
            in_range("rollup_days", self.rollup_days, 1..=DAYS_MAX),
            in_range("index_shards", self.index_shards, 1..=INDEX_SHARDS_MAX.into()),
        ];
        let raw = self.raw.as_deref().and_then(object_store_problem);
        ranges.into_iter().chain([raw.map(|problem| ("raw", problem))]).flatten().collect()
    }

    /// The key that names the table, and the name.
    #[must_use]
    pub fn table_name(&self) -> (&'static str, String) {
        match &self.table {
            Some(table) => ("table", table.clone()),
            None => ("environment", table_name(&self.environment).to_string()),
        }
    }

    /// The settings as the domain takes them.
    pub(super) fn to_domain(&self) -> weir_reviews::Settings {
        let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let (_, table) = self.table_name();
        weir_reviews::Settings {
            consensus: weir_reviews::consensus::Options::default(),
            table: table.into(),
            review_days: number(self.review_days),
            cost_days: number(self.cost_days),
            rollup_days: number(self.rollup_days),
            index_shards: number(self.index_shards),
        }
    }
}
