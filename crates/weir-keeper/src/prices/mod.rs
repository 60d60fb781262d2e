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
mod vendors;

use compact_str::CompactString;
use weir_calendar::Zone;

pub(crate) use self::cache::PriceCache;
pub use self::diff::{PriceChange, diff};
pub use self::import_list::PriceImport;
pub use self::list::ListedPrice;
pub use self::lookup::PriceQuery;
pub use self::model_names::PROFILE_PREFIXES;
pub use self::price_book::{BookPrice, PriceBook};
pub use self::refresh::PriceRow;
use crate::error::Result;
use crate::ids::Vendor;
use crate::money::Price;

/// Source of a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// The vendor that the price is listed for; `None` for Bedrock and for the price of a label.
    pub vendor: Option<Vendor>,
    /// The region that the price is listed for; `None` for all regions.
    pub region: Option<CompactString>,
}

/// The price of a model in a region: the price book's, else the `fallback` of its label; `None` when unknown.
///
/// # Errors
/// Several vendors have a price for the model, and none of them was named.
pub fn resolve(
    book: &PriceBook,
    query: &PriceQuery<'_>,
    fallback: Option<Price>,
) -> Result<Option<ResolvedPrice>> {
    // A price of the book has no day.
    let found = lookup::find(query, Zone::utc().day_of(0), book, |_| None);
    let found = found.map_err(|all| vendors::ambiguous("vendor", query.model, &all))?;
    Ok(found.or_else(|| fallback.map(ResolvedPrice::from_label)))
}

impl ResolvedPrice {
    /// The price of a label.
    fn from_label(price: Price) -> ResolvedPrice {
        let (source, version) = (PriceSource::ConfigFallback, "config".to_owned());
        ResolvedPrice { price, source, version, listed_as: "".into(), vendor: None, region: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ModelId;

    #[test]
    fn the_price_book_precedes_the_price_of_the_label() {
        let book = PriceBook::shipped().unwrap();
        let (known, own) = (ModelId::new("amazon.nova-lite-v1:0").unwrap(), Price::new(7, 7));
        let unknown = ModelId::new("acme.model-v1").unwrap();
        let source = |model, fallback| {
            let found = resolve(&book, &PriceQuery::new(model), fallback).unwrap();
            found.map(|found| found.source.as_str())
        };
        assert_eq!(source(&known, Some(own)), Some("PRICE_BOOK"));
        assert_eq!(source(&unknown, Some(own)), Some("CONFIG_FALLBACK"));
        assert_eq!(source(&unknown, None), None);
    }
}
