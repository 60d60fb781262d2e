//! Runs propagation tasks: brings live buckets to the limits and the parent that apply to them.

use weir_table::retry::Listed;
use weir_table::{Backend, Get, Item, Key, Query};

use super::propagation_task::{self, INDEX_LAG_MS, PropagationScope, PropagationTask};
use crate::bounds::CLOCK_AHEAD_MAX_MS;
use crate::error::Result;
use crate::ids::EntityId;
use crate::keys;
use crate::limiter::{Limiter, Namespace};
use crate::table::GSI2;

/// Most tasks of one run.
const TASKS_MAX: u32 = 100;
/// Most pages of buckets in one run, over all tasks.
const PAGES_MAX: u32 = 50;
/// Most resources of one entity.
const ENTITY_RESOURCES_MAX: usize = 20_000;
/// How long after now a task can be due that a right clock has scheduled.
const LATEST_MS: i64 = INDEX_LAG_MS + CLOCK_AHEAD_MAX_MS;
/// Namespaces on one page of [`Limiter::propagate_everything`].
const NAMESPACES_PAGE: u32 = 100;

impl<B: Backend> Limiter<B> {
    /// Runs the tasks that are due. Returns how many buckets were written, and whether more is to do at once. A task that
    /// fails does not hold up the others; the first error is returned at the end.
    ///
    /// # Errors
    /// The store fails.
    pub async fn run_propagation(&self) -> Result<(u64, bool)> {
        let now_ms = self.now_ms();
        let due = keys::gsi2_propagation_due(now_ms);
        // Nobody schedules as late as this, unless its clock is wrong. Such a task is not left until then.
        let wrong = keys::gsi2_propagation_due(now_ms.saturating_add(LATEST_MS));
        let is_due = |item: &&Item| {
            item.s("GSI2SK").is_some_and(|at| at <= due.as_str() || at > wrong.as_str())
        };
        let query = Query::partition(self.table(), keys::gsi2_propagation_tasks()).index(GSI2);
        let page = self.store().query(&query.limit(TASKS_MAX)).await?;
        let mut pages_left = PAGES_MAX;
        let (mut written, mut failure) = (0, None);
        for item in page.items.iter().filter(is_due) {
            let (Some(pk), Some(sk)) = (item.s("PK"), item.s("SK")) else { continue };
            match self.run_task(Key::new(pk, sk), &mut pages_left).await {
                Ok(count) => written += count,
                Err(error) => failure = failure.or(Some(error)),
            }
            if pages_left == 0 {
                break;
            }
        }
        match failure {
            Some(error) => Err(error),
            None => {
                let more_due =
                    page.cursor.is_some() && page.items.last().is_some_and(|last| is_due(&last));
                Ok((written, pages_left == 0 || more_due))
            }
        }
    }

    /// Schedules a task for every namespace, one page at a time, because changes may have been missed. Returns the number of
    /// namespaces of the page, and the cursor of the next.
    ///
    /// # Errors
    /// The store fails.
    pub async fn propagate_everything(
        &self,
        cursor: Option<String>,
    ) -> Result<(u64, Option<String>)> {
        let Listed { items: namespaces, cursor } = self.namespaces(NAMESPACES_PAGE, cursor).await?;
        let now_ms = self.now_ms();
        for namespace in &namespaces {
            let scope = PropagationScope::Namespace;
            let write = propagation_task::schedule(self.table(), &namespace.id, &scope, now_ms);
            self.try_write(write).await?;
        }
        Ok((namespaces.len() as u64, cursor))
    }

    async fn run_task(&self, key: Key, pages_left: &mut u32) -> Result<u64> {
        // The index may lag: the item itself decides.
        let found = self.store().get(&Get::new(self.table(), key)).await?;
        let Some(mut task) = found.as_ref().and_then(PropagationTask::decode) else {
            return Ok(0);
        };
        let ns = self.namespace_of(&task.ns);
        let mut written = 0;
        while *pages_left > 0 {
            *pages_left -= 1;
            let (count, cursor) = ns.propagate_page(&task.scope, task.cursor.take()).await?;
            written += count;
            let Some(cursor) = cursor else {
                self.try_write(task.complete(self.table())).await?;
                return Ok(written);
            };
            if !self.try_write(task.advance(self.table(), &cursor)).await? {
                // The setting changed again: the next run starts over.
                return Ok(written);
            }
            task.cursor = Some(cursor);
        }
        Ok(written)
    }
}

impl<B: Backend> Namespace<B> {
    /// Brings one page of buckets up to date. Returns how many were written, and the cursor of the next page.
    async fn propagate_page(
        &self,
        scope: &PropagationScope,
        cursor: Option<String>,
    ) -> Result<(u64, Option<String>)> {
        match scope {
            PropagationScope::Namespace => self.apply_limits_to_all(cursor).await,
            PropagationScope::Resource(resource) => {
                self.apply_limits_to_resource(resource, cursor).await
            }
            PropagationScope::Entity(entity) => Ok((self.propagate_to_entity(entity).await?, None)),
        }
    }

    async fn propagate_to_entity(&self, entity: &EntityId) -> Result<u64> {
        let mut written = self.apply_cascade(entity).await?;
        for resource in self.bucket_resources(entity, ENTITY_RESOURCES_MAX).await? {
            written += self.apply_limits(entity, &resource).await?;
        }
        Ok(written)
    }
}
