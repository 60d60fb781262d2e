//! The price book: prices by model and region.
//!
//! A model that only has prices for other regions has none: it would be a guess.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use compact_str::CompactString;
use serde::Deserialize;

use super::PriceRow;
use super::vendors::Vendors;
use crate::bounds::{BOOK_BYTES_MAX, BOOK_ENTRIES_MAX};
use crate::error::{Error, Result};
use crate::ids::Vendor;
use crate::money::Price;

const BEDROCK: &str = include_str!("../../data/bedrock_prices.json");
const OTHER_VENDORS: &str = include_str!("../../data/vendor_prices.json");
const UNITS: &str = "micro-USD per one million tokens";

/// Prices by model and region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceBook {
    source: String,
    as_of: String,
    /// By model, then by vendor and region.
    prices: Arc<HashMap<CompactString, HashMap<VendorRegion, Price>>>,
}

/// A vendor, `None` for Bedrock, and a region, `None` for all regions.
type VendorRegion = (Option<Vendor>, Option<CompactString>);

/// A price of the book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookPrice<'a> {
    /// The price.
    pub price: Price,
    /// The model name it is listed under.
    pub model: &'a str,
    /// The vendor; `None` for Bedrock.
    pub vendor: Option<&'a Vendor>,
    /// The region; `None` for all regions.
    pub region: Option<&'a str>,
}

#[derive(Deserialize)]
struct Raw {
    source: String,
    units: String,
    as_of: String,
    entries: Vec<PriceRow>,
}

impl PriceBook {
    /// The price book in this binary, parsed once in a process: the models of Bedrock and of other vendors.
    ///
    /// # Errors
    /// The price book is invalid.
    pub fn shipped() -> Result<PriceBook> {
        static BOOK: OnceLock<PriceBook> = OnceLock::new();
        if let Some(book) = BOOK.get() {
            return Ok(book.clone());
        }
        let mut book = PriceBook::parse(BEDROCK)?;
        let others = PriceBook::parse(OTHER_VENDORS)?;
        let prices = Arc::make_mut(&mut book.prices);
        for (model, of_model) in others.prices.iter() {
            prices.entry(model.clone()).or_default().extend(of_model.clone());
        }
        Ok(BOOK.get_or_init(|| book).clone())
    }

    /// Parses a price book.
    ///
    /// # Errors
    /// The text is too large, uses other units, is not a price book, or has a duplicate entry.
    pub fn parse(text: &str) -> Result<PriceBook> {
        let wrong = |problem: String| Error::damaged("the price book", problem);
        if text.len() > BOOK_BYTES_MAX {
            return Err(wrong(format!("it has more than {BOOK_BYTES_MAX} bytes")));
        }
        let raw: Raw = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if raw.units != UNITS {
            return Err(wrong(format!("its units are {:?}, not {UNITS:?}", raw.units)));
        }
        if raw.entries.len() > BOOK_ENTRIES_MAX {
            return Err(wrong(format!("it has more than {BOOK_ENTRIES_MAX} entries")));
        }
        let mut book = PriceBook { source: raw.source, as_of: raw.as_of, prices: Arc::default() };
        for entry in raw.entries {
            let (model, region) = (entry.model_id.clone(), entry.region.clone());
            book.add(entry).map_err(|problem| {
                let region = region.map_or_else(String::new, |region| format!(" in {region}"));
                wrong(format!("{model}{region} {problem}"))
            })?;
        }
        Ok(book)
    }

    fn add(&mut self, entry: PriceRow) -> Result<(), String> {
        let PriceRow { model_id, vendor, region, price } = entry;
        price.check().map_err(|error| format!("has an invalid price: {error}"))?;
        let key = (vendor.and_then(Vendor::listed), region);
        let prices = Arc::make_mut(&mut self.prices).entry(model_id.into()).or_default();
        match prices.insert(key, price) {
            None => Ok(()),
            Some(_) => Err("occurs twice".to_owned()),
        }
    }

    /// The price listed for exactly this name, vendor and region.
    #[must_use]
    pub fn get(&self, name: &str, key: &VendorRegion) -> Option<Price> {
        self.prices.get(name)?.get(key).copied()
    }

    /// The vendors that have a price for this name.
    pub(super) fn vendors(&self, name: &str) -> Vendors {
        let prices = self.prices.get(name).into_iter().flat_map(HashMap::keys);
        prices.map(|(vendor, _)| vendor.clone()).collect()
    }

    /// Number of prices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.prices.values().map(HashMap::len).sum()
    }

    /// Whether the book is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.prices.is_empty()
    }

    /// Date of the book: `2026-11`.
    #[must_use]
    pub fn as_of(&self) -> &str {
        &self.as_of
    }

    /// Where the prices come from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// All prices, by model and region.
    #[must_use]
    pub fn list(&self) -> Vec<BookPrice<'_>> {
        let mut all: Vec<BookPrice<'_>> = Vec::with_capacity(self.len());
        for (model, prices) in &*self.prices {
            for ((vendor, region), price) in prices {
                let (vendor, region) = (vendor.as_ref(), region.as_deref());
                all.push(BookPrice { price: *price, model, vendor, region });
            }
        }
        all.sort_by_key(|found| (found.model, found.vendor, found.region));
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::ids::ModelId;
    use crate::prices::{PriceQuery, resolve};

    fn input(book: &PriceBook, model: &str, region: Option<&str>) -> Option<(u64, Option<String>)> {
        let model = ModelId::new(model).unwrap();
        let query = PriceQuery { region, ..PriceQuery::new(&model) };
        let found = resolve(book, &query, None).unwrap()?;
        Some((found.price.input, found.region.map(String::from)))
    }

    #[test]
    fn the_shipped_price_book_is_complete() {
        let book = PriceBook::shipped().unwrap();
        assert_eq!((book.len(), book.list().len(), book.as_of()), (1_424, 1_424, "2026-11"));
        let vendors: BTreeSet<_> = book.list().iter().filter_map(|found| found.vendor).collect();
        assert_eq!(vendors.len(), 15);
        assert_eq!(
            book.list().iter().filter(|found| found.price.long_context.is_some()).count(),
            160
        );
        assert!(!book.is_empty() && book.source().contains("litellm"));
        // Each entry is found by its own name.
        for entry in book.list() {
            let model = ModelId::new(entry.model).unwrap();
            let bedrock = Vendor::new("bedrock").unwrap();
            let vendor = Some(entry.vendor.unwrap_or(&bedrock));
            let query = PriceQuery { vendor, region: entry.region, ..PriceQuery::new(&model) };
            let found = resolve(&book, &query, None).unwrap().unwrap();
            let found = (found.price, found.region.as_deref());
            assert_eq!(found, (entry.price, entry.region), "{model}");
        }
        // On Bedrock, everything before the first dot is a known prefix or a vendor.
        let vendors = [
            "ai21",
            "amazon",
            "anthropic",
            "cohere",
            "deepseek",
            "google",
            "meta",
            "minimax",
            "mistral",
            "moonshot",
            "moonshotai",
            "nvidia",
            "openai",
            "qwen",
            "writer",
            "zai",
            "claude-sonnet-4-5-20250929-v1:0",
            "xai",
        ];
        for entry in book.list().iter().filter(|entry| entry.vendor.is_none()) {
            let first = entry.model.split('.').next().unwrap();
            let known = super::super::PROFILE_PREFIXES.contains(&first) || vendors.contains(&first);
            assert!(known, "{}", entry.model);
        }
    }

    #[test]
    fn a_price_is_found_by_name_then_by_region() {
        let book = PriceBook::shipped().unwrap();
        let (nova, gov) = ("amazon.nova-lite-v1:0", Some("us-gov-west-1"));
        for (model, region, expected) in [
            (nova, None, Some((60_000, None))),
            (nova, Some("eu-west-1"), Some((60_000, None))),
            (nova, gov, Some((72_000, Some("us-gov-west-1".to_owned())))),
            // A profile's own price precedes its model's price for the region.
            ("us.anthropic.claude-opus-5-5", None, Some((4_400_000, None))),
            ("us-gov.anthropic.claude-opus-5-5", gov, Some((4_800_000, None))),
            // A profile without a price has that of its model.
            ("ca.anthropic.claude-opus-5-5", None, Some((4_000_000, None))),
            ("ca.amazon.nova-lite-v1:0", gov, Some((72_000, Some("us-gov-west-1".to_owned())))),
            (
                "arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/amazon.nova-lite-v1:0",
                None,
                Some((72_000, Some("us-gov-west-1".to_owned()))),
            ),
            // Its prices are for other regions.
            ("moonshotai.kimi-k2-thinking", None, None),
            ("moonshotai.kimi-k2-thinking", Some("eu-west-1"), None),
            ("acme.model-v1", None, None),
            ("arn:aws:bedrock:us-east-1:1:application-inference-profile/x", None, None),
        ] {
            assert_eq!(input(&book, model, region), expected, "{model} {region:?}");
        }
    }

    #[test]
    fn a_model_of_several_vendors_is_priced_by_the_named_one() {
        let book = PriceBook::shipped().unwrap();
        let model = ModelId::new("gpt-5.4").unwrap();
        let query = PriceQuery::new(&model);
        let error = resolve(&book, &query, None).unwrap_err().to_string();
        assert_eq!(
            error,
            "vendor: gpt-5.4 has prices of several vendors; name one of azure, azure_ai, openai, \
             perplexity"
        );
        let openai = Vendor::new("openai").unwrap();
        let found = resolve(&book, &PriceQuery { vendor: Some(&openai), ..query }, None);
        let price = found.unwrap().unwrap().price;
        assert_eq!((price.input, price.output), (2_500_000, 15_000_000));
        assert_eq!(price.long_context.unwrap().above_input_tokens, 272_000);
        // The id of one vendor alone says which.
        let model = ModelId::new("gpt-5-chat-latest").unwrap();
        assert!(resolve(&book, &PriceQuery::new(&model), None).unwrap().is_some());
    }

    #[test]
    fn an_invalid_price_book_is_refused() {
        let entry = |price: &str| {
            format!(
                r#"{{"model_id":"m","input_price_usd_micros_per_1m":{price},"output_price_usd_micros_per_1m":1}}"#
            )
        };
        let book = |units: &str, entries: &str| {
            let text =
                format!(r#"{{"source":"s","units":"{units}","as_of":"d","entries":[{entries}]}}"#);
            PriceBook::parse(&text)
        };
        assert_eq!(book(UNITS, &entry("3")).unwrap().len(), 1);
        let twice = format!("{},{}", entry("1"), entry("2"));
        let many = vec![entry("1"); BOOK_ENTRIES_MAX + 1].join(",");
        for (found, part) in [
            (PriceBook::parse(""), "EOF"),
            (PriceBook::parse(&" ".repeat(BOOK_BYTES_MAX + 1)), "bytes"),
            (book("dollars", ""), "units"),
            (book(UNITS, &entry("-1")), "invalid value"),
            (book(UNITS, &entry("0.5")), "invalid type"),
            (book(UNITS, &entry("9999999999999")), "m has an invalid price"),
            (book(UNITS, &twice), "m occurs twice"),
            (book(UNITS, &many), "more than 10000 entries"),
        ] {
            let error = found.unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
