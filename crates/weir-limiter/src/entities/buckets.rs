//! An entity's live buckets, which know whether and to whom it cascades.

use weir_table::{Backend, Get, Item, Page, Query};

use crate::bounds::{CALL_PAGES_MAX, TRIES_MAX};
use crate::error::{Error, Result};
use crate::ids::EntityId;
use crate::item::{self, BucketId};
use crate::limiter::Namespace;
use crate::table::GSI3;
use crate::writes::{self, Cover};
use crate::{keys, namespaces, retry};

type Family = (bool, Option<EntityId>);

impl<B: Backend> Namespace<B> {
    /// Carries an entity's parent and cascade to its live buckets. The index of buckets lags, so whoever follows the change feed
    /// does it once more. Returns how many it wrote.
    ///
    /// # Errors
    /// The store fails, or others change the entity or a bucket all the time.
    pub(crate) async fn apply_family(&self, entity: &EntityId) -> Result<u64> {
        let mut written = 0;
        let mut family = self.family(entity).await?;
        for _ in 0..TRIES_MAX {
            written += self.give_family(entity, &family).await?;
            // Somebody may have changed it meanwhile and been overtaken by what was just written.
            let now = self.family(entity).await?;
            if now == family {
                self.limiter.inner.known.forget(&self.id, entity, None);
                return Ok(written);
            }
            family = now;
        }
        Err(Error::Contended)
    }

    async fn give_family(&self, entity: &EntityId, family: &Family) -> Result<u64> {
        let mut written = 0;
        let mut cursor = None;
        for _ in 0..CALL_PAGES_MAX {
            let page = self.bucket_keys(entity, cursor).await?;
            for item in &page.items {
                written += u64::from(self.give_family_to(item, family).await?);
            }
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(written)
    }

    async fn give_family_to(&self, found: &Item, family: &Family) -> Result<bool> {
        let Some(key) = namespaces::key_of(found) else { return Ok(false) };
        let Some((ns, entity, resource, _)) = found.s("PK").and_then(keys::parse_bucket) else {
            return Ok(false);
        };
        let id = BucketId { ns, entity, resource };
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            let get = Get::new(self.limiter.table(), key.clone());
            let Some(item) = self.limiter.store().get(&get).await? else { return Ok(false) };
            let old = item::decode(&item);
            if (old.cascade, &old.parent) == (family.0, &family.1) {
                return Ok(false);
            }
            let mut new = old.clone();
            (new.cascade, new.parent) = family.clone();
            let write = writes::change(self.limiter.table(), &id, &old, &new, Cover::Unneeded);
            if self.limiter.try_write(write).await? {
                return Ok(true);
            }
        }
        Err(Error::Contended)
    }

    /// Removes the live buckets of an entity that the index shows.
    pub(super) async fn remove_buckets(&self, entity: &EntityId) -> Result<()> {
        let mut cursor = None;
        for _ in 0..CALL_PAGES_MAX {
            let page = self.bucket_keys(entity, cursor).await?;
            self.limiter.remove_items(&page.items).await?;
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
