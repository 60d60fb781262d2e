//! Finds and lists namespaces.

use weir_table::expr::{Condition, attr};
use weir_table::retry::Listed;
use weir_table::{Backend, Get, Query};

use super::record::{NAME, STATUS};
use super::{Record, State};
use crate::bounds::REGISTRY_PAGES_MAX;
use crate::error::{Error, Result};
use crate::ids::NamespaceName;
use crate::keys;
use crate::limiter::{Limiter, Namespace};

impl<B: Backend> Limiter<B> {
    /// Opens the namespace of a name. Its id is cached for a minute.
    ///
    /// # Errors
    /// The namespace does not exist or is deleted, or the store fails.
    pub async fn namespace(&self, name: &NamespaceName) -> Result<Namespace<B>> {
        let now_ms = self.now_ms();
        let cache = &self.inner.namespaces;
        let id = match cache.id(name, now_ms) {
            Some(id) => id,
            None => {
                let start = cache.start_read(now_ms);
                let found = self.active_namespace(name).await?;
                let found = found.ok_or_else(|| Error::not_found("namespace", name.as_str()))?;
                cache.insert(name, &found.id, start);
                found.id
            }
        };
        Ok(Namespace { limiter: self.clone(), id, name: name.clone() })
    }

    /// Reads a namespace in any state.
    ///
    /// # Errors
    /// The namespace does not exist, or the store fails.
    pub async fn namespace_record(&self, name: &NamespaceName) -> Result<Record> {
        if let Some(active) = self.active_namespace(name).await? {
            return Ok(active);
        }
        let removed = self.removed_namespace(name).await?;
        removed.ok_or_else(|| Error::not_found("namespace", name.as_str()))
    }

    /// Lists namespaces in any state, a page at a time.
    ///
    /// # Errors
    /// The cursor belongs to another list, or the store fails.
    pub async fn namespaces(&self, limit: u32, cursor: Option<String>) -> Result<Listed<Record>> {
        let page = self.store().page(self.all_by_id(), limit, cursor).await?;
        Ok(page.listed(Record::decode))
    }

    /// Reads an active namespace, strongly consistent.
    pub(crate) async fn active_namespace(&self, name: &NamespaceName) -> Result<Option<Record>> {
        let get = Get::new(self.table(), keys::namespace(name));
        let found = self.store().get(&get).await?.as_ref().and_then(Record::decode);
        Ok(found.filter(|record| record.state == State::Active))
    }

    /// Reads a namespace that is deleted or being purged. It has no item under its name any more, so this searches all ids.
    /// zae-limiter lets a name be reused at once: of several, a deleted one precedes one that is being purged, and then the one
    /// deleted last is chosen.
    pub(super) async fn removed_namespace(&self, name: &NamespaceName) -> Result<Option<Record>> {
        let filter = Condition::And(vec![
            attr(NAME).eq(name.as_str()),
            attr(STATUS).is_in([State::Deleted.as_str(), State::Purging.as_str()]),
        ]);
        let mut query = self.all_by_id().filter(filter);
        let mut found: Option<Record> = None;
        for _ in 0..REGISTRY_PAGES_MAX {
            let page = self.store().query(&query).await?;
            let of_page = page.items.iter().filter_map(Record::decode);
            found = found.into_iter().chain(of_page).max_by_key(|record| {
                (record.state == State::Deleted, record.deleted_ms, record.id.clone())
            });
            let Some(cursor) = page.cursor else { return Ok(found) };
            query = query.after(cursor);
        }
        tracing::warn!(namespace = %name, "too many namespaces to search for a deleted one");
        Ok(found)
    }

    fn all_by_id(&self) -> Query {
        Query::partition(self.table(), keys::registry_partition()).begins_with(keys::NSID_SK)
    }
}
