//! All prices of a day.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use compact_str::CompactString;
use serde::Serialize;
use weir_table::{Backend, Query};

use super::edition::Edition;
use super::{PriceRow, PriceSource, Priced};
use crate::bounds::PRICE_PAGES_MAX;
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::ModelId;
use crate::keeper::Keeper;
use crate::keys;

/// A price that holds on a day, and how it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedPrice {
    /// The price.
    #[serde(flatten)]
    pub row: PriceRow,
    /// Where it comes from.
    pub source: PriceSource,
    /// Which edition of that.
    pub version: String,
}

impl<B: Backend> Keeper<B> {
    /// All prices that hold on a day of UTC, by model and region; those of labels are in the catalogue.
    ///
    /// # Errors
    /// The table of prices is too large to be listed, or the store fails.
    pub async fn prices(&self, on: OrgDay) -> Result<Vec<ListedPrice>> {
        let editions = self.editions(on).await?;
        let mut wanted: BTreeSet<(ModelId, Option<CompactString>)> = BTreeSet::new();
        for row in PriceRow::of_book(self.book()) {
            wanted.insert((row.model_id, row.region));
        }
        for edition in editions.values().flatten() {
            let regions = edition.prices.keys().cloned();
            wanted.extend(regions.map(|region| (edition.model.clone(), region)));
        }
        let listed = wanted.into_iter().filter_map(|(model_id, region)| {
            let of_model = editions.get(&model_id).map_or(&[][..], Vec::as_slice);
            let Priced { price, source, version } =
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
    ) -> Option<Priced> {
        let stored =
            editions.iter().find_map(|edition| Some(edition.priced(edition.price(region)?, on)));
        stored.or_else(|| super::resolve(None, self.book(), model, region, None))
    }

    /// The editions of each model that hold on a day, the first to be believed first.
    async fn editions(&self, on: OrgDay) -> Result<BTreeMap<ModelId, Vec<Edition>>> {
        let now_ms = self.now_ms();
        let imports = self.known_imports(now_ms).await?;
        let mut models: BTreeMap<ModelId, Vec<Edition>> = BTreeMap::new();
        let mut query = Query::scan(self.tables().pricing_cache.clone());
        for _ in 0..PRICE_PAGES_MAX {
            let page = self.store().query(&query).await?;
            for item in &page.items {
                if keys::of_item(item) == Some(keys::imports()) {
                    continue;
                }
                let edition = Edition::decode(item)?;
                if edition.from <= on && edition.is_kept(now_ms) && imports.has(&edition) {
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
        Err(Error::damaged("the table of prices", "it is too large to be listed"))
    }
}
