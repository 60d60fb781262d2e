//! `/prices`: prices of models.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::formats::{AwsRegion, CalendarDate, Identifier, ModelId, VendorName};

/// Largest number of prices in one import request: as many as fit its body.
pub const PRICES_MAX: usize = 1_000;

/// Which prices to list.
#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PriceParams {
    /// Day in UTC; today by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<CalendarDate>, inline)]
    pub on: Option<String>,
    /// Model id, inference profile id or ARN. The list then has the price at which submissions of that model are recorded,
    /// if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<ModelId>, inline)]
    pub model: Option<String>,
    /// AWS region of the model's calls; requires `model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<AwsRegion>, inline)]
    pub region: Option<String>,
    /// Vendor of the model; requires `model`, and is required when several vendors have a price for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<VendorName>, inline)]
    pub vendor: Option<String>,
    /// Part of a vendor's name or a model id, in upper or lower case. The list then has only models that match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<ModelId>, inline)]
    pub search: Option<String>,
}

/// Source of a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PriceSource {
    /// Downloaded today.
    PricingApi,
    /// Downloaded on an earlier day, or imported.
    Cached,
    /// Part of the price book that ships with the server.
    PriceBook,
    /// Configured with the label.
    ConfigFallback,
}

/// Price of a request whose input is longer than a number of tokens, in micro-USD for a million tokens. It applies to the
/// whole request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LongContextPrice {
    /// Number of input tokens, cached ones included, above which the price applies.
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub above_input_tokens: u64,
    /// Price of a million input tokens.
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub input_price_usd_micros_per_1m: u64,
    /// Price of a million output tokens.
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub output_price_usd_micros_per_1m: u64,
    /// Price of a million tokens read from a cache; the input price when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub cache_read_price_usd_micros_per_1m: Option<u64>,
    /// Price of a million tokens written to a cache; the input price when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub cache_write_price_usd_micros_per_1m: Option<u64>,
}

/// Price of a model to import, in micro-USD for a million tokens.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceEntry {
    /// Id of the model at its vendor. Either this or `bedrock_model_id` is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ModelId>)]
    pub model_id: Option<String>,
    /// Another name of `model_id`, for clients of the original service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ModelId>)]
    pub bedrock_model_id: Option<String>,
    /// Vendor of the model; required when the price book has several for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<VendorName>)]
    pub vendor: Option<String>,
    /// AWS region; all regions when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9-]{1,64}$", example = "us-east-1")]
    pub region: Option<String>,
    /// Price of a million input tokens.
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub input_price_usd_micros_per_1m: u64,
    /// Price of a million output tokens.
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub output_price_usd_micros_per_1m: u64,
    /// Price of a million tokens read from a cache; the input price when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub cache_read_price_usd_micros_per_1m: Option<u64>,
    /// Price of a million tokens written to a cache; the input price when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub cache_write_price_usd_micros_per_1m: Option<u64>,
    /// Price of requests with a long input; absent when it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_context: Option<LongContextPrice>,
}

/// Price of a model on a day, in micro-USD for a million tokens.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ModelPrice {
    /// Id of the model at its vendor.
    pub model_id: String,
    /// The same as `model_id`, for clients of the original service.
    pub bedrock_model_id: String,
    /// Vendor of the model; absent for Bedrock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// AWS region; all regions when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Price of a million input tokens.
    pub input_price_usd_micros_per_1m: u64,
    /// Price of a million output tokens.
    pub output_price_usd_micros_per_1m: u64,
    /// Price of a million tokens read from a cache; the input price when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_price_usd_micros_per_1m: Option<u64>,
    /// Price of a million tokens written to a cache; the input price when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_price_usd_micros_per_1m: Option<u64>,
    /// Price of requests with a long input; absent when it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_context: Option<LongContextPrice>,
    /// Source of the price.
    pub source: PriceSource,
    /// Edition of the price.
    pub version: String,
}

/// Prices to import.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceImportRequest {
    /// First day in UTC on which the prices are in force: today or later; today by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CalendarDate>)]
    pub from: Option<String>,
    /// The prices. All prices of a model are in one part of the import.
    #[schema(min_items = 1, max_items = 1_000)]
    pub prices: Vec<PriceEntry>,
    /// Id of the import that this request continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Identifier>)]
    pub import: Option<String>,
    /// Whether another part follows. An import takes effect with its last part, which must follow within an hour.
    #[serde(default)]
    #[schema(default = false)]
    pub more: bool,
}

/// An import of prices.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PriceImport {
    /// Id of the import; ids sort by time.
    pub id: String,
    /// Number of models that the import has prices for.
    pub models: u64,
    /// First day in UTC on which the prices are in force.
    #[schema(format = Date)]
    pub from: String,
    /// Name of the caller who imported the prices.
    pub by: String,
    /// Time at which the import was started.
    #[schema(format = DateTime)]
    pub imported_at: String,
    /// Whether another part is expected. An open import has no effect.
    pub open: bool,
}

/// The import that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct PriceImportParam {
    /// Id of the import.
    #[param(value_type = Identifier, inline)]
    pub id: String,
}
