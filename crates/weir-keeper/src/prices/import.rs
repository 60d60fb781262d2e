//! Price imports, each of which takes effect atomically.
//!
//! 1. An import is added to the list of imports as open.
//! 2. Its prices are written, in any number of parts. They have no effect yet: an edition is in force only while its
//!    import is closed.
//! 3. One write of one item closes it. From then on all its prices are in force.
//!
//! That item lists all imports. A process reads it once a minute and caches prices no longer than the list, so it
//! switches to new prices all at once. Removing an import deletes it from the list first, and its prices after.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_calendar::Zone;
use weir_table::expr::attr;
use weir_table::limits::BATCH_WRITE_MAX;
use weir_table::{Backend, Get, Item, Query, Write};

use super::PriceRow;
use super::edition::{Edition, IMPORT};
use super::import_list::{ImportList, PriceImport, VERSION};
use super::refresh::by_model;
use super::vendors::{ambiguous, choose_vendor};
use crate::bounds::{IMPORT_OPEN_MS, IMPORTS_MAX, PRICE_PAGES_MAX, PRICE_TTL_MS, TRIES_MAX};
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::EventId;
use crate::item_diff::unchanged_since;
use crate::keeper::Keeper;
use crate::keys;
use crate::retry::pause;

impl<B: Backend> Keeper<B> {
    /// All imports, the newest first; open ones too.
    ///
    /// # Errors
    /// The store fails.
    pub async fn list_imports(&self) -> Result<Vec<PriceImport>> {
        let (imports, _) = self.read_imports().await?;
        Ok(imports.entries.into_values().rev().collect())
    }

    /// Imports prices that are in force from a UTC day until a later import, and take precedence over fetched ones.
    /// They take effect for all named models at once, and replace an earlier import for the same model and day.
    ///
    /// # Errors
    /// The day is past, a row is invalid or duplicate, or the store fails: then nothing is imported.
    pub async fn import_prices(
        &self,
        rows: Vec<PriceRow>,
        from: OrgDay,
        actor: &str,
    ) -> Result<PriceImport> {
        by_model(self.with_vendors(rows.clone())?)?;
        let import = self.begin_import(from, actor).await?;
        let added = self.add_to_import(&import.id, rows).await;
        if let Err(error) = added {
            // The written prices have no effect; if they remain, a later import removes them.
            self.remove_import(&import.id).await.ok();
            return Err(error);
        }
        self.close_import(&import.id).await
    }

    /// Begins an import in several parts. It has no effect until it is closed, and is removed if that takes too long.
    ///
    /// # Errors
    /// The day is past, there are too many imports, or the store fails.
    pub async fn begin_import(&self, from: OrgDay, actor: &str) -> Result<PriceImport> {
        let now_ms = self.now_ms();
        let today = Zone::utc().day_of(now_ms);
        if from < today {
            let problem = format!("{from} is in the past; imports take effect from {today} on");
            return Err(Error::invalid("from", problem));
        }
        self.remove_stale(now_ms).await?;
        let import = PriceImport {
            id: EventId::new(self.inner.event_ids.next(now_ms))?,
            from,
            models: 0,
            actor: actor.to_owned(),
            at_epoch: now_ms.div_euclid(1000),
            is_open: true,
        };
        let added = import.clone();
        self.change_imports(|imports| {
            if imports.len() >= IMPORTS_MAX {
                let problem = format!("has {IMPORTS_MAX} entries already; remove superseded ones");
                return Err(Error::invalid("imports", problem));
            }
            imports.insert(added.id.clone(), added.clone());
            Ok(())
        })
        .await?;
        Ok(import)
    }

    /// Adds prices to an open import. All prices of a model must be in one part.
    ///
    /// # Errors
    /// The import does not exist, a row is invalid or duplicate, or the store fails.
    pub async fn add_to_import(&self, id: &EventId, rows: Vec<PriceRow>) -> Result<PriceImport> {
        let models = by_model(self.with_vendors(rows)?)?;
        let (imports, _) = self.read_imports().await?;
        let import = open_import(&imports.entries, id)?;
        let edition = |((model, vendor), prices)| Edition {
            model,
            vendor,
            from: import.from,
            import: Some(id.clone()),
            prices,
            expires_at_epoch: None,
        };
        let editions: Vec<Edition> = models.into_iter().map(edition).collect();
        let more = editions.len() as u64;
        self.write_editions(&editions).await?;
        self.change_import(id, |import| import.models = import.models.saturating_add(more)).await
    }

    /// The rows, each with the vendor whose price it replaces: the only one that the price book has for the model, where
    /// the row names none.
    fn with_vendors(&self, rows: Vec<PriceRow>) -> Result<Vec<PriceRow>> {
        let row = |row: PriceRow| {
            let priced = self.price_book().vendors(row.model_id.as_str());
            let vendor = choose_vendor(row.vendor.as_ref(), None, &priced);
            let vendor = vendor.map_err(|all| ambiguous("prices", &row.model_id, &all))?;
            Ok(PriceRow { vendor, ..row })
        };
        rows.into_iter().map(row).collect()
    }

    /// Closes an import: all its prices are in force now.
    ///
    /// # Errors
    /// There is no such open import, or the store fails.
    pub async fn close_import(&self, id: &EventId) -> Result<PriceImport> {
        let closed = self.change_import(id, |import| import.is_open = false).await;
        self.inner.prices.invalidate();
        closed
    }

    /// Removes an import: the prices before it are in force again.
    ///
    /// # Errors
    /// The import does not exist, or the store fails: then either all or none of it is still in force.
    pub async fn remove_import(&self, id: &EventId) -> Result<()> {
        let removed = self.change_imports(|imports| {
            imports.remove(id).map(drop).ok_or_else(|| Error::not_found("import", id.as_str()))
        });
        let removed = removed.await;
        self.inner.prices.invalidate();
        removed?;
        self.remove_editions(id).await
    }

    /// The list of imports, cached. Prices cached by an older list are dropped.
    pub(super) async fn cached_imports(&self, now_ms: i64) -> Result<Arc<ImportList>> {
        let prices = &self.inner.prices;
        let before = prices.imports();
        if let Some(cached) = &before
            && now_ms.abs_diff(cached.read_ms) < PRICE_TTL_MS.unsigned_abs()
        {
            return Ok(Arc::clone(cached));
        }
        let epoch = prices.epoch();
        let (imports, _) = self.read_imports().await?;
        let imports = Arc::new(ImportList { read_ms: now_ms, ..imports });
        if before.is_some_and(|before| before.version != imports.version) {
            prices.invalidate();
        } else {
            prices.insert_imports(&imports, epoch);
        }
        Ok(imports)
    }

    async fn read_imports(&self) -> Result<(ImportList, Item)> {
        let get = Get::new(self.tables().pricing_cache.clone(), keys::imports());
        let item = self.store().get(&get).await?.unwrap_or_default();
        Ok((ImportList::decode(&item)?, item))
    }

    async fn change_import(
        &self,
        id: &EventId,
        change: impl Fn(&mut PriceImport),
    ) -> Result<PriceImport> {
        self.change_imports(|imports| {
            let mut import = open_import(imports, id)?;
            change(&mut import);
            imports.insert(id.clone(), import.clone());
            Ok(import)
        })
        .await
    }

    /// Changes the list of imports in one conditional write.
    async fn change_imports<T>(
        &self,
        change: impl Fn(&mut BTreeMap<EventId, PriceImport>) -> Result<T>,
    ) -> Result<T> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let (mut imports, old) = self.read_imports().await?;
            let count = imports.entries.len();
            let changed = change(&mut imports.entries)?;
            imports.version += 1;
            let write = Write::put(self.tables().pricing_cache.clone(), imports.encode());
            let is_removal = imports.entries.len() < count;
            let write = if is_removal { write.essential() } else { write };
            if self.commit(vec![write.when(unchanged_since(&old, VERSION))]).await? {
                return Ok(changed);
            }
        }
        Err(Error::Contended)
    }

    /// Removes imports that were begun long ago and never closed.
    async fn remove_stale(&self, now_ms: i64) -> Result<()> {
        let oldest = now_ms.saturating_sub(IMPORT_OPEN_MS).div_euclid(1000);
        for import in self.list_imports().await? {
            if import.is_open && import.at_epoch < oldest {
                match self.remove_import(&import.id).await {
                    Err(Error::NotFound { .. }) | Ok(()) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Deletes the prices of an import that is no longer listed.
    async fn remove_editions(&self, id: &EventId) -> Result<()> {
        let table = &self.tables().pricing_cache;
        let mut query =
            Query::scan(table.clone()).filter(attr(IMPORT).eq(id.as_str())).project(["PK", "SK"]);
        for _ in 0..PRICE_PAGES_MAX {
            let page = self.store().query(&query).await?;
            let keys: Vec<_> = page.items.iter().filter_map(keys::item_key).collect();
            for batch in keys.chunks(BATCH_WRITE_MAX) {
                let deletes = batch.iter().map(|key| Write::delete(table.clone(), key.clone()));
                self.store().batch_write(deletes.collect()).await?;
            }
            let Some(cursor) = page.cursor else { return Ok(()) };
            query = query.after(cursor);
        }
        Err(Error::damaged("the table of prices", "it has too many items"))
    }
}

fn open_import(imports: &BTreeMap<EventId, PriceImport>, id: &EventId) -> Result<PriceImport> {
    let import = imports.get(id).filter(|import| import.is_open);
    import.cloned().ok_or_else(|| Error::not_found("open import", id.as_str()))
}
