//! Prices of models.

use weir_api::keeper as wire;
use weir_keeper::ids::{ModelId, Vendor};
use weir_keeper::money::{LongContextPrice, Price};
use weir_keeper::prices::{ListedPrice, PriceImport, PriceRow, PriceSource};

use super::seconds;

pub(in crate::keeper) fn price_row(entry: wire::PriceEntry) -> weir_keeper::Result<PriceRow> {
    let (id, bedrock) = (entry.model_id.as_deref(), entry.bedrock_model_id.as_deref());
    Ok(PriceRow {
        model_id: ModelId::of_request(id, bedrock)?,
        vendor: entry.vendor.map(Vendor::new).transpose()?,
        region: entry.region.map(Into::into),
        price: Price {
            input: entry.input_price_usd_micros_per_1m,
            output: entry.output_price_usd_micros_per_1m,
            cache_read: entry.cache_read_price_usd_micros_per_1m,
            cache_write: entry.cache_write_price_usd_micros_per_1m,
            long_context: entry.long_context.map(long_context),
        },
    })
}

/// The domain's price of a long input.
#[must_use]
pub fn long_context(price: wire::LongContextPrice) -> LongContextPrice {
    LongContextPrice {
        above_input_tokens: price.above_input_tokens,
        input: price.input_price_usd_micros_per_1m,
        output: price.output_price_usd_micros_per_1m,
        cache_read: price.cache_read_price_usd_micros_per_1m,
        cache_write: price.cache_write_price_usd_micros_per_1m,
    }
}

pub(super) fn wire_long_context(price: LongContextPrice) -> wire::LongContextPrice {
    wire::LongContextPrice {
        above_input_tokens: price.above_input_tokens,
        input_price_usd_micros_per_1m: price.input,
        output_price_usd_micros_per_1m: price.output,
        cache_read_price_usd_micros_per_1m: price.cache_read,
        cache_write_price_usd_micros_per_1m: price.cache_write,
    }
}

/// The entry of an import request for a price.
#[must_use]
pub fn price_entry(row: &PriceRow) -> wire::PriceEntry {
    wire::PriceEntry {
        model_id: Some(row.model_id.to_string()),
        bedrock_model_id: None,
        vendor: row.vendor.as_ref().map(ToString::to_string),
        region: row.region.as_ref().map(ToString::to_string),
        input_price_usd_micros_per_1m: row.price.input,
        output_price_usd_micros_per_1m: row.price.output,
        cache_read_price_usd_micros_per_1m: row.price.cache_read,
        cache_write_price_usd_micros_per_1m: row.price.cache_write,
        long_context: row.price.long_context.map(wire_long_context),
    }
}

pub(in crate::keeper) fn model_price(listed: ListedPrice) -> wire::ModelPrice {
    let price = &listed.row.price;
    wire::ModelPrice {
        model_id: listed.row.model_id.to_string(),
        bedrock_model_id: listed.row.model_id.to_string(),
        vendor: listed.row.vendor.as_ref().map(ToString::to_string),
        region: listed.row.region.as_ref().map(ToString::to_string),
        input_price_usd_micros_per_1m: price.input,
        output_price_usd_micros_per_1m: price.output,
        cache_read_price_usd_micros_per_1m: price.cache_read,
        cache_write_price_usd_micros_per_1m: price.cache_write,
        long_context: price.long_context.map(wire_long_context),
        source: price_source(listed.source),
        version: listed.version,
    }
}

pub(super) fn price_source(source: PriceSource) -> wire::PriceSource {
    match source {
        PriceSource::PricingApi => wire::PriceSource::PricingApi,
        PriceSource::Cached => wire::PriceSource::Cached,
        PriceSource::PriceBook => wire::PriceSource::PriceBook,
        PriceSource::ConfigFallback => wire::PriceSource::ConfigFallback,
    }
}

pub(in crate::keeper) fn price_import(import: PriceImport) -> wire::PriceImport {
    wire::PriceImport {
        id: import.id.to_string(),
        models: import.models,
        from: import.from.to_string(),
        by: import.actor,
        imported_at: seconds(import.at_epoch),
        open: import.is_open,
    }
}
