//! Copies rows into our table: plans, users, problems, test cases, runs, and the usage that has not expired.
//!
//! 1. A page of rows is read by id, after the last one of the checkpoint.
//! 2. Each row becomes a record, and is checked. A row that cannot be copied is reported, and others go on.
//! 3. Records are stored as the practice service stores them, with all that belongs to them.
//! 4. The checkpoint moves. A dry run does neither.

use std::num::NonZeroU32;

use weir_table::Backend;

use super::Migration;
use super::checkpoint::Checkpoint;
use super::entity::Entity;
use super::error::Result;
use super::import::Numbered;
use super::mapping::{problem_of, record};
use super::pace::Pace;
use super::rows::FieldProblem;
use super::select::ReadRow;
use crate::bounds::DIFFERENCES_MAX;
use crate::import::{Imported, OnDifference};

/// How to copy.
#[derive(Debug, Clone, Default)]
pub struct BackfillOptions {
    /// Check every row, and write nothing.
    pub dry_run: bool,
    /// Begin with the first row, whatever the checkpoint says.
    pub restart: bool,
    /// Replace records in our table that differ, also those that were changed later.
    pub overwrite: bool,
    /// Most rows per second.
    pub rate: Option<NonZeroU32>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The table.
    pub entity: Entity,
    /// Rows of it that this run has done.
    pub done: u64,
    /// Rows of it that this run has to do, as counted at its start.
    pub total: u64,
}

/// Counts of rows by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Counts {
    /// Created in our table.
    pub created: u64,
    /// Updated in our table.
    pub updated: u64,
    /// Already the same; in a dry run rows that can be copied.
    pub unchanged: u64,
    /// Newer in our table, or deleted there.
    pub kept: u64,
    /// Not copied, because a field is invalid or taken.
    pub bad: u64,
}

impl Counts {
    pub(super) fn add(&mut self, imported: Imported, rows: u64) {
        *match imported {
            Imported::Created => &mut self.created,
            Imported::Updated => &mut self.updated,
            Imported::Unchanged => &mut self.unchanged,
            Imported::Kept => &mut self.kept,
        } += rows;
    }

    pub(super) fn plus(self, other: Counts) -> Counts {
        Counts {
            created: self.created + other.created,
            updated: self.updated + other.updated,
            unchanged: self.unchanged + other.unchanged,
            kept: self.kept + other.kept,
            bad: self.bad + other.bad,
        }
    }

    /// All rows.
    #[must_use]
    pub fn rows(self) -> u64 {
        self.created + self.updated + self.unchanged + self.kept + self.bad
    }
}

/// A row that was not copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRow {
    /// The table.
    pub entity: Entity,
    /// The id of the row.
    pub row_id: i64,
    /// The column; empty if no single one is at fault.
    pub field: String,
    /// Why.
    pub problem: String,
}

/// The result of a run.
#[derive(Debug, Clone, Default)]
pub struct BackfillReport {
    /// The outcomes of the rows of each table, in this run.
    pub tables: Vec<(Entity, Counts)>,
    /// Rows that were not copied, the first of them only if there are many.
    pub bad_rows: Vec<BadRow>,
}

impl BackfillReport {
    /// Rows that were not copied.
    #[must_use]
    pub fn bad(&self) -> u64 {
        self.tables.iter().map(|(_, counts)| counts.bad).sum()
    }

    fn add_bad(&mut self, entity: Entity, row_id: i64, problem: FieldProblem) {
        if self.bad_rows.len() < DIFFERENCES_MAX {
            let FieldProblem { field, problem } = problem;
            self.bad_rows.push(BadRow { entity, row_id, field, problem });
        }
    }
}

impl<B: Backend> Migration<B> {
    /// Copies rows that are not copied yet.
    ///
    /// # Errors
    /// Either side fails, or the checkpoint is of another database. The same call continues.
    pub async fn backfill(
        &self,
        options: &BackfillOptions,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<BackfillReport> {
        let mut report = BackfillReport::default();
        let mut pace = Pace::new(options.rate);
        // Time is read once, so that all pages agree on what has expired.
        let since_ms = self.usage_since_ms();
        for entity in Entity::ALL {
            let restart = options.restart || options.dry_run;
            let mut checkpoint = self.resume(entity, restart).await?;
            let total = self.source().count(entity, checkpoint.last_id, since_ms).await?;
            let mut counts = Counts::default();
            progress(Progress { entity, done: 0, total });
            loop {
                let page = self.source().page(entity, checkpoint.last_id, since_ms).await?;
                let Some(last_id) = page.last().map(row_id) else { break };
                let rows = page.len();
                let done = self.backfill_page(entity, page, options, &mut report).await?;
                counts = counts.plus(done);
                checkpoint.last_id = last_id;
                checkpoint.counts = checkpoint.counts.plus(done);
                if !options.dry_run {
                    self.save(entity, &checkpoint).await?;
                }
                progress(Progress { entity, done: counts.rows(), total });
                pace.after(rows).await;
            }
            if options.dry_run {
                counts = self.check_unique(entity, counts, &mut report).await?;
            } else {
                self.finish(entity, checkpoint, counts).await?;
            }
            report.tables.push((entity, counts));
        }
        Ok(report)
    }

    async fn finish(&self, entity: Entity, mut checkpoint: Checkpoint, now: Counts) -> Result<()> {
        if !checkpoint.is_done || now.rows() > 0 {
            checkpoint.is_done = true;
            self.save(entity, &checkpoint).await?;
        }
        self.audit_copy(entity, now).await
    }

    async fn backfill_page(
        &self,
        entity: Entity,
        page: Vec<ReadRow>,
        options: &BackfillOptions,
        report: &mut BackfillReport,
    ) -> Result<Counts> {
        let mut counts = Counts::default();
        let mut good = Vec::with_capacity(page.len());
        for row in page {
            match checked(row) {
                Ok(numbered) => good.push(numbered),
                Err((row, problem)) => {
                    counts.bad += 1;
                    report.add_bad(entity, row, problem);
                }
            }
        }
        if options.dry_run {
            counts.unchanged = good.len() as u64;
            return Ok(counts);
        }
        let on = if options.overwrite { OnDifference::Replace } else { OnDifference::KeepNewer };
        let stored = self.import(good, on).await?;
        counts = counts.plus(stored.counts);
        for (row, error) in stored.refused {
            counts.bad += 1;
            report.add_bad(entity, row, problem_of(&error));
        }
        Ok(counts)
    }

    /// In a dry run: rows whose unique value another row has, too, by the rules of the practice service.
    async fn check_unique(
        &self,
        entity: Entity,
        mut counts: Counts,
        report: &mut BackfillReport,
    ) -> Result<Counts> {
        if entity != Entity::Users {
            return Ok(counts);
        }
        let text = "SELECT u.id FROM users u WHERE EXISTS (SELECT 1 FROM users o \
                    WHERE lower(trim(o.email)) = lower(trim(u.email)) AND o.id < u.id) ORDER BY u.id";
        let client = self.source().client().await?;
        for row in client.query(text, &[]).await? {
            let problem = FieldProblem {
                field: "email".to_owned(),
                problem: "another user has this email address".to_owned(),
            };
            counts.bad += 1;
            counts.unchanged = counts.unchanged.saturating_sub(1);
            report.add_bad(entity, row.try_get(0)?, problem);
        }
        Ok(counts)
    }
}

fn row_id(row: &ReadRow) -> i64 {
    match row {
        Ok(row) => row.id,
        Err((id, _)) => *id,
    }
}

/// The checked record of a row, or its id and why there is none.
pub(super) fn checked(row: ReadRow) -> Result<Numbered, (i64, FieldProblem)> {
    let row = row?;
    let id = row.id;
    let record = record(row).map_err(|problem| (id, problem))?;
    record.check().map_err(|error| (id, problem_of(&error)))?;
    Ok((id, record))
}
