//! Pages of lists: keys from the index, newest first, then the items themselves.

pub(crate) mod keys;

use weir_table::expr::Path;
use weir_table::retry::{Listed, PAGE_MAX};
use weir_table::{Backend, Get, Item, Key, Query};

use self::keys::{GSI2, List};
use crate::error::Result;
use crate::keys::META;
use crate::practice::Practice;

/// Which page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Largest number of entries.
    pub limit: u32,
    /// Cursor of the page; `None` for the first.
    pub cursor: Option<String>,
}

impl Default for PageRequest {
    /// The first page, as long as a page can be.
    fn default() -> PageRequest {
        PageRequest { limit: PAGE_MAX, cursor: None }
    }
}

/// The first of equal ones, in order. A query of an index can meet an item twice while the item moves in it, and a batch
/// must not read an item twice.
pub(crate) fn distinct<T: PartialEq>(found: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for one in found {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}

impl<B: Backend> Practice<B> {
    /// A page of the members of a list, newest first. The index may lag: the caller drops members that are no longer what
    /// the list is of, so a page may be short while there are more.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn members(&self, list: &List, page: &PageRequest) -> Result<Listed<Item>> {
        let found = self.member_keys(list, page).await?;
        Ok(Listed { items: self.items(found.items).await?, cursor: found.cursor })
    }

    /// Like [`Practice::members`], with only these paths of each member.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn members_with(
        &self,
        list: &List,
        page: &PageRequest,
        paths: &[Path],
    ) -> Result<Listed<Item>> {
        let found = self.member_keys(list, page).await?;
        let get = |key| Get::new(self.table().clone(), key).project(paths.iter().cloned());
        let gets: Vec<Get> = found.items.into_iter().map(get).collect();
        let items =
            if gets.is_empty() { Vec::new() } else { self.store().batch_get(&gets).await? };
        Ok(Listed { items: items.into_iter().flatten().collect(), cursor: found.cursor })
    }

    async fn member_keys(&self, list: &List, page: &PageRequest) -> Result<Listed<Key>> {
        let query = Query::partition(self.table().clone(), list.partition()).index(GSI2).reverse();
        let found = self.store().page(query, page.limit, page.cursor.clone()).await?;
        let found = found.listed(|entry| Some(Key::new(entry.s("PK")?, META)));
        Ok(Listed { items: distinct(found.items), ..found })
    }

    /// Reads up to 100 items, strongly consistent and in order; missing ones are left out.
    ///
    /// # Errors
    /// The store fails.
    pub async fn items(&self, keys: Vec<Key>) -> Result<Vec<Item>> {
        let gets: Vec<Get> =
            keys.into_iter().map(|key| Get::new(self.table().clone(), key)).collect();
        if gets.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.store().batch_get(&gets).await?.into_iter().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::distinct;

    #[test]
    fn the_first_of_equal_ones_stays_in_its_place() {
        assert_eq!(distinct([3, 1, 3, 2, 1]), [3, 1, 2]);
    }
}
