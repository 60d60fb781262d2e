//! Prices of models.

use weir_api::keeper as wire;
use weir_keeper::ids::ModelId;
use weir_keeper::money::Price;
use weir_keeper::prices::{ListedPrice, PriceImport, PriceRow, PriceSource};

use super::seconds;

pub(in crate::keeper) fn price_row(entry: wire::PriceEntry) -> weir_keeper::Result<PriceRow> {
    Ok(PriceRow {
        model_id: ModelId::new(&entry.model_id)?,
        region: entry.region.map(Into::into),
        price: Price {
            input: entry.input_price_usd_micros_per_1m,
            output: entry.output_price_usd_micros_per_1m,
            cache_read: entry.cache_read_price_usd_micros_per_1m,
            cache_write: entry.cache_write_price_usd_micros_per_1m,
        },
    })
}

/// The entry of an import request for a price.
#[must_use]
pub fn price_entry(row: &PriceRow) -> wire::PriceEntry {
    wire::PriceEntry {
        model_id: row.model_id.to_string(),
        region: row.region.as_ref().map(ToString::to_string),
        input_price_usd_micros_per_1m: row.price.input,
        output_price_usd_micros_per_1m: row.price.output,
        cache_read_price_usd_micros_per_1m: row.price.cache_read,
        cache_write_price_usd_micros_per_1m: row.price.cache_write,
    }
}

pub(in crate::keeper) fn model_price(listed: ListedPrice) -> wire::ModelPrice {
    let price = &listed.row.price;
    wire::ModelPrice {
        model_id: listed.row.model_id.to_string(),
        region: listed.row.region.as_ref().map(ToString::to_string),
        input_price_usd_micros_per_1m: price.input,
        output_price_usd_micros_per_1m: price.output,
        cache_read_price_usd_micros_per_1m: price.cache_read,
        cache_write_price_usd_micros_per_1m: price.cache_write,
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
