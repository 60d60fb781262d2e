//! Lists all prices of a day.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use compact_str::CompactString;
use weir_table::{Backend, Query};

use super::edition::Edition;
use super::{PriceRow, PriceSource, ResolvedPrice};
use crate::bounds::PRICE_PAGES_MAX;
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::ModelId;
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
    /// All prices in force on a UTC day, by model and region, except those of labels, which are in the catalog.
    ///
    /// # Errors
    /// The price table is too large to list, or the store fails.
    pub async fn list_prices(&self, on: OrgDay) -> Result<Vec<ListedPrice>> {
        let editions = self.editions(on).await?;
        let mut names: BTreeSet<(ModelId, Option<CompactString>)> = BTreeSet::new();
        for row in PriceRow::from_book(self.price_book()) {
            names.insert((row.model_id, row.region));
        }
        for edition in editions.values().flatten() {
            let regions = edition.prices.keys().cloned();
            names.extend(regions.map(|region| (edition.model.clone(), region)));
        }
        let listed = names.into_iter().filter_map(|(model_id, region)| {
            let of_model = editions.get(&model_id).map_or(&[][..], Vec::as_slice);
            let ResolvedPrice { price, source, version } =
                self.listed(of_model, &model_id, region.as_deref(), on)?;
            Some(ListedPrice { row: PriceRow { model_id, region, price }, source, version })
        });
        Ok(listed.collect())
    }

    fn listed(
        &self,
        editions: &[Edition],
        model: &ModelId,
        region: Option<&str>,
        on: OrgDay,
    ) -> Option<ResolvedPrice> {
        let stored =
            editions.iter().find_map(|edition| Some(edition.resolve(edition.price(region)?, on)));
        stored.or_else(|| super::resolve(self.price_book(), model, region, None))
    }

    /// The editions of each model in force on a day, in order of precedence.
    async fn editions(&self, on: OrgDay) -> Result<BTreeMap<ModelId, Vec<Edition>>> {
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
                if edition.from <= on
                    && edition.is_unexpired(now_ms)
                    && imports.is_in_force(&edition)
                {
                    models.entry(edition.model.clone()).or_default().push(edition);
                }
            }
            let Some(cursor) = page.cursor else {
                for editions in models.values_mut() {
                    let order =
                        |it: &Edition| Reverse((it.import.is_some(), it.from, it.import.clone()));
                    editions.sort_by_key(order);
                }
                return Ok(models);
            };
            query = query.after(cursor);
        }
        Err(Error::damaged("the table of prices", "it has too many items to list"))
    }
}
