//! Computes days from scratch, and reports where what is stored differs.

use std::collections::{BTreeMap, BTreeSet};

use weir_calendar::Day;
use weir_table::{Backend, Item, Query, Store};

use super::RollupTable;
use super::day_range::DayRange;
use super::day_rollup::DayRollup;
use super::items::{merge_part, sort_key};
use super::keys::{self, Level, Part};
use super::read::{each_item, stored_day, sum_summaries};
use crate::bounds::{DIFFERENCES_MAX, ROLLUP_MARK_SHARDS};
use crate::error::{Error, Result};
use crate::ids::{Owner, Repo};

/// An item that differs from what the reviews say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The repository, or all.
    pub level: Level,
    /// The day.
    pub day: Day,
    /// The model or the pairs, as the key has it.
    pub part: String,
    /// The stored sums; `None` if they are missing.
    pub stored: Option<String>,
    /// The sums that the reviews have; `None` if there should be none.
    pub computed: Option<String>,
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifyReport {
    /// Days of repositories, and of all, that were computed.
    pub days: u64,
    /// Items that differ; at most so many are listed.
    pub differences: Vec<Difference>,
    /// Number of items that differ, listed or not.
    pub differing: u64,
    /// Days that could not be computed, with the reason.
    pub failures: Vec<String>,
    /// Whether marks wait to be taken, so that differences are expected.
    pub is_pending: bool,
}

/// Computes the days of one repository from its summaries, or those of all repositories, and compares.
///
/// # Errors
/// The store fails.
pub async fn verify<B: Backend>(
    store: &Store<B>,
    table: &RollupTable,
    level: &Level,
    range: DayRange,
) -> Result<VerifyReport> {
    let mut verification = Verification { store, table, report: VerifyReport::default() };
    verification.report.is_pending = verification.has_marks().await?;
    for day in range.iter() {
        match level {
            Level::Repository(owner, repo) => {
                verification.repository_day(owner, repo, day).await?;
            }
            Level::All => verification.all_days(day).await?,
        }
    }
    Ok(verification.report)
}

struct Verification<'a, B> {
    store: &'a Store<B>,
    table: &'a RollupTable,
    report: VerifyReport,
}

impl<B: Backend> Verification<'_, B> {
    /// Compares the days of the repositories, then their sum.
    async fn all_days(&mut self, day: Day) -> Result<()> {
        let mut sum = DayRollup::default();
        for (owner, repo) in self.repositories(day).await? {
            sum.merge(&self.repository_day(&owner, &repo, day).await?);
        }
        self.compare(&Level::All, day, &sum).await.map(drop)
    }

    /// Compares a day of a repository, and returns it as computed.
    async fn repository_day(&mut self, owner: &Owner, repo: &Repo, day: Day) -> Result<DayRollup> {
        let sum = match sum_summaries(self.store, self.table, owner, repo, day).await {
            Ok(sum) => sum,
            Err(error @ Error::Damaged { .. }) => {
                self.report.failures.push(format!("{owner}/{repo} {day}: {error}"));
                return Ok(DayRollup::default());
            }
            Err(error) => return Err(error),
        };
        self.compare(&Level::Repository(owner.clone(), repo.clone()), day, &sum).await
    }

    /// Compares a day, and returns it as it should be stored: what does not fit in an item is not merged either.
    async fn compare(&mut self, level: &Level, day: Day, sum: &DayRollup) -> Result<DayRollup> {
        let mut stored = stored_day(self.store, self.table, level, day).await?;
        stored.retain(|sk, _| keys::parse_part(level, sk) != Some(Part::Version));
        let (mut computed, mut fitted) = (BTreeMap::new(), DayRollup::default());
        for item in self.table.day_items(level, day, sum)? {
            let part = keys::parse_part(level, sort_key(&item)?);
            merge_part(&mut fitted, &part.unwrap_or(Part::Version), &item)?;
            computed.insert(sort_key(&item)?.to_owned(), item);
        }
        let all: BTreeSet<&String> = stored.keys().chain(computed.keys()).collect();
        for sk in all {
            let data = |items: &BTreeMap<String, Item>| {
                items.get(sk).and_then(|item| Some(item.s("data")?.to_owned()))
            };
            let (stored, computed) = (data(&stored), data(&computed));
            if stored != computed {
                let part = sk.strip_prefix(&keys::day_prefix(level, day)).unwrap_or(sk).to_owned();
                self.differs(Difference { level: level.clone(), day, part, stored, computed });
            }
        }
        self.report.days += u64::from(!computed.is_empty());
        Ok(fitted)
    }

    fn differs(&mut self, difference: Difference) {
        self.report.differing += 1;
        if self.report.differences.len() < DIFFERENCES_MAX {
            self.report.differences.push(difference);
        }
    }

    /// The repositories that have summaries or rollups of a day.
    async fn repositories(&self, day: Day) -> Result<BTreeSet<(Owner, Repo)>> {
        let query = || Query::partition(self.table.name.clone(), keys::repository_days(day));
        let mut found = BTreeSet::new();
        each_item(self.store, query().project(["SK"]), |item| {
            found.extend(item.s("SK").and_then(keys::parse_repository));
            Ok(())
        })
        .await?;
        each_item(self.store, query().index(keys::INDEX).project([keys::INDEX_SK]), |item| {
            found.extend(item.s(keys::INDEX_SK).and_then(keys::parse_repository));
            Ok(())
        })
        .await?;
        Ok(found)
    }

    async fn has_marks(&self) -> Result<bool> {
        let shards = (0..ROLLUP_MARK_SHARDS).map(keys::marks);
        for partition in shards.chain([keys::ALL_MARKS.to_owned()]) {
            let query = Query::partition(self.table.name.clone(), partition).limit(1);
            if !self.store.query(&query).await?.items.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
