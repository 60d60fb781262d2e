//! Lists all prices of a day.

use std::collections::{BTreeMap, BTreeSet};

use compact_str::CompactString;
use weir_table::{Backend, Query};

use super::edition::Edition;
use super::lookup::{EditionsInForce, PriceQuery, find};
use super::{PriceRow, PriceSource};
use crate::bounds::PRICE_PAGES_MAX;
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{ModelId, Vendor};
use crate::keeper::Keeper;
use crate::keys;

/// A price in force on a day, with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPrice {
    /// The price.
    pub row: PriceRow,
    /// Source of the price.
    pub source: PriceSource,
    /// Edition of the price: its date.
    pub version: String,
}

impl<B: Backend> Keeper<B> {
    /// All prices in force on a UTC day, by model, vendor and region, except those of labels, which are in the catalog. Each is
    /// the one that a submission of that model in that region is counted at.
    ///
    /// # Errors
    /// The price table is too large to list, or the store fails.
    pub async fn list_prices(&self, on: OrgDay) -> Result<Vec<ListedPrice>> {
        let editions = self.editions(on).await?;
        let mut keys: BTreeSet<(ModelId, Vendor, Option<CompactString>)> = BTreeSet::new();
        let bedrock = Vendor::bedrock();
        for row in PriceRow::from_book(self.price_book()) {
            let vendor = row.vendor.unwrap_or_else(|| bedrock.clone());
            keys.insert((row.model_id, vendor, row.region));
        }
        for edition in editions.values().flat_map(EditionsInForce::iter) {
            let vendor = edition.vendor.as_ref().unwrap_or(&bedrock);
            let regions = edition.prices.keys().cloned();
            keys.extend(regions.map(|region| (edition.model.clone(), vendor.clone(), region)));
        }
        let of = |name: &str| editions.get(name);
        let listed = keys.into_iter().filter_map(|(model_id, vendor, region)| {
            let (given, here) = (Some(&vendor), region.as_deref());
            let query = PriceQuery { vendor: given, region: here, ..PriceQuery::new(&model_id) };
            let found = find(&query, on, self.price_book(), of).ok().flatten()?;
            let row = PriceRow { model_id, vendor: vendor.listed(), region, price: found.price };
            Some(ListedPrice { row, source: found.source, version: found.version })
        });
        Ok(listed.collect())
    }

    /// The editions of each model in force on a day.
    async fn editions(&self, on: OrgDay) -> Result<BTreeMap<ModelId, EditionsInForce>> {
        let now_ms = self.now_ms();
        let imports = self.cached_imports(now_ms).await?;
        let mut models: BTreeMap<ModelId, Vec<Edition>> = BTreeMap::new();
        let mut query = Query::scan(self.tables().pricing_cache.clone());
        for _ in 0..PRICE_PAGES_MAX {
            let page = self.store().query(&query).await?;
            for item in &page.items {
                if keys::item_key(item) == Some(keys::imports()) {
                    continue;
                }
                let edition = Edition::decode(item)?;
                models.entry(edition.model.clone()).or_default().push(edition);
            }
            let Some(cursor) = page.cursor else {
                let in_force = |(model, editions)| {
                    (model, EditionsInForce::new(editions, &imports, (on, now_ms)))
                };
                return Ok(models.into_iter().map(in_force).collect());
            };
            query = query.after(cursor);
        }
        Err(Error::damaged("the table of prices", "it has too many items to list"))
    }
}
