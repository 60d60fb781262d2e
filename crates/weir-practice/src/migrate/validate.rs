//! Compares both sides: counts, and a random sample of records or all of them, field by field.
//!
//! 1. Rows become records, which are compared with those of our table.
//! 2. A walk over our table counts records, and looks up the rows of those in the sample.
//! 3. With all records, today's counters are compared with today's rows.
//!
//! Pages are read and dropped, so memory does not grow with the tables.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::json;
use tokio_postgres::Client;
use weir_table::{Backend, Item};

use super::Migration;
use super::compare::{Difference, DifferenceKind, differences};
use super::entity::Entity;
use super::error::Result;
use super::mapping;
use super::record::Record;
use super::record_key::RecordKey;
use super::rows::FieldProblem;
use super::select::{Lock, ReadRow, Rows, instant, rows};
use crate::bounds::DIFFERENCES_MAX;
use crate::day::end_of;
use crate::ids::UserId;
use crate::item::VERSION;
use crate::keys;
use crate::kinds::Action;
use crate::plans::{Plan, count_of};

/// Records whose rows are looked up at once.
const LOOKUP: usize = 250;
/// Users whose counters are compared at once.
const COUNTER_USERS: i64 = 50;

/// The records to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every record.
    All,
    /// A random sample of each table.
    Sample {
        /// Rows of each table.
        rows: u32,
        /// The same seed has the same sample.
        seed: u64,
    },
}

/// The result for one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct TableReport {
    /// Rows in PostgreSQL.
    pub rows: u64,
    /// Records in our table.
    pub records: u64,
    /// Rows and records that were compared.
    pub compared: u64,
    /// Differences.
    pub differences: u64,
}

/// The result of a comparison.
#[derive(Debug, Clone, Default)]
pub struct ValidateReport {
    /// The result for each table.
    pub tables: BTreeMap<Entity, TableReport>,
    /// Differences, the first of them only if there are many.
    pub differences: Vec<Difference>,
}

impl ValidateReport {
    /// Number of differences. Counts that differ are one each.
    #[must_use]
    pub fn difference_count(&self) -> u64 {
        self.tables.values().map(|table| table.differences).sum()
    }

    fn table(&mut self, entity: Entity) -> &mut TableReport {
        self.tables.entry(entity).or_default()
    }

    fn add(&mut self, difference: Difference) {
        self.table(difference.entity).differences += 1;
        if self.differences.len() < DIFFERENCES_MAX {
            self.differences.push(difference);
        }
    }
}

impl<B: Backend> Migration<B> {
    /// Compares both sides. `progress` gets the number of records compared so far.
    ///
    /// # Errors
    /// Either side fails.
    pub async fn validate(
        &self,
        scope: Scope,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<ValidateReport> {
        let mut report = ValidateReport::default();
        let since_ms = self.usage_since_ms();
        let client = self.source().connect().await?;
        let mut done = 0;
        for entity in Entity::ALL {
            report.table(entity).rows = self.source().count(entity, 0, since_ms).await?;
            let sample = match scope {
                Scope::All => None,
                Scope::Sample { rows, seed } => {
                    Some(self.source().sample(entity, rows, seed, since_ms).await?)
                }
            };
            let mut pages = Pages { entity, since_ms, after: 0, sample };
            while let Some(page) = pages.next(&client).await? {
                done += page.len() as u64;
                self.compare_page(entity, page, &mut report).await?;
                progress(done);
            }
        }
        self.compare_back(&client, scope, since_ms, &mut report, &mut |more| {
            done += more;
            progress(done);
        })
        .await?;
        if scope == Scope::All {
            self.compare_counters(&client, &mut report).await?;
        }
        compare_counts(&mut report);
        Ok(report)
    }

    /// Rows against our records.
    async fn compare_page(
        &self,
        entity: Entity,
        page: Vec<ReadRow>,
        report: &mut ValidateReport,
    ) -> Result<()> {
        let zone = &self.practice().settings().zone;
        let mut expected = Vec::with_capacity(page.len());
        for row in page {
            report.table(entity).compared += 1;
            let mapped = row.and_then(|row| {
                let id = row.id;
                mapping::record(row).map(|record| (id, record)).map_err(|problem| (id, problem))
            });
            match mapped {
                Ok((id, record)) => expected.push((id.to_string(), record.key(zone), record)),
                Err((id, problem)) => report.add(bad_row(entity, id, problem)),
            }
        }
        let keys: Vec<RecordKey> = expected.iter().map(|(_, key, _)| key.clone()).collect();
        let stored = self.load(&keys).await?;
        for (id, key, record) in expected {
            match stored.get(&key) {
                Some(stored) => {
                    let found = differences((entity, &id), &record, stored);
                    found.into_iter().for_each(|difference| report.add(difference));
                }
                None if self.is_gone(&key, &record).await? => {}
                None => {
                    report.add(Difference::whole(DifferenceKind::Missing, entity, &id));
                }
            }
        }
        Ok(())
    }

    /// Whether a record is missing on purpose: a user who was deleted here, and is anonymous in PostgreSQL.
    async fn is_gone(&self, key: &RecordKey, record: &Record) -> Result<bool> {
        match record {
            Record::User(user) if super::dual_write::is_anonymous(user) => {
                self.is_erased(key).await
            }
            _ => Ok(false),
        }
    }

    /// Our records against rows.
    async fn compare_back(
        &self,
        client: &Client,
        scope: Scope,
        since_ms: i64,
        report: &mut ValidateReport,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<()> {
        let mut scan = self.scan(since_ms);
        while let Some(page) = self.next_page(&mut scan).await? {
            let mut sample = Vec::new();
            for (key, item) in &page {
                let table = report.table(key.entity());
                table.records += 1;
                if is_chosen(scope, key, table.rows) {
                    sample.push((key.clone(), item));
                }
            }
            for some in sample.chunks(LOOKUP) {
                let keys: Vec<RecordKey> = some.iter().map(|(key, _)| key.clone()).collect();
                let found = self.load_rows(client, &keys, Lock::No).await?;
                for (key, item) in some.iter().filter(|(key, _)| !found.contains_key(key)) {
                    let entity = key.entity();
                    if self.is_spare_default(key, item).await? {
                        report.table(entity).records -= 1;
                    } else {
                        let id = key.id_text();
                        report.add(Difference::whole(DifferenceKind::Extra, entity, id));
                    }
                }
            }
            progress(page.len() as u64);
        }
        Ok(())
    }

    /// Whether a record is a default plan that PostgreSQL never had, and nobody is on.
    pub(super) async fn is_spare_default(&self, key: &RecordKey, item: &Item) -> Result<bool> {
        let RecordKey::Plan(id) = key else { return Ok(false) };
        let version = item.i64(VERSION).unwrap_or_default();
        let plan = Plan::from_item(item)?;
        let is_default = plan.is_some_and(|plan| plan.is_untouched_default(version));
        Ok(is_default && self.practice().plan_user_count(*id).await? == 0)
    }

    /// Today's counters against today's rows.
    async fn compare_counters(&self, client: &Client, report: &mut ValidateReport) -> Result<()> {
        let practice = self.practice();
        let today = practice.day_of(practice.now_ms());
        let zone = &practice.settings().zone;
        let (from, to) = (instant(zone.first_instant(today)), instant(end_of(zone, today)));
        let text = "SELECT user_id, count(*) FILTER (WHERE action = 'hint'), \
                    count(*) FILTER (WHERE action = 'execution') FROM usage_logs \
                    WHERE user_id > $1 AND created_at >= $2 AND created_at < $3 \
                    GROUP BY user_id ORDER BY user_id LIMIT $4";
        let mut after = 0_i64;
        loop {
            let found = client.query(text, &[&after, &from, &to, &COUNTER_USERS]).await?;
            let Some(last) = found.last() else { return Ok(()) };
            after = last.try_get(0)?;
            for row in &found {
                let (row_id, hints, executions) = (
                    row.try_get::<_, i64>(0)?,
                    row.try_get::<_, i64>(1)?,
                    row.try_get::<_, i64>(2)?,
                );
                let Some(user) = self.user_of_row(client, row_id).await? else { continue };
                let key = |action| keys::action_count(&user, today, action);
                let counters =
                    practice.items(Action::ALL.iter().map(|a| key(*a)).collect()).await?;
                for (action, expected) in [(Action::Hint, hints), (Action::Execution, executions)] {
                    let counted = count_of(keys::find(&counters, &key(action)));
                    if i64::try_from(counted) != Ok(expected) {
                        let field = format!("count of {action} of user {user} on {today}");
                        let of = (Entity::Usage, "counter");
                        let (left, right) = (json!(expected), json!(counted));
                        report.add(Difference::value(of, &field, &left, &right));
                    }
                }
            }
        }
    }

    async fn user_of_row(&self, client: &Client, row: i64) -> Result<Option<UserId>> {
        let found = rows(client, Entity::Users, Rows::Ids(&[row]), 0, Lock::No).await?;
        let record = found.into_iter().flatten().next().map(mapping::record);
        Ok(match record {
            Some(Ok(Record::User(user))) => Some(user.id),
            _ => None,
        })
    }
}

/// Pages of a table, or of a sample of it.
struct Pages {
    entity: Entity,
    since_ms: i64,
    after: i64,
    /// Ids that are left of a sample.
    sample: Option<Vec<i64>>,
}

impl Pages {
    async fn next(&mut self, client: &Client) -> Result<Option<Vec<ReadRow>>> {
        let limit = self.entity.page_rows();
        let found = match &mut self.sample {
            None => {
                let which = Rows::After(self.after, limit);
                rows(client, self.entity, which, self.since_ms, Lock::No).await?
            }
            Some(ids) => {
                let some = ids.len().min(usize::try_from(limit).unwrap_or(1));
                let some: Vec<i64> = ids.drain(..some).collect();
                rows(client, self.entity, Rows::Ids(&some), self.since_ms, Lock::No).await?
            }
        };
        let last = found.last().map(|row| row.as_ref().map_or_else(|(id, _)| *id, |row| row.id));
        Ok(last.map(|last| {
            self.after = last;
            found
        }))
    }
}

fn bad_row(entity: Entity, id: i64, problem: FieldProblem) -> Difference {
    let FieldProblem { field, problem } = problem;
    let whole = Difference::whole(DifferenceKind::BadRow, entity, id);
    Difference { field, postgres: problem, ..whole }
}

/// Whether a record of our table is in the sample: about as many as rows are.
fn is_chosen(scope: Scope, key: &RecordKey, rows: u64) -> bool {
    let Scope::Sample { rows: wanted, seed } = scope else { return true };
    let one_of = rows / u64::from(wanted.max(1));
    let mut hasher = DefaultHasher::new();
    (seed, key).hash(&mut hasher);
    hasher.finish().checked_rem(one_of.max(1)) == Some(0)
}

/// A difference for each table whose counts differ, unless its records say which.
fn compare_counts(report: &mut ValidateReport) {
    let tables: Vec<(Entity, TableReport)> =
        report.tables.iter().map(|(entity, table)| (*entity, *table)).collect();
    for (entity, table) in tables {
        if table.rows != table.records && table.differences == 0 {
            let (left, right) = (json!(table.rows), json!(table.records));
            report.add(Difference::value((entity, ""), "count", &left, &right));
        }
    }
}
