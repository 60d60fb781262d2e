//! The item of a model's response.

use weir_table::{Item, Key};

use super::{Fields, ItemContext, in_index};
use crate::error::Result;
use crate::ids::ModelId;
use crate::keys::{self, GSI1, GSI2};
use crate::review::{Response, ResponseStatus};

const MODEL: &str = "model_id";
const STATUS: &str = "status";
const INPUT: &str = "input_tokens";
const OUTPUT: &str = "output_tokens";
const LATENCY: &str = "latency_ms";
const COST: &str = "cost_usd";
const FINDINGS: &str = "findings_count";
const RAW_KEY: &str = "raw_response_s3_key";

impl Response {
    /// The item of the response.
    pub(crate) fn encode(&self, context: &ItemContext) -> Item {
        let ItemContext { review, created_at_ms, .. } = context;
        let mut item = context
            .item(keys::response(review, &self.model), "MODEL_RESPONSE")
            .with(MODEL, self.model.as_str())
            .with(STATUS, self.status.as_str())
            .with(INPUT, self.input_tokens)
            .with(OUTPUT, self.output_tokens)
            .with(LATENCY, self.latency_ms)
            .with(COST, self.cost.to_number())
            .with(FINDINGS, self.findings_count);
        if let Some(key) = &self.raw_key {
            item.set(RAW_KEY, key.as_str());
        }
        let sort = keys::review_gsi1_sort(review, *created_at_ms);
        let item = in_index(item, GSI1, keys::by_model(&self.model), sort);
        let sort = keys::response_gsi2_sort(*created_at_ms, &self.model);
        in_index(item, GSI2, keys::ALL_RESPONSES.to_owned(), sort)
    }

    /// Decodes a response.
    pub(crate) fn decode(item: &Item) -> Result<Response> {
        let fields = Fields(item);
        let status = ResponseStatus::parse(fields.text(STATUS)?);
        Ok(Response {
            model: fields.parse::<ModelId>(MODEL)?,
            status: status.ok_or_else(|| fields.wrong(STATUS))?,
            input_tokens: fields.number(INPUT)?,
            output_tokens: fields.number(OUTPUT)?,
            latency_ms: fields.number(LATENCY)?,
            cost: fields.cost(COST)?,
            findings_count: fields.number(FINDINGS)?,
            raw_key: item.s(RAW_KEY).map(str::to_owned),
        })
    }
}

impl ResponseStatus {
    fn parse(text: &str) -> Option<ResponseStatus> {
        use ResponseStatus::{Error, Success, Timeout};
        [Success, Error, Timeout].into_iter().find(|status| status.as_str() == text)
    }
}

/// The key of the cost metric that belongs to the item of a response.
pub(crate) fn cost_key_of(response: &Item) -> Result<Key> {
    let fields = Fields(response);
    let model = fields.parse::<ModelId>(MODEL)?;
    Ok(keys::cost(&fields.review_ref()?, fields.time("created_at")?, &model))
}
