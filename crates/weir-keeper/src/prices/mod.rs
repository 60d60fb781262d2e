//! Prices of models: the most specific price wins, whoever set it; for one model and region an imported price, else the
//! one last fetched, else the price book's. A model without any has the price of its label.
//!
//! A price is in force from a day on. Imports take effect atomically and last until a later import. Fetched prices are
//! written every day and expire after three, so that a failing refresh keeps the old ones for a while. The cost of a
//! submission is computed when it is submitted, so a new price changes nothing that was metered before.

mod cache;
mod diff;
mod edition;
mod import;
mod import_list;
mod list;
mod lookup;
mod model_names;
mod price_book;
mod refresh;

use compact_str::CompactString;
use serde::Serialize;

pub(crate) use self::cache::PriceCache;
pub use self::diff::{PriceChange, diff};
pub use self::import_list::PriceImport;
pub use self::list::ListedPrice;
pub use self::model_names::PROFILE_PREFIXES;
pub use self::price_book::{BookPrice, PriceBook};
pub use self::refresh::PriceRow;
use crate::day::Zone;
use crate::ids::ModelId;
use crate::money::Price;

/// Source of a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PriceSource {
    /// Fetched today.
    PricingApi,
    /// Fetched on an earlier day, or imported.
    Cached,
    /// From the price book.
    PriceBook,
    /// From the label's definition.
    ConfigFallback,
}

impl PriceSource {
    /// The text in responses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            PriceSource::PricingApi => "PRICING_API",
            PriceSource::Cached => "CACHED",
            PriceSource::PriceBook => "PRICE_BOOK",
            PriceSource::ConfigFallback => "CONFIG_FALLBACK",
        }
    }
}

/// A price with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPrice {
    /// The price.
    pub price: Price,
    /// Source of the price.
    pub source: PriceSource,
    /// Edition of the price: the day it was fetched or imported for, or the date of the price book.
    pub version: String,
    /// The name that the price is listed under; empty for the price of a label.
    pub listed_as: CompactString,
    /// The region that the price is listed for; `None` for all regions.
    pub region: Option<CompactString>,
}

/// The price of a model in a region: the price book's, else the `fallback` of its label; `None` when unknown.
#[must_use]
pub fn resolve(
    book: &PriceBook,
    model: &ModelId,
    region: Option<&str>,
    fallback: Option<Price>,
) -> Option<ResolvedPrice> {
    // A price of the book has no day.
    let found = lookup::find(model, region, Zone::utc().day_of(0), book, |_| None);
    found.or_else(|| fallback.map(ResolvedPrice::from_label))
}

impl ResolvedPrice {
    /// The price of a label.
    fn from_label(price: Price) -> ResolvedPrice {
        let (source, version) = (PriceSource::ConfigFallback, "config".to_owned());
        ResolvedPrice { price, source, version, listed_as: "".into(), region: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_book_precedes_the_price_of_the_label() {
        let book = PriceBook::shipped().unwrap();
        let (known, own) = (ModelId::new("amazon.nova-lite-v1:0").unwrap(), Price::new(7, 7));
        let unknown = ModelId::new("acme.model-v1").unwrap();
        let source = |model, fallback| {
            resolve(&book, model, None, fallback).map(|found| found.source.as_str())
        };
        assert_eq!(source(&known, Some(own)), Some("PRICE_BOOK"));
        assert_eq!(source(&unknown, Some(own)), Some("CONFIG_FALLBACK"));
        assert_eq!(source(&unknown, None), None);
    }
}
