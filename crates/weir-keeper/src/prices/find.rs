//! What a model costs, at a moment.

use std::sync::Arc;

use weir_table::{Backend, Query};

use super::cache::{Of, Said};
use super::edition::Edition;
use super::import::Imports;
use super::name::names;
use super::{PriceSource, Priced};
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
    /// What a model costs in a region at a moment: as imported, else as fetched last, else by the price book, else by its
    /// label. Nothing when nobody knows. The store is asked once a minute for each model and region.
    ///
    /// # Errors
    /// The store fails.
    pub async fn price(
        &self,
        model: &ModelId,
        label: Option<&Label>,
        region: Option<&str>,
        at_ms: i64,
    ) -> Result<Option<Arc<Priced>>> {
        let prices = &self.inner.prices;
        let (of, now_ms) = (Of { model, region, day: at_ms.div_euclid(DAY_MS) }, self.now_ms());
        let said = match prices.fresh(of, now_ms) {
            Some(said) => said,
            None => {
                // Before the imports are looked at, so that no price of an older list is kept.
                let epoch = prices.epoch();
                let imports = self.known_imports(now_ms).await?;
                let said = self.read_price(model, region, (at_ms, now_ms), &imports).await?;
                prices.keep(of, said.clone(), imports.read_ms, epoch);
                said
            }
        };
        Ok(said.or_else(|| prices.of_label(label?)))
    }

    async fn read_price(
        &self,
        model: &ModelId,
        region: Option<&str>,
        (at_ms, now_ms): (i64, i64),
        imports: &Imports,
    ) -> Result<Said> {
        let on = Zone::utc().day_of(at_ms);
        let (names, arn_region) = names(model.as_str());
        let here = region.or(arn_region);
        for is_import in [true, false] {
            for name in &names {
                let editions = self.editions_of(name, is_import, on).await?;
                let mut counting = editions
                    .iter()
                    .filter(|edition| edition.is_kept(now_ms) && imports.has(edition));
                let found = counting.find_map(|it| Some(it.priced(it.price(here)?, on)));
                if let Some(priced) = found {
                    return Ok(Some(Arc::new(priced)));
                }
            }
        }
        let from_book = self.book().find(model, region).map(|found| Priced {
            price: found.price,
            source: PriceSource::PriceBook,
            version: self.book().as_of().to_owned(),
        });
        Ok(from_book.map(Arc::new))
    }

    /// The editions of a model that are not after a day, the latest first.
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
