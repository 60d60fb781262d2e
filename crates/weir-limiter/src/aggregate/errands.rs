//! Works errands off.

use std::collections::BTreeSet;

use weir_table::{Backend, Get, Key, Query, SortRange};

use super::errand::{self, Errand, Whose};
use crate::error::Result;
use crate::ids::{EntityId, Resource};
use crate::keys;
use crate::limiter::{Limiter, Namespace};
use crate::table::{GSI2, GSI3};

/// Errands that are looked at in one step at most.
const ERRANDS_MAX: u32 = 100;
/// Pages of buckets in one step at most, of all errands together.
const PAGES_MAX: u32 = 50;
/// Pages of an entity's buckets at most: a page has thousands.
const ENTITY_PAGES_MAX: u32 = 20;

/// What a step may still do.
struct Budget {
    pages: u32,
}

impl<B: Backend> Limiter<B> {
    /// Brings live buckets to what holds, for errands that are due. Returns how many buckets were written, and whether there is
    /// more to do at once. An errand that fails leaves the others their turn; the first fault is told at the end.
    ///
    /// # Errors
    /// The store fails.
    pub async fn run_errands(&self) -> Result<(u64, bool)> {
        let due = SortRange::Le(keys::gsi2_errand_before(self.now_ms()).into());
        let query = Query::partition(self.table(), keys::gsi2_errands()).index(GSI2);
        let page = self.store().query(&query.sort(due).limit(ERRANDS_MAX)).await?;
        let mut budget = Budget { pages: PAGES_MAX };
        let (mut written, mut fault) = (0, None);
        for item in &page.items {
            let (Some(pk), Some(sk)) = (item.s("PK"), item.s("SK")) else { continue };
            match self.run_errand(Key::new(pk, sk), &mut budget).await {
                Ok(count) => written += count,
                Err(error) => fault = fault.or(Some(error)),
            }
            if budget.pages == 0 {
                break;
            }
        }
        match fault {
            Some(error) => Err(error),
            None => Ok((written, budget.pages == 0 || page.cursor.is_some())),
        }
    }

    /// Notes that all buckets of all namespaces are to be brought to what holds: what to do when changes were missed.
    /// Returns the number of namespaces of this page, and where to go on.
    ///
    /// # Errors
    /// The store fails.
    pub async fn errands_for_all(&self, cursor: Option<String>) -> Result<(u64, Option<String>)> {
        const PAGE: u32 = 100;
        let (namespaces, cursor) = self.namespaces(PAGE, cursor).await?;
        let now_ms = self.now_ms();
        for namespace in &namespaces {
            self.try_write(errand::write(self.table(), &namespace.id, &Whose::All, now_ms)).await?;
        }
        Ok((namespaces.len() as u64, cursor))
    }

    async fn run_errand(&self, key: Key, budget: &mut Budget) -> Result<u64> {
        // The index may be behind.
        let found = self.store().get(&Get::new(self.table(), key)).await?;
        let Some(mut errand) = found.as_ref().and_then(Errand::decode) else { return Ok(0) };
        let ns = self.namespace_of(&errand.ns);
        let mut written = 0;
        while budget.pages > 0 {
            budget.pages -= 1;
            let (count, cursor) = ns.reach(&errand.whose, errand.cursor.take()).await?;
            written += count;
            let Some(cursor) = cursor else {
                self.try_write(errand.ends(self.table())).await?;
                return Ok(written);
            };
            if !self.try_write(errand.goes_on(self.table(), &cursor)).await? {
                // It begins anew, at the next step.
                return Ok(written);
            }
            errand.cursor = Some(cursor);
        }
        Ok(written)
    }
}

impl<B: Backend> Namespace<B> {
    /// Brings buckets to what holds, a page of them. Returns how many were written, and where to go on.
    async fn reach(&self, whose: &Whose, cursor: Option<String>) -> Result<(u64, Option<String>)> {
        match whose {
            Whose::All => self.apply_limits_to_all(cursor).await,
            Whose::Resource(resource) => self.apply_limits_to_resource(resource, cursor).await,
            Whose::Entity(entity) => Ok((self.reach_entity(entity).await?, None)),
        }
    }

    async fn reach_entity(&self, entity: &EntityId) -> Result<u64> {
        let mut written = self.apply_family(entity).await?;
        for resource in self.resources_in_use(entity).await? {
            written += self.apply_limits(entity, &resource).await?;
        }
        Ok(written)
    }

    /// The resources that an entity has buckets of.
    async fn resources_in_use(&self, entity: &EntityId) -> Result<BTreeSet<Resource>> {
        let partition = keys::entity_partition(&self.id, entity);
        let query = Query::partition(self.limiter.table(), partition).index(GSI3);
        let mut query = query.begins_with(keys::BUCKET_PREFIX);
        let mut found = BTreeSet::new();
        for _ in 0..ENTITY_PAGES_MAX {
            let page = self.limiter.store().query(&query).await?;
            let pks = page.items.iter().filter_map(|item| item.s("PK"));
            found.extend(pks.filter_map(|pk| Some(keys::parse_bucket(pk)?.2)));
            if page.cursor.is_none() {
                break;
            }
            query.cursor = page.cursor;
        }
        Ok(found)
    }
}
