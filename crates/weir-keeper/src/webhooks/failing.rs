//! Webhooks whose next notice could not be delivered yet.

use std::collections::BTreeSet;

use weir_table::{Backend, Query};

use super::queue::DeliveryQueue;
use crate::bounds::{QUEUE_PAGES_MAX, QUEUES_PER_PAGE};
use crate::error::Result;
use crate::ids::OrgId;
use crate::keeper::Keeper;
use crate::keys;

/// Attempts from which on at least one has failed: the last one may be in progress.
const FAILING_TRIES: u32 = 2;

impl<B: Backend> Keeper<B> {
    /// The number of webhooks, of these orgs or of all, that are retried.
    ///
    /// # Errors
    /// The store fails.
    pub async fn failing_webhooks(&self, orgs: Option<&BTreeSet<OrgId>>) -> Result<u64> {
        let table = self.tables().sticky_state.clone();
        let mut query = Query::partition(table, keys::DELIVERIES).limit(QUEUES_PER_PAGE);
        let mut failing = 0;
        for _ in 0..QUEUE_PAGES_MAX {
            let page = self.store().query(&query).await?;
            let queues = page.items.iter().filter_map(DeliveryQueue::decode);
            let shown = queues.filter(|queue| orgs.is_none_or(|orgs| orgs.contains(&queue.org)));
            failing += shown.filter(|queue| queue.tries >= FAILING_TRIES).count() as u64;
            query.cursor = page.cursor;
            if query.cursor.is_none() {
                break;
            }
        }
        Ok(failing)
    }
}
