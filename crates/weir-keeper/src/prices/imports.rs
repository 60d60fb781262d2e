//! Imports of prices, each of which takes effect as a whole.
//!
//! 1. An import is noted as open.
//! 2. Its prices are written, in as many parts as it takes. Nobody believes them: an edition counts while its import is closed.
//! 3. It is closed, by one write of one item. From then on all its prices count, and none before.
//!
//! That item lists all imports. A process reads it once a minute and remembers prices no longer than it believes the list, so it
//! goes over to new prices all at once. Removing an import takes it off the list first, and its prices after that.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_table::expr::attr;
use weir_table::limits::BATCH_WRITE_MAX;
use weir_table::{Backend, Get, Item, Query, Write};

use super::PriceRow;
use super::edition::{Edition, IMPORT};
use super::import::{Import, Imports, VERSION};
use super::write::by_model;
use crate::bounds::{IMPORT_OPEN_MS, IMPORTS_MAX, PRICE_BELIEVED_MS, PRICE_PAGES_MAX, TRIES_MAX};
use crate::day::{OrgDay, Zone};
use crate::error::{Error, Result};
use crate::ids::EventId;
use crate::keeper::Keeper;
use crate::keys;
use crate::part::as_in;
use crate::retry::pause;

impl<B: Backend> Keeper<B> {
    /// All imports, the newest first; open ones too.
    ///
    /// # Errors
    /// The store fails.
    pub async fn imports(&self) -> Result<Vec<Import>> {
        let (imports, _) = self.read_imports().await?;
        Ok(imports.known.into_values().rev().collect())
    }

    /// Imports prices that hold from a day of UTC on, until a later import, whatever is fetched. They hold for the models that
    /// they name, all at once; where an import before has the same model from the same day, this one counts.
    ///
    /// # Errors
    /// The day is past, a row cannot be meant or stands there twice, or the store fails: then nothing is imported.
    pub async fn import_prices(
        &self,
        rows: Vec<PriceRow>,
        from: OrgDay,
        by: &str,
    ) -> Result<Import> {
        by_model(rows.clone())?;
        let import = self.begin_import(from, by).await?;
        let added = self.add_to_import(&import.id, rows).await;
        if let Err(error) = added {
            // What was written has no effect; if it stays, a later import removes it.
            self.remove_import(&import.id).await.ok();
            return Err(error);
        }
        self.close_import(&import.id).await
    }

    /// Begins an import that comes in parts. It has no effect until it is closed, and is removed when that takes too long.
    ///
    /// # Errors
    /// The day is past, there are too many imports, or the store fails.
    pub async fn begin_import(&self, from: OrgDay, by: &str) -> Result<Import> {
        let now_ms = self.now_ms();
        let today = Zone::utc().day_of(now_ms);
        if from < today {
            let problem = format!("{from} is past; prices can change from {today} on");
            return Err(Error::invalid("from", problem));
        }
        self.remove_stale(now_ms).await?;
        let import = Import {
            id: EventId::new(self.inner.event_ids.next(now_ms))?,
            from,
            models: 0,
            by: by.to_owned(),
            at_epoch: now_ms.div_euclid(1000),
            is_open: true,
        };
        let added = import.clone();
        self.change_imports(|known| {
            if known.len() >= IMPORTS_MAX {
                let problem =
                    format!("are {IMPORTS_MAX} already; remove some that no longer count");
                return Err(Error::invalid("imports", problem));
            }
            known.insert(added.id.clone(), added.clone());
            Ok(())
        })
        .await?;
        Ok(import)
    }

    /// Adds prices to an import that is open. All prices of a model stand in one part.
    ///
    /// # Errors
    /// There is no such import, a row cannot be meant or stands there twice, or the store fails.
    pub async fn add_to_import(&self, id: &EventId, rows: Vec<PriceRow>) -> Result<Import> {
        let models = by_model(rows)?;
        let (imports, _) = self.read_imports().await?;
        let import = open(&imports.known, id)?;
        let edition = |(model, prices)| Edition {
            model,
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

    /// Closes an import: from now on all its prices count.
    ///
    /// # Errors
    /// There is no such import that is open, or the store fails.
    pub async fn close_import(&self, id: &EventId) -> Result<Import> {
        let closed = self.change_import(id, |import| import.is_open = false).await;
        self.inner.prices.forget();
        closed
    }

    /// Removes an import: what held before it holds again.
    ///
    /// # Errors
    /// There is no such import, or the store fails: then it may still have an effect, all or none of it.
    pub async fn remove_import(&self, id: &EventId) -> Result<()> {
        let removed = self.change_imports(|known| {
            known.remove(id).map(drop).ok_or_else(|| Error::not_found("import", id.as_str()))
        });
        let removed = removed.await;
        self.inner.prices.forget();
        removed?;
        self.remove_editions(id).await
    }

    /// What is known of imports, and not too old. Prices that were remembered by an older list are forgotten.
    pub(super) async fn known_imports(&self, now_ms: i64) -> Result<Arc<Imports>> {
        let prices = &self.inner.prices;
        let before = prices.imports();
        if let Some(known) = &before
            && now_ms.abs_diff(known.read_ms) < PRICE_BELIEVED_MS.unsigned_abs()
        {
            return Ok(Arc::clone(known));
        }
        let epoch = prices.epoch();
        let (imports, _) = self.read_imports().await?;
        let imports = Arc::new(Imports { read_ms: now_ms, ..imports });
        if before.is_some_and(|before| before.version != imports.version) {
            prices.forget();
        } else {
            prices.keep_imports(&imports, epoch);
        }
        Ok(imports)
    }

    async fn read_imports(&self) -> Result<(Imports, Item)> {
        let get = Get::new(self.tables().pricing_cache.clone(), keys::imports());
        let item = self.store().get(&get).await?.unwrap_or_default();
        Ok((Imports::decode(&item)?, item))
    }

    async fn change_import(&self, id: &EventId, change: impl Fn(&mut Import)) -> Result<Import> {
        self.change_imports(|known| {
            let mut import = open(known, id)?;
            change(&mut import);
            known.insert(id.clone(), import.clone());
            Ok(import)
        })
        .await
    }

    /// Changes the list of imports, in one write.
    async fn change_imports<T>(
        &self,
        change: impl Fn(&mut BTreeMap<EventId, Import>) -> Result<T>,
    ) -> Result<T> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let (mut imports, old) = self.read_imports().await?;
            let changed = change(&mut imports.known)?;
            imports.version += 1;
            let write = Write::put(self.tables().pricing_cache.clone(), imports.encode());
            if self.commit(vec![write.when(as_in(&old, VERSION))]).await? {
                return Ok(changed);
            }
        }
        Err(Error::Contended)
    }

    /// Removes imports that were begun long ago and never closed.
    async fn remove_stale(&self, now_ms: i64) -> Result<()> {
        let oldest = now_ms.saturating_sub(IMPORT_OPEN_MS).div_euclid(1000);
        for import in self.imports().await? {
            if import.is_open && import.at_epoch < oldest {
                match self.remove_import(&import.id).await {
                    Err(Error::NotFound { .. }) | Ok(()) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Removes the prices of an import that is on the list no more.
    async fn remove_editions(&self, id: &EventId) -> Result<()> {
        let table = &self.tables().pricing_cache;
        let mut query =
            Query::scan(table.clone()).filter(attr(IMPORT).eq(id.as_str())).project(["PK", "SK"]);
        for _ in 0..PRICE_PAGES_MAX {
            let page = self.store().query(&query).await?;
            let keys: Vec<_> = page.items.iter().filter_map(keys::of_item).collect();
            for some in keys.chunks(BATCH_WRITE_MAX) {
                let deletes = some.iter().map(|key| Write::delete(table.clone(), key.clone()));
                self.store().batch_write(deletes.collect()).await?;
            }
            let Some(cursor) = page.cursor else { return Ok(()) };
            query = query.after(cursor);
        }
        Err(Error::damaged("the table of prices", "it is too large"))
    }
}

fn open(known: &BTreeMap<EventId, Import>, id: &EventId) -> Result<Import> {
    let import = known.get(id).filter(|import| import.is_open);
    import.cloned().ok_or_else(|| Error::not_found("open import", id.as_str()))
}
