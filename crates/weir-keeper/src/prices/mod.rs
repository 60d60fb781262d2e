//! What models cost: an imported price, else the one fetched last, else the book's, else the label's own.
//!
//! Prices have a day from which they hold. Imports take effect as a whole and hold until a later import; fetched prices are written anew each day and
//! forgotten after three, so that a refresh that fails keeps the old ones for a while. A cost is computed when it is
//! submitted, so a new price changes nothing that was counted before.

mod book;
mod cache;
mod diff;
mod edition;
mod find;
mod import;
mod imports;
mod list;
mod name;
mod write;

use serde::Serialize;

pub use self::book::{Book, Found};
pub(crate) use self::cache::Cache;
pub use self::diff::{PriceChange, diff};
pub use self::import::Import;
pub use self::list::ListedPrice;
pub use self::name::PROFILE_PREFIXES;
pub use self::write::PriceRow;
use crate::ids::ModelId;
use crate::money::Price;

/// Where a price comes from.
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
    /// The text of it.
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

/// A price, and how it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Priced {
    /// The price.
    pub price: Price,
    /// Where it comes from.
    pub source: PriceSource,
    /// Which edition of that: the day it was fetched, the date of the book.
    pub version: String,
}

/// What a model costs in a region: `today`'s price, else the book's, else the `fallback` of its label. Nothing when nobody
/// knows.
#[must_use]
pub fn resolve(
    today: Option<Priced>,
    book: &Book,
    model: &ModelId,
    region: Option<&str>,
    fallback: Option<Price>,
) -> Option<Priced> {
    let from_book = || {
        let price = book.find(model, region)?.price;
        let version = book.as_of().to_owned();
        Some(Priced { price, source: PriceSource::PriceBook, version })
    };
    let from_label = || {
        let (source, version) = (PriceSource::ConfigFallback, "config".to_owned());
        fallback.map(|price| Priced { price, source, version })
    };
    today.or_else(from_book).or_else(from_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_price_wins() {
        let book = Book::shipped().unwrap();
        let (known, own) = (ModelId::new("amazon.nova-lite-v1:0").unwrap(), Price::new(7, 7));
        let unknown = ModelId::new("acme.model-v1").unwrap();
        let today =
            Priced { price: Price::new(1, 2), source: PriceSource::Cached, version: "d".into() };
        let source = |today, model, fallback| {
            resolve(today, &book, model, None, fallback).map(|found| found.source.as_str())
        };
        assert_eq!(source(Some(today), &known, Some(own)), Some("CACHED"));
        assert_eq!(source(None, &known, Some(own)), Some("PRICE_BOOK"));
        assert_eq!(source(None, &unknown, Some(own)), Some("CONFIG_FALLBACK"));
        assert_eq!(source(None, &unknown, None), None);
    }
}
