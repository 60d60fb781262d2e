//! Settings of the reviews.

use weir_table::Name;

use crate::bounds::{INDEX_SHARDS_MAX, RETENTION_DAYS_MAX, ROLLUP_RETENTION_DAYS};
use crate::consensus::Options;
use crate::error::{Error, Result};
use crate::table::{ENVIRONMENT, table_name};

/// Settings of the reviews.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Name of the table.
    pub table: Name,
    /// Days that a review is retained with its responses, findings, consensus and raw outputs, from its `created_at` on.
    pub review_days: u32,
    /// Days that cost metrics are retained.
    pub cost_days: u32,
    /// Days that rollups are retained after their day; no comparison goes further back.
    pub rollup_days: u32,
    /// Partitions of the lists that every review is in: all reviews, reviews of a day, and findings of a severity. More of
    /// them allow more writes per second on DynamoDB, and cost a query each. A larger number can be set at any time; with
    /// a smaller one lists lack older entries.
    pub index_shards: u32,
    /// How findings are compared.
    pub consensus: Options,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            table: table_name(ENVIRONMENT),
            review_days: 90,
            cost_days: 365,
            rollup_days: ROLLUP_RETENTION_DAYS,
            index_shards: 1,
            consensus: Options::default(),
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
            ("review_days", self.review_days),
            ("cost_days", self.cost_days),
            ("rollup_days", self.rollup_days),
        ] {
            if !(1..=RETENTION_DAYS_MAX).contains(&days) {
                let problem = format!("is {days}; 1 to {RETENTION_DAYS_MAX}");
                return Err(Error::invalid(field, problem));
            }
        }
        if !(1..=INDEX_SHARDS_MAX).contains(&self.index_shards) {
            let problem = format!("is {}; 1 to {INDEX_SHARDS_MAX}", self.index_shards);
            return Err(Error::invalid("index_shards", problem));
        }
        self.consensus.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked() {
        Settings::default().check().unwrap();
        let too_high = Options { threshold: 1.5, ..Options::default() };
        for (wrong, field) in [
            (Settings { review_days: 0, ..Settings::default() }, "review_days"),
            (Settings { cost_days: RETENTION_DAYS_MAX + 1, ..Settings::default() }, "cost_days"),
            (Settings { rollup_days: 0, ..Settings::default() }, "rollup_days"),
            (Settings { index_shards: 0, ..Settings::default() }, "index_shards"),
            (Settings { index_shards: 17, ..Settings::default() }, "index_shards"),
            (Settings { consensus: too_high, ..Settings::default() }, "consensus_threshold"),
        ] {
            assert!(wrong.check().unwrap_err().to_string().starts_with(field));
        }
    }
}
