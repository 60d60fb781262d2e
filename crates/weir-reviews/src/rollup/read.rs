//! Reads summaries and rollups.

use std::collections::BTreeMap;

use weir_calendar::Day;
use weir_table::{Backend, Item, Query, Store};

use super::RollupTable;
use super::day_range::DayRange;
use super::day_rollup::DayRollup;
use super::items::{decode_summary, merge_part, sort_key};
use super::keys::{self, Level};
use crate::error::{Error, Result};
use crate::ids::{Owner, Repo};

/// The rollups of days, for a comparison. Days without reviews are left out.
///
/// # Errors
/// The store fails, or a rollup cannot be read.
pub async fn read_days<B: Backend>(
    store: &Store<B>,
    table: &RollupTable,
    level: &Level,
    range: DayRange,
) -> Result<BTreeMap<Day, DayRollup>> {
    let (query, attribute) = match level {
        Level::Repository(owner, repo) => {
            let query = Query::partition(table.name.clone(), keys::repository(owner, repo));
            (query.index(keys::INDEX), keys::INDEX_SK)
        }
        Level::All => (Query::partition(table.name.clone(), keys::ALL_DAYS).eventual(), "SK"),
    };
    let (from, to) = keys::days(range);
    let mut days = BTreeMap::<Day, DayRollup>::new();
    each_item(store, query.between(from, to), |item| {
        let part = item.s(attribute).and_then(keys::parse_day_part);
        let (day, part) = part.ok_or_else(|| Error::damaged("a rollup", "its key has no day"))?;
        merge_part(days.entry(day).or_default(), &part, item)
    })
    .await?;
    days.retain(|_, rollup| !rollup.is_empty());
    Ok(days)
}

/// The sum of a repository's summaries of a day.
pub(super) async fn sum_summaries<B: Backend>(
    store: &Store<B>,
    table: &RollupTable,
    owner: &Owner,
    repo: &Repo,
    day: Day,
) -> Result<DayRollup> {
    let query = Query::partition(table.name.clone(), keys::repository(owner, repo));
    let mut sum = DayRollup::default();
    each_item(store, query.begins_with(keys::summaries(day)), |item| {
        sum.merge(&decode_summary(item)?);
        Ok(())
    })
    .await?;
    Ok(sum)
}

/// The sum of all repositories' days.
pub(super) async fn sum_repositories<B: Backend>(
    store: &Store<B>,
    table: &RollupTable,
    day: Day,
) -> Result<DayRollup> {
    let query = Query::partition(table.name.clone(), keys::repository_days(day));
    let mut sum = DayRollup::default();
    each_item(store, query, |item| {
        let sk = sort_key(item)?;
        let level = keys::parse_repository(sk).map(|(owner, repo)| Level::Repository(owner, repo));
        let part = level.and_then(|level| keys::parse_part(&level, sk));
        let part = part.ok_or_else(|| Error::damaged("a rollup", "its key has no repository"))?;
        merge_part(&mut sum, &part, item)
    })
    .await?;
    Ok(sum)
}

/// The stored items of a day, its version included.
pub(super) async fn stored_day<B: Backend>(
    store: &Store<B>,
    table: &RollupTable,
    level: &Level,
    day: Day,
) -> Result<BTreeMap<String, Item>> {
    let query = Query::partition(table.name.clone(), keys::day_partition(level, day));
    let mut items = BTreeMap::new();
    each_item(store, query.begins_with(keys::day_prefix(level, day)), |item| {
        items.insert(sort_key(item)?.to_owned(), item.clone());
        Ok(())
    })
    .await?;
    Ok(items)
}

/// Calls `each` with every item of a query, page by page.
pub(super) async fn each_item<B: Backend>(
    store: &Store<B>,
    mut query: Query,
    mut each: impl FnMut(&Item) -> Result<()>,
) -> Result<()> {
    loop {
        let page = store.query(&query).await?;
        page.items.iter().try_for_each(&mut each)?;
        match page.cursor {
            Some(cursor) => query = query.after(cursor),
            None => return Ok(()),
        }
    }
}
