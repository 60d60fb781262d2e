//! Writes fetched prices, which are in force at once.

use std::collections::BTreeMap;

use compact_str::CompactString;
use serde::{Deserialize, Serialize};
use weir_calendar::Zone;
use weir_table::limits::BATCH_WRITE_MAX;
use weir_table::{Backend, Write};

use super::PriceBook;
use super::edition::{ByRegion, Edition};
use crate::bounds::{BOOK_ENTRIES_MAX, LABEL_MAX, PRICE_RETENTION_DAYS};
use crate::error::{Error, Result};
use crate::ids::{ModelId, Vendor, shown};
use crate::keeper::Keeper;
use crate::money::Price;

const DAY_SECS: i64 = 86_400;

/// The price of a model in a region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceRow {
    /// The model.
    #[serde(alias = "bedrock_model_id")]
    pub model_id: ModelId,
    /// The vendor; `None` for Bedrock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<Vendor>,
    /// The region; `None` for all regions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<CompactString>,
    /// The price.
    #[serde(flatten)]
    pub price: Price,
}

impl PriceRow {
    /// Whether the vendor or the model contains this text, in upper or lower case: `openai/gpt-5` has both.
    #[must_use]
    pub fn matches(&self, part: &str) -> bool {
        let bedrock = Vendor::bedrock();
        let vendor = self.vendor.as_ref().unwrap_or(&bedrock);
        let name = format!("{vendor}/{}", self.model_id).to_ascii_lowercase();
        name.contains(&part.to_ascii_lowercase())
    }

    /// All prices of a book.
    #[must_use]
    pub fn from_book(book: &PriceBook) -> Vec<PriceRow> {
        let rows = book.list().into_iter().filter_map(|found| {
            let region = found.region.map(CompactString::from);
            let (vendor, price) = (found.vendor.cloned(), found.price);
            Some(PriceRow { model_id: ModelId::new(found.model).ok()?, vendor, region, price })
        });
        rows.collect()
    }
}

impl<B: Backend> Keeper<B> {
    /// Makes the prices of a file, in the format of the price book, those of today. Returns the number of models.
    ///
    /// # Errors
    /// The file is invalid: all prices stay as they are. Or the store fails: then some may be new.
    pub async fn refresh_prices(&self, file: &[u8]) -> Result<usize> {
        let now_ms = self.now_ms();
        let text = std::str::from_utf8(file)
            .map_err(|_| Error::damaged("the price file", "it is not UTF-8"))?;
        let book = PriceBook::parse(text)?;
        let from = Zone::utc().day_of(now_ms);
        let until = now_ms.div_euclid(1000).saturating_add(PRICE_RETENTION_DAYS * DAY_SECS);
        let models = by_model(PriceRow::from_book(&book))?.into_iter();
        let editions = models.map(|((model, vendor), prices)| Edition {
            model,
            vendor,
            from,
            import: None,
            prices,
            expires_at_epoch: Some(until),
        });
        let editions: Vec<Edition> = editions.collect();
        let written = self.write_editions(&editions).await;
        self.inner.prices.invalidate();
        written?;
        Ok(editions.len())
    }

    pub(super) async fn write_editions(&self, editions: &[Edition]) -> Result<()> {
        let (table, now_ms) = (&self.tables().pricing_cache, self.now_ms());
        for batch in editions.chunks(BATCH_WRITE_MAX) {
            let write = |edition: &Edition| {
                Write::put(table.clone(), edition.encode(self.catalog(), now_ms))
            };
            self.store().batch_write(batch.iter().map(write).collect()).await?;
        }
        Ok(())
    }
}

/// Prices by model and vendor.
pub(super) type ByModel = BTreeMap<(ModelId, Option<Vendor>), ByRegion>;

pub(super) fn by_model(rows: Vec<PriceRow>) -> Result<ByModel> {
    if rows.len() > BOOK_ENTRIES_MAX {
        return Err(Error::invalid("prices", format!("has more than {BOOK_ENTRIES_MAX} entries")));
    }
    let mut models = ByModel::new();
    for row in rows {
        row.price
            .check()
            .map_err(|error| Error::invalid("prices", format!("{}: {error}", row.model_id)))?;
        if let Some(region) = row.region.as_deref().filter(|region| !is_region(region)) {
            let problem = format!("{}: {} is not a region", row.model_id, shown(region));
            return Err(Error::invalid("prices", problem));
        }
        let vendor = row.vendor.and_then(Vendor::listed);
        let regions = models.entry((row.model_id.clone(), vendor)).or_default();
        if regions.insert(row.region, row.price).is_some() {
            return Err(Error::invalid("prices", format!("{} occurs twice", row.model_id)));
        }
    }
    Ok(models)
}

fn is_region(text: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    (1..=LABEL_MAX).contains(&text.len()) && text.bytes().all(is_part)
}
