//! The item of a cost metric: what one model cost in one review. It outlives the review.

use weir_table::Item;

use super::{Fields, ItemContext, in_index};
use crate::error::Result;
use crate::ids::ModelId;
use crate::keys::{self, GSI1, GSI2, ReviewRef};
use crate::money::MicroUsd;
use crate::review::Response;
use crate::table::TTL;

/// The cost of a model in a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostMetric {
    /// The review.
    pub review: ReviewRef,
    /// When the review was made, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// The model.
    pub model: ModelId,
    /// The cost of the response.
    pub cost: MicroUsd,
    /// Tokens that it read.
    pub input_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
}

impl CostMetric {
    /// The item of the cost of a response.
    pub(crate) fn encode(response: &Response, context: &ItemContext) -> Item {
        let ItemContext { review, created_at_ms, cost_ttl, .. } = context;
        let model = &response.model;
        let item = context
            .item(keys::cost(review, *created_at_ms, model), "COST_METRIC")
            .with("model_id", model.as_str())
            .with("pr_number", review.pr_number)
            .with("cost_usd", response.cost.to_number())
            .with("input_tokens", response.input_tokens)
            .with("output_tokens", response.output_tokens)
            .with(TTL, *cost_ttl);
        let sort = keys::cost_gsi1_sort(review, *created_at_ms);
        let item = in_index(item, GSI1, keys::costs_of_model(model), sort);
        let sort = keys::cost_gsi2_sort(review, *created_at_ms, model);
        in_index(item, GSI2, keys::ALL_COSTS.to_owned(), sort)
    }

    /// Decodes a cost metric.
    pub(crate) fn decode(item: &Item) -> Result<CostMetric> {
        let fields = Fields(item);
        let repo = item.s("PK").and_then(keys::parse_repo_partition);
        let (owner, repo) = repo.ok_or_else(|| fields.wrong("PK"))?;
        let review = ReviewRef {
            id: fields.parse("review_id")?,
            owner,
            repo,
            pr_number: fields.number("pr_number")?,
        };
        Ok(CostMetric {
            review,
            created_at_ms: fields.time("created_at")?,
            model: fields.parse("model_id")?,
            cost: fields.cost("cost_usd")?,
            input_tokens: fields.number("input_tokens")?,
            output_tokens: fields.number("output_tokens")?,
        })
    }
}
