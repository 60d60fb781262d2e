//! The price book: what models cost, by region and by id.
//!
//! A price is looked up by each name of the model, the most exact first (an inference profile's own price, then its
//! model's), and by each name first for the region, then for all regions. A model that only has prices for other regions has
//! none here: it would be a guess.

use std::collections::HashMap;

use compact_str::CompactString;
use serde::Deserialize;

use super::name::names;
use crate::bounds::{BOOK_BYTES_MAX, BOOK_ENTRIES_MAX};
use crate::error::{Error, Result};
use crate::ids::ModelId;
use crate::money::Price;

const SHIPPED: &str = include_str!("../../data/bedrock_prices.json");
const UNITS: &str = "micro-USD per one million tokens";

/// Prices by model and region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Book {
    source: String,
    as_of: String,
    /// By model, then by region; `None` is all regions.
    prices: HashMap<CompactString, HashMap<Option<CompactString>, Price>>,
}

/// A price that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<'a> {
    /// The price.
    pub price: Price,
    /// The name it was found by.
    pub model: &'a str,
    /// The region it is for; nothing when for all.
    pub region: Option<&'a str>,
}

#[derive(Deserialize)]
struct Raw {
    source: String,
    units: String,
    as_of: String,
    entries: Vec<RawEntry>,
}

#[derive(Deserialize)]
struct RawEntry {
    model_id: ModelId,
    region: Option<CompactString>,
    #[serde(rename = "input_price_usd_micros_per_1m")]
    input: u64,
    #[serde(rename = "output_price_usd_micros_per_1m")]
    output: u64,
    #[serde(rename = "cache_read_price_usd_micros_per_1m")]
    cache_read: Option<u64>,
    #[serde(rename = "cache_write_price_usd_micros_per_1m")]
    cache_write: Option<u64>,
}

impl Book {
    /// The book in this binary.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn shipped() -> Result<Book> {
        Book::parse(SHIPPED)
    }

    /// Reads a book.
    ///
    /// # Errors
    /// It is too large, in other units, not a book at all, or has two prices for the same.
    pub fn parse(text: &str) -> Result<Book> {
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
        let mut book = Book { source: raw.source, as_of: raw.as_of, prices: HashMap::new() };
        for entry in raw.entries {
            let (model, region) = (entry.model_id.clone(), entry.region.clone());
            book.add(entry).map_err(|problem| {
                let region = region.map_or_else(String::new, |region| format!(" in {region}"));
                wrong(format!("{model}{region} {problem}"))
            })?;
        }
        Ok(book)
    }

    fn add(&mut self, entry: RawEntry) -> Result<(), String> {
        let RawEntry { model_id, region, input, output, cache_read, cache_write } = entry;
        let price = Price { input, output, cache_read, cache_write };
        price.check().map_err(|error| format!("has a wrong price: {error}"))?;
        match self.prices.entry(model_id.into()).or_default().insert(region, price) {
            None => Ok(()),
            Some(_) => Err("stands there twice".to_owned()),
        }
    }

    /// What a model costs in a region; for a model that is an ARN, in the ARN's region unless another is given.
    #[must_use]
    pub fn find<'a>(&'a self, model: &'a ModelId, region: Option<&str>) -> Option<Found<'a>> {
        let (names, arn_region) = names(model.as_str());
        let region = region.or(arn_region).map(CompactString::from);
        names.into_iter().find_map(|name| {
            let prices = self.prices.get(name)?;
            let local = region.is_some().then(|| prices.get_key_value(&region)).flatten();
            let (region, price) = local.or_else(|| prices.get_key_value(&None))?;
            Some(Found { price: *price, model: name, region: region.as_deref() })
        })
    }

    /// How many prices there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.prices.values().map(HashMap::len).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.prices.is_empty()
    }

    /// Of which date it is: `2026-11`.
    #[must_use]
    pub fn as_of(&self) -> &str {
        &self.as_of
    }

    /// Where its prices come from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// All prices, by model and then by region.
    #[must_use]
    pub fn list(&self) -> Vec<Found<'_>> {
        let mut all: Vec<Found<'_>> = Vec::with_capacity(self.len());
        for (model, prices) in &self.prices {
            for (region, price) in prices {
                all.push(Found { price: *price, model, region: region.as_deref() });
            }
        }
        all.sort_by_key(|found| (found.model, found.region));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(book: &Book, model: &str, region: Option<&str>) -> Option<(u64, Option<String>)> {
        let model = ModelId::new(model).unwrap();
        let found = book.find(&model, region)?;
        Some((found.price.input, found.region.map(str::to_owned)))
    }

    #[test]
    fn the_shipped_book_is_whole() {
        let book = Book::shipped().unwrap();
        assert_eq!((book.len(), book.list().len(), book.as_of()), (448, 448, "2026-11"));
        assert!(!book.is_empty() && book.source().contains("litellm"));
        // Each of its entries is found by its own name.
        for entry in book.list() {
            let model = ModelId::new(entry.model).unwrap();
            let found = book.find(&model, entry.region).unwrap();
            assert_eq!((found.price, found.region), (entry.price, entry.region), "{model}");
        }
        // Everything before the first dot is a prefix we know, or a maker of models.
        let makers = [
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
        for entry in book.list() {
            let first = entry.model.split('.').next().unwrap();
            let known = super::super::PROFILE_PREFIXES.contains(&first) || makers.contains(&first);
            assert!(known, "{}", entry.model);
        }
    }

    #[test]
    fn a_price_is_found_by_name_then_by_region() {
        let book = Book::shipped().unwrap();
        let (nova, gov) = ("amazon.nova-lite-v1:0", Some("us-gov-west-1"));
        for (model, region, expected) in [
            (nova, None, Some((60_000, None))),
            (nova, Some("eu-west-1"), Some((60_000, None))),
            (nova, gov, Some((72_000, Some("us-gov-west-1".to_owned())))),
            // A profile has a price of its own, also where its model has one for the region.
            ("us.anthropic.claude-opus-5-5", None, Some((4_400_000, None))),
            ("us-gov.anthropic.claude-opus-5-5", gov, Some((4_800_000, None))),
            // It has that of its model where it has none.
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
    fn a_book_that_cannot_be_meant_is_refused() {
        let entry = |price: &str| {
            format!(
                r#"{{"model_id":"m","input_price_usd_micros_per_1m":{price},"output_price_usd_micros_per_1m":1}}"#
            )
        };
        let book = |units: &str, entries: &str| {
            let text =
                format!(r#"{{"source":"s","units":"{units}","as_of":"d","entries":[{entries}]}}"#);
            Book::parse(&text)
        };
        assert_eq!(book(UNITS, &entry("3")).unwrap().len(), 1);
        let twice = format!("{},{}", entry("1"), entry("2"));
        let many = vec![entry("1"); BOOK_ENTRIES_MAX + 1].join(",");
        for (found, part) in [
            (Book::parse(""), "EOF"),
            (Book::parse(&" ".repeat(BOOK_BYTES_MAX + 1)), "bytes"),
            (book("dollars", ""), "units"),
            (book(UNITS, &entry("-1")), "invalid value"),
            (book(UNITS, &entry("0.5")), "invalid type"),
            (book(UNITS, &entry("9999999999999")), "m has a wrong price"),
            (book(UNITS, &twice), "m stands there twice"),
            (book(UNITS, &many), "more than 10000 entries"),
        ] {
            let error = found.unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
