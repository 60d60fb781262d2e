//! An edition: the stored prices of one model from a day on, for all regions and for single ones.

use std::collections::BTreeMap;

use compact_str::CompactString;
use weir_table::item::Attrs;
use weir_table::{Item, Name, Value};

use super::PriceSource;
use crate::catalog::{ModelCatalog, ModelDefinition};
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{EventId, ModelId, Vendor};
use crate::keys;
use crate::money::{LongContextPrice, Price};
use crate::table::TTL;

const INPUT: &str = "input_price_usd_micros_per_1m";
const OUTPUT: &str = "output_price_usd_micros_per_1m";
const CACHE_READ: &str = "cache_read_price_usd_micros_per_1m";
const CACHE_WRITE: &str = "cache_write_price_usd_micros_per_1m";
const LONG_CONTEXT: &str = "long_context";
const ABOVE: &str = "above_input_tokens";
const REGIONS: &str = "regions";
const FETCHED: &str = "fetched_at_epoch";
pub(super) const IMPORT: &str = "import_id";

/// Prices by region; `None` is all regions.
pub(super) type ByRegion = BTreeMap<Option<CompactString>, Price>;

/// The prices of one model from a day on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edition {
    pub(super) model: ModelId,
    /// The vendor; `None` for Bedrock.
    pub(super) vendor: Option<Vendor>,
    pub(super) from: OrgDay,
    /// The import it belongs to; `None` when it was fetched.
    pub(super) import: Option<EventId>,
    pub(super) prices: ByRegion,
    /// When it expires, in seconds since 1970.
    pub(super) expires_at_epoch: Option<i64>,
}

impl Edition {
    /// A price of this edition on a day, with its source and version.
    pub(super) fn resolve(&self, price: Price, on: OrgDay) -> (Price, PriceSource, String) {
        let is_todays = self.import.is_none() && self.from == on;
        let source = if is_todays { PriceSource::PricingApi } else { PriceSource::Cached };
        (price, source, self.from.to_string())
    }

    /// Whether it is unexpired: the store may still return expired items.
    pub(super) fn is_unexpired(&self, now_ms: i64) -> bool {
        self.expires_at_epoch.is_none_or(|until| now_ms.div_euclid(1000) < until)
    }

    /// Encodes the edition, with the catalog's description of the model.
    pub(super) fn encode(&self, labels: &ModelCatalog, now_ms: i64) -> Item {
        let (model, vendor) = (&self.model, self.vendor.as_ref());
        let key = match &self.import {
            Some(import) => keys::imported_price(model, vendor, self.from, import),
            None => keys::price(model, vendor, self.from),
        };
        let mut item = keys::item(key).with(FETCHED, now_ms.div_euclid(1000));
        if let Some(import) = &self.import {
            item.set(IMPORT, import.as_str());
        }
        let label = labels.iter().find(|(_, def)| {
            let of_label = def.vendor.clone().and_then(Vendor::listed);
            def.model_id == self.model && of_label == self.vendor
        });
        if let Some((label, def)) = label {
            let ModelDefinition { tier, family, description, .. } = def;
            item.set("model_label", label.as_str());
            item.set("tier", tier.as_str());
            item.set("family", family.as_str());
            item.set("description", description.as_str());
        }
        for (name, value) in self.prices.get(&None).map(attributes).unwrap_or_default() {
            item.set(name, value);
        }
        let regional = self.prices.iter().filter_map(|(region, price)| {
            Some((Name::from(region.as_deref()?), Value::map(attributes(price))))
        });
        let regional: Vec<_> = regional.collect();
        if !regional.is_empty() {
            item.set(REGIONS, Value::map(regional));
        }
        if let Some(until) = self.expires_at_epoch {
            item.set(TTL, until);
        }
        item
    }

    /// Decodes an edition.
    ///
    /// # Errors
    /// An attribute is missing or invalid.
    pub(super) fn decode(item: &Item) -> Result<Edition> {
        let wrong = || Error::damaged("a price", "an attribute is missing or invalid");
        let model = item.s("PK").and_then(|pk| ModelId::new(pk).ok()).ok_or_else(wrong)?;
        let day = item.s("SK").and_then(keys::parse_price_sort);
        let (vendor, from, import) = day.ok_or_else(wrong)?;
        let mut prices = ByRegion::new();
        if let Some(price) = price_in(item.attrs()) {
            prices.insert(None, price);
        }
        if let Some(Value::M(regions)) = item.get(REGIONS) {
            for (region, price) in regions.iter() {
                let Value::M(price) = price else { return Err(wrong()) };
                let price = price_in(price).ok_or_else(wrong)?;
                prices.insert(Some(region.as_str().into()), price);
            }
        }
        Ok(Edition { model, vendor, from, import, prices, expires_at_epoch: item.i64(TTL) })
    }
}

fn attributes(price: &Price) -> Vec<(&'static str, Value)> {
    let numbers = |all: [(&'static str, Option<u64>); 5]| {
        let present = all.into_iter().filter_map(|(name, value)| Some((name, value?.into())));
        present.collect::<Vec<(&'static str, Value)>>()
    };
    let mut all = numbers([
        (INPUT, Some(price.input)),
        (OUTPUT, Some(price.output)),
        (CACHE_READ, price.cache_read),
        (CACHE_WRITE, price.cache_write),
        (ABOVE, None),
    ]);
    if let Some(long) = &price.long_context {
        let long = numbers([
            (ABOVE, Some(long.above_input_tokens)),
            (INPUT, Some(long.input)),
            (OUTPUT, Some(long.output)),
            (CACHE_READ, long.cache_read),
            (CACHE_WRITE, long.cache_write),
        ]);
        all.push((LONG_CONTEXT, Value::map(long)));
    }
    all
}

fn number(attrs: &Attrs, name: &str) -> Option<u64> {
    u64::try_from(attrs.get(name)?.as_i64()?).ok()
}

fn price_in(attrs: &Attrs) -> Option<Price> {
    let long = match attrs.get(LONG_CONTEXT) {
        None => None,
        Some(Value::M(long)) => Some(LongContextPrice {
            above_input_tokens: number(long, ABOVE)?,
            input: number(long, INPUT)?,
            output: number(long, OUTPUT)?,
            cache_read: number(long, CACHE_READ),
            cache_write: number(long, CACHE_WRITE),
        }),
        Some(_) => return None,
    };
    Some(Price {
        input: number(attrs, INPUT)?,
        output: number(attrs, OUTPUT)?,
        cache_read: number(attrs, CACHE_READ),
        cache_write: number(attrs, CACHE_WRITE),
        long_context: long,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edition_round_trips() {
        let long = LongContextPrice {
            above_input_tokens: 200_000,
            input: 9,
            output: 8,
            cache_read: None,
            cache_write: Some(7),
        };
        let cached = Price { cache_read: Some(1), cache_write: Some(0), ..Price::new(3, 4) };
        let cached = Price { long_context: Some(long), ..cached };
        let edition = Edition {
            model: ModelId::new("amazon.nova-lite-v1:0").unwrap(),
            vendor: None,
            from: OrgDay::new(2026, 1, 23).unwrap(),
            import: None,
            prices: BTreeMap::from([(None, cached), (Some("eu-west-1".into()), Price::new(5, 6))]),
            expires_at_epoch: Some(1_769_436_000),
        };
        let item = edition.encode(&ModelCatalog::default(), 1_769_176_800_000);
        assert_eq!(Edition::decode(&item).unwrap(), edition);
        assert_eq!((item.s("model_label"), item.s("family")), (Some("economy"), Some("nova")));
        assert_eq!(item.i64("input_price_usd_micros_per_1m"), Some(3));
        let id = Some(EventId::new("01J").unwrap());
        let import = Edition { import: id, expires_at_epoch: None, ..edition };
        let item = import.encode(&ModelCatalog::default(), 0);
        assert_eq!(Edition::decode(&item).unwrap(), import);
        assert_eq!(item.s("SK"), Some("FROM#2026-01-23#01J"));
        let openai = Edition { vendor: Some(Vendor::new("openai").unwrap()), ..import };
        let item = openai.encode(&ModelCatalog::default(), 0);
        assert_eq!(Edition::decode(&item).unwrap(), openai);
        assert_eq!(item.s("SK"), Some("VENDOR#openai#FROM#2026-01-23#01J"));
        assert_eq!(item.s("model_label"), None, "the label is for the model of Bedrock");
    }

    #[test]
    fn an_edition_expires() {
        let edition = Edition {
            model: ModelId::new("m").unwrap(),
            vendor: None,
            from: OrgDay::new(2026, 1, 23).unwrap(),
            import: None,
            prices: ByRegion::new(),
            expires_at_epoch: Some(10),
        };
        assert_eq!((edition.is_unexpired(9_999), edition.is_unexpired(10_000)), (true, false));
    }
}
