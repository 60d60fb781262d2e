//! Looks up the price of a model at a time.

use std::sync::Arc;

use weir_table::{Backend, Query};

use super::cache::{CachedPrice, PriceKey};
use super::edition::Edition;
use super::import_list::ImportList;
use super::model_names::names;
use super::{ResolvedPrice, resolve};
use crate::bounds::PRICE_EDITIONS_MAX;
use crate::day::{OrgDay, Zone};
use crate::error::Result;
use crate::ids::{Label, ModelId};
use crate::keeper::Keeper;
use crate::keys;

const DAY_MS: i64 = 86_400_000;
/// Sorts before every day.
const BEFORE_ALL_DAYS: &str = "0";

impl<B: Backend> Keeper<B> {
    /// The price of a model in a region at a time: the imported one, else the one last fetched, else the price book's,
    /// else the label's; `None` when unknown. The store is read once a minute per model and region.
    ///
    /// # Errors
    /// The store fails.
    pub async fn price(
        &self,
        model: &ModelId,
        label: Option<&Label>,
        region: Option<&str>,
        at_ms: i64,
    ) -> Result<Option<Arc<ResolvedPrice>>> {
        let prices = &self.inner.prices;
        let now_ms = self.now_ms();
        let key = PriceKey { model, region, day: at_ms.div_euclid(DAY_MS) };
        let price = match prices.get(key, now_ms) {
            Some(cached) => cached,
            None => {
                // Read before the imports, so that no price of an older list is cached.
                let epoch = prices.epoch();
                let imports = self.cached_imports(now_ms).await?;
                let price = self.read_price(model, region, (at_ms, now_ms), &imports).await?;
                prices.insert(key, price.clone(), imports.read_ms, epoch);
                price
            }
        };
        Ok(price.or_else(|| prices.label_price(label?)))
    }

    async fn read_price(
        &self,
        model: &ModelId,
        region: Option<&str>,
        (at_ms, now_ms): (i64, i64),
        imports: &ImportList,
    ) -> Result<CachedPrice> {
        let on = Zone::utc().day_of(at_ms);
        let (names, arn_region) = names(model.as_str());
        let here = region.or(arn_region);
        for is_import in [true, false] {
            for name in &names {
                let editions = self.editions_of(name, is_import, on).await?;
                let mut in_force = editions
                    .iter()
                    .filter(|edition| edition.is_unexpired(now_ms) && imports.is_in_force(edition));
                let found = in_force.find_map(|it| Some(it.resolve(it.price(here)?, on)));
                if let Some(priced) = found {
                    return Ok(Some(Arc::new(priced)));
                }
            }
        }
        Ok(resolve(self.price_book(), model, region, None).map(Arc::new))
    }

    /// The editions of a model up to a day, the latest first.
    async fn editions_of(&self, name: &str, is_import: bool, on: OrgDay) -> Result<Vec<Edition>> {
        let (first, last) = if is_import {
            (keys::IMPORT_PREFIX.to_owned(), keys::imports_until(on))
        } else {
            (BEFORE_ALL_DAYS.to_owned(), on.to_string())
        };
        let query = Query::partition(self.tables().pricing_cache.clone(), name)
            .between(first, last)
            .reverse()
            .limit(PRICE_EDITIONS_MAX);
        self.store().query(&query).await?.items.iter().map(Edition::decode).collect()
    }
}
