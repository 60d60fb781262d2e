//! The live buckets of an entity, which store its parent and whether it cascades.

use weir_table::{Backend, Get, Item, Page, Query};

use crate::bounds::{CALL_PAGES_MAX, TRIES_MAX};
use crate::error::{Error, Result};
use crate::ids::EntityId;
use crate::item::{self, BucketId};
use crate::limiter::Namespace;
use crate::table::GSI3;
use crate::writes::{self, Cover};
use crate::{keys, namespaces, retry};

type CascadeSetting = (bool, Option<EntityId>);

impl<B: Backend> Namespace<B> {
    /// Copies an entity's parent and cascade flag to its live buckets. The index of buckets lags, so the propagation job does it
    /// once more. Returns how many buckets it wrote.
    ///
    /// # Errors
    /// The store fails, or others keep changing the entity or a bucket.
    pub(crate) async fn apply_cascade(&self, entity: &EntityId) -> Result<u64> {
        let mut written = 0;
        let mut cascade = self.cascade_of(entity).await?;
        for _ in 0..TRIES_MAX {
            written += self.write_cascade(entity, &cascade).await?;
            // The entity may have changed meanwhile, and this write may have replaced the newer value.
            let now = self.cascade_of(entity).await?;
            if now == cascade {
                self.limiter.inner.bucket_cache.invalidate(&self.id, entity, None);
                return Ok(written);
            }
            cascade = now;
        }
        Err(Error::Contended)
    }

    async fn write_cascade(&self, entity: &EntityId, cascade: &CascadeSetting) -> Result<u64> {
        let mut written = 0;
        let mut cursor = None;
        for _ in 0..CALL_PAGES_MAX {
            let page = self.bucket_keys(entity, cursor).await?;
            for item in &page.items {
                written += u64::from(self.write_cascade_to(item, cascade).await?);
            }
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(written)
    }

    async fn write_cascade_to(&self, found: &Item, cascade: &CascadeSetting) -> Result<bool> {
        let Some(key) = namespaces::key_of(found) else { return Ok(false) };
        let Some((ns, entity, resource, _)) = found.s("PK").and_then(keys::parse_bucket) else {
            return Ok(false);
        };
        let id = BucketId { ns, entity, resource };
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            let get = Get::new(self.limiter.table(), key.clone());
            let Some(item) = self.limiter.store().get(&get).await? else { return Ok(false) };
            let old = item::decode(&item).known(&id)?;
            if (old.cascade, &old.parent) == (cascade.0, &cascade.1) {
                return Ok(false);
            }
            let mut new = old.clone();
            (new.cascade, new.parent) = cascade.clone();
            let write = writes::change(self.limiter.table(), &id, &old, &new, Cover::NotRequired);
            if self.limiter.try_write(write).await? {
                return Ok(true);
            }
        }
        Err(Error::Contended)
    }

    /// Deletes the live buckets of an entity that the index shows.
    pub(super) async fn delete_buckets(&self, entity: &EntityId) -> Result<()> {
        let mut cursor = None;
        for _ in 0..CALL_PAGES_MAX {
            let page = self.bucket_keys(entity, cursor).await?;
            self.limiter.delete_items(&page.items).await?;
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(())
    }

    async fn bucket_keys(&self, entity: &EntityId, cursor: Option<String>) -> Result<Page> {
        let query =
            Query::partition(self.limiter.table(), keys::entity_partition(&self.id, entity))
                .index(GSI3)
                .begins_with(keys::BUCKET_PREFIX);
        Ok(self.limiter.store().query(&Query { cursor, ..query }).await?)
    }
}
