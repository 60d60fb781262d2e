//! Stores records in our table, several at once. Records that share items are stored together.

use futures_util::stream::{self, StreamExt as _};
use weir_table::Backend;

use super::Migration;
use super::backfill::Counts;
use super::error::{Result, is_of_record};
use super::record::Record;
use crate::error::Error;
use crate::import::{Imported, OnDifference};
use crate::stats::UsageDirtySet;

/// Records, or groups of them, that are stored at once.
const AT_ONCE: usize = 24;

/// A record with the id of its row.
pub(super) type Numbered = (i64, Record);

/// The result of storing records.
#[derive(Debug, Default)]
pub(super) struct ImportResult {
    pub(super) counts: Counts,
    /// Rows that were refused, and why.
    pub(super) refused: Vec<(i64, Error)>,
    /// Rows whose record in our table was newer or deleted, and stays so.
    pub(super) kept: Vec<i64>,
}

impl ImportResult {
    fn add(&mut self, row: i64, result: crate::Result<Imported>) -> Result<()> {
        match result {
            Ok(imported) => {
                self.counts.add(imported, 1);
                self.kept.extend((imported == Imported::Kept).then_some(row));
            }
            Err(error) if is_of_record(&error) => self.refused.push((row, error)),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn merge(&mut self, other: ImportResult) {
        self.counts = self.counts.plus(other.counts);
        self.refused.extend(other.refused);
        self.kept.extend(other.kept);
    }
}

impl<B: Backend> Migration<B> {
    /// Stores records. Usage is rolled up too, so that statistics do not depend on a running job.
    pub(super) async fn import(
        &self,
        records: Vec<Numbered>,
        on: OnDifference,
    ) -> Result<ImportResult> {
        let mut dirty = UsageDirtySet::default();
        for (_, record) in &records {
            if let Record::Usage(usage) = record {
                dirty.mark(self.practice().day_of(usage.at_ms), usage.user.clone());
            }
        }
        let groups = groups(records);
        let mut storing = stream::iter(groups)
            .map(|group| async move { self.import_group(group, on).await })
            .buffer_unordered(AT_ONCE);
        let mut result = ImportResult::default();
        while let Some(stored) = storing.next().await {
            result.merge(stored?);
        }
        drop(storing);
        if !dirty.is_empty() {
            self.practice().roll_up(&dirty).await?;
        }
        Ok(result)
    }

    async fn import_group(&self, group: Vec<Numbered>, on: OnDifference) -> Result<ImportResult> {
        let mut result = ImportResult::default();
        match group.first().map(|(_, record)| record) {
            Some(Record::TestCase(..)) => self.import_cases(group, on, &mut result).await?,
            Some(Record::Usage(_)) => self.import_actions(group, &mut result).await?,
            _ => {
                for (row, record) in group {
                    let imported = self.import_single(&record, on).await;
                    result.add(row, imported)?;
                }
            }
        }
        Ok(result)
    }

    async fn import_single(&self, record: &Record, on: OnDifference) -> crate::Result<Imported> {
        let practice = self.practice();
        match record {
            Record::Plan(plan) => practice.import_plan(plan, on).await,
            Record::User(user) => practice.import_user(user, on).await,
            Record::Problem(problem) => practice.import_problem(problem, on).await,
            Record::Run(run) => practice.import_run(run, on).await,
            Record::TestCase(at, case) => {
                let cases = std::slice::from_ref(case);
                let mut results = practice.import_test_cases(at, cases, on).await?;
                results.pop().unwrap_or(Ok(Imported::Unchanged))
            }
            Record::Usage(usage) => {
                let new = practice.import_usage(&usage.user, std::slice::from_ref(usage)).await?;
                Ok(if new > 0 { Imported::Created } else { Imported::Unchanged })
            }
        }
    }

    /// Test cases of one problem. If the problem is at fault, each is.
    async fn import_cases(
        &self,
        group: Vec<Numbered>,
        on: OnDifference,
        result: &mut ImportResult,
    ) -> Result<()> {
        let (mut rows, mut cases, mut problem) = (Vec::new(), Vec::new(), None);
        for (row, record) in group {
            if let Record::TestCase(at, case) = record {
                rows.push(row);
                cases.push(case);
                problem = Some(at);
            }
        }
        let Some(problem) = problem else { return Ok(()) };
        match self.practice().import_test_cases(&problem, &cases, on).await {
            Ok(results) => {
                rows.into_iter().zip(results).try_for_each(|(row, r)| result.add(row, r))
            }
            Err(error) => add_all(result, &rows, error),
        }
    }

    /// Actions of one user.
    async fn import_actions(&self, group: Vec<Numbered>, result: &mut ImportResult) -> Result<()> {
        let (mut rows, mut records) = (Vec::new(), Vec::new());
        for (row, record) in group {
            if let Record::Usage(usage) = record {
                match usage.check_import() {
                    Ok(()) => {
                        rows.push(row);
                        records.push(usage);
                    }
                    Err(error) => result.add(row, Err(error))?,
                }
            }
        }
        let Some(user) = records.first().map(|record| record.user.clone()) else { return Ok(()) };
        match self.practice().import_usage(&user, &records).await {
            Ok(created) => {
                result.counts.add(Imported::Created, created);
                let rest = (rows.len() as u64).saturating_sub(created);
                result.counts.add(Imported::Unchanged, rest);
                Ok(())
            }
            Err(error) => add_all(result, &rows, error),
        }
    }
}

/// Refuses all rows for the same reason.
fn add_all(result: &mut ImportResult, rows: &[i64], error: Error) -> Result<()> {
    if !is_of_record(&error) {
        return Err(error.into());
    }
    let text = error.to_string();
    result.refused.extend(rows.iter().map(|row| (*row, Error::conflict(text.clone()))));
    Ok(())
}

/// Test cases by problem, actions and runs by user, users by address; others alone. Writes that share an item conflict when
/// they are at once.
fn groups(records: Vec<Numbered>) -> Vec<Vec<Numbered>> {
    let mut by_owner = std::collections::BTreeMap::<String, Vec<Numbered>>::new();
    let mut groups = Vec::new();
    for (row, record) in records {
        let owner = match &record {
            Record::TestCase(at, _) => Some(at.to_string()),
            Record::Usage(usage) => Some(usage.user.to_string()),
            Record::Run(run) => run.summary.user_id.as_ref().map(ToString::to_string),
            // Of two rows that differ in the case of their address only, the first one is copied, as a dry run says.
            Record::User(user) => Some(user.email.normalised().to_owned()),
            Record::Plan(_) | Record::Problem(_) => None,
        };
        match owner {
            Some(owner) => by_owner.entry(owner).or_default().push((row, record)),
            None => groups.push(vec![(row, record)]),
        }
    }
    groups.extend(by_owner.into_values());
    groups
}
