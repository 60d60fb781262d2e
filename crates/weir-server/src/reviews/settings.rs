//! `[reviews]`: the settings of reviews. Their defaults are those of the domain, which a test checks; so are the bounds.

use serde::Serialize;
use weir_framework::settings::{SettingProblem, defaults, in_range, object_store_problem};
use weir_reviews::bounds::{INDEX_SHARDS_MAX, RETENTION_DAYS_MAX};
use weir_reviews::consensus::{
    CATEGORY_PENALTY_RANGE, LINE_SLACK_RANGE, Options, THRESHOLD_RANGE, TITLE_WEIGHT_RANGE,
};
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
    /// Similarity from which findings of different models are one issue, from 0.01 to 1. A lower one finds more
    /// agreement and joins more by mistake. It applies to reviews recorded from then on, as do the next three keys.
    #[config(default = 0.18, env = "WEIR_REVIEWS_CONSENSUS_THRESHOLD")]
    pub consensus_threshold: f64,
    /// Lines between two findings that may still be the same issue, up to 100. The farther apart, the more alike
    /// their words must be.
    #[config(default = 6, env = "WEIR_REVIEWS_CONSENSUS_LINE_SLACK")]
    pub consensus_line_slack: u32,
    /// Weight of a word of the title, up to 10; a word of the description has 1.
    #[config(default = 2.0, env = "WEIR_REVIEWS_CONSENSUS_TITLE_WEIGHT")]
    pub consensus_title_weight: f64,
    /// Similarity that findings of different categories lose, up to 100. With 100 they are never the same issue. A
    /// finding without category loses none.
    #[config(default = 0.3, env = "WEIR_REVIEWS_CONSENSUS_CATEGORY_PENALTY")]
    pub consensus_category_penalty: f64,
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

impl Settings {
    /// Problems of single values.
    #[must_use]
    pub fn problems(&self) -> Vec<SettingProblem> {
        let days = |key, value| in_range(key, value, 1..=u64::from(RETENTION_DAYS_MAX));
        let ranges = [
            days("review_days", self.review_days),
            days("cost_days", self.cost_days),
            days("rollup_days", self.rollup_days),
            in_range("index_shards", self.index_shards, 1..=INDEX_SHARDS_MAX.into()),
            in_range("consensus_threshold", self.consensus_threshold, THRESHOLD_RANGE),
            in_range("consensus_line_slack", self.consensus_line_slack, LINE_SLACK_RANGE),
            in_range("consensus_title_weight", self.consensus_title_weight, TITLE_WEIGHT_RANGE),
            in_range(
                "consensus_category_penalty",
                self.consensus_category_penalty,
                CATEGORY_PENALTY_RANGE,
            ),
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
            consensus: Options {
                threshold: self.consensus_threshold,
                line_slack: self.consensus_line_slack,
                title_weight: self.consensus_title_weight,
                category_penalty: self.consensus_category_penalty,
                ..Options::default()
            },
            table: table.into(),
            review_days: number(self.review_days),
            cost_days: number(self.cost_days),
            rollup_days: number(self.rollup_days),
            index_shards: number(self.index_shards),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_domain() {
        let (configured, domain) =
            (Settings::default().to_domain(), weir_reviews::Settings::default());
        assert_eq!(format!("{configured:?}"), format!("{domain:?}"));
        assert_eq!(Settings::default().problems(), []);
    }

    #[test]
    fn options_of_consensus_out_of_their_range_are_named() {
        let wrong = Settings {
            consensus_threshold: 1.5,
            consensus_line_slack: 101,
            consensus_title_weight: -1.0,
            consensus_category_penalty: f64::NAN,
            ..Settings::default()
        };
        let problems = wrong.problems();
        let keys: Vec<_> = problems.iter().map(|(key, _)| *key).collect();
        assert_eq!(
            keys,
            [
                "consensus_threshold",
                "consensus_line_slack",
                "consensus_title_weight",
                "consensus_category_penalty"
            ]
        );
        assert_eq!(problems[0].1, "is 1.5; it must be from 0.01 to 1");
    }
}
