//! The item of a review.

use weir_calendar::Day;
use weir_table::{Item, Value};

use super::{Fields, ItemContext, in_index};
use crate::error::Result;
use crate::ids::{ModelId, ReviewId};
use crate::keys::{self, GSI1, GSI2, GSI3};
use crate::review::{PullRequest, Review, ReviewStatus};

const NUMBER: &str = "pr_number";
const TITLE: &str = "pr_title";
const URL: &str = "pr_url";
const REQUESTED_BY: &str = "requested_by";
const STATUS: &str = "status";
const MODELS: &str = "models_used";
const FINDINGS: &str = "total_findings";
const CONSENSUS: &str = "consensus_findings";
const COST: &str = "total_cost_usd";
pub(super) const FILES_COUNT: &str = "files_count";

impl Review {
    /// The item of the review, without its files: those would be copied to every index.
    pub(crate) fn encode(&self, context: &ItemContext) -> Item {
        let ItemContext { review, created_at_ms, shard, .. } = context;
        let models = Value::list(self.models.iter().map(ModelId::as_str));
        let mut item = context
            .item(keys::review(review, *created_at_ms), "REVIEW")
            .with(NUMBER, self.pull_request.number)
            .with(TITLE, self.pull_request.title.as_str())
            .with(URL, self.pull_request.url.as_str())
            .with(FILES_COUNT, self.pull_request.files.len() as u64)
            .with(STATUS, self.status.as_str())
            .with(MODELS, models)
            .with(FINDINGS, self.total_findings)
            .with(CONSENSUS, self.consensus_findings)
            .with(COST, self.total_cost.to_number());
        let date = keys::by_date(Day::utc(*created_at_ms), *shard);
        item = in_index(item, GSI1, date, keys::review_gsi1_sort(review, *created_at_ms));
        let sort = keys::review_gsi2_sort(review, *created_at_ms);
        item = in_index(item, GSI2, keys::all_reviews(*shard), sort);
        if let Some(user) = &self.requested_by {
            let sort = keys::review_gsi3_sort(review, *created_at_ms);
            item = in_index(item, GSI3, keys::by_user(user), sort);
            item.set(REQUESTED_BY, user.as_str());
        }
        item
    }

    /// Decodes a review, without its files.
    pub(crate) fn decode(item: &Item) -> Result<Review> {
        let fields = Fields(item);
        let repo = item.s("PK").and_then(keys::parse_repo_partition);
        let (owner, repo) = repo.ok_or_else(|| fields.wrong("PK"))?;
        let status = ReviewStatus::parse(fields.text(STATUS)?);
        Ok(Review {
            id: fields.parse::<ReviewId>("review_id")?,
            pull_request: PullRequest {
                owner,
                repo,
                number: fields.number(NUMBER)?,
                title: fields.text(TITLE)?.to_owned(),
                url: fields.text(URL)?.to_owned(),
                files: Vec::new(),
            },
            requested_by: fields.parse_optional(REQUESTED_BY)?,
            created_at_ms: fields.time("created_at")?,
            status: status.ok_or_else(|| fields.wrong(STATUS))?,
            models: fields.parse_list(MODELS)?,
            total_findings: fields.number(FINDINGS)?,
            consensus_findings: fields.number(CONSENSUS)?,
            total_cost: fields.cost(COST)?,
        })
    }

    /// Whether files are listed for the review of an item.
    pub(crate) fn has_files(item: &Item) -> bool {
        item.i64(FILES_COUNT).is_some_and(|count| count > 0)
    }
}

impl ReviewStatus {
    fn parse(text: &str) -> Option<ReviewStatus> {
        use ReviewStatus::{Completed, Failed, InProgress};
        [InProgress, Completed, Failed].into_iter().find(|status| status.as_str() == text)
    }
}
