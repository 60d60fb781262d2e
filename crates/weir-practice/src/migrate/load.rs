//! Reads records from our table.

use std::collections::HashMap;

use weir_table::limits::BATCH_GET_MAX;
use weir_table::{Backend, Item};

use super::Migration;
use super::error::Result;
use super::record::Record;
use super::record_key::RecordKey;
use crate::item::TYPE;
use crate::kinds::EntityType;
use crate::plans::Plan;
use crate::problems::item::is_whole;
use crate::usage::{UsageLogEntry, UsageRecord};
use crate::users::User;

impl<B: Backend> Migration<B> {
    /// The records with these keys; missing and deleted ones are left out.
    pub(super) async fn load(&self, keys: &[RecordKey]) -> Result<HashMap<RecordKey, Record>> {
        let mut found = HashMap::with_capacity(keys.len());
        for some in keys.chunks(BATCH_GET_MAX) {
            let items = self.practice().items(some.iter().map(RecordKey::table_key).collect());
            for item in items.await? {
                if let Some((key, record)) = self.read_item(&item).await? {
                    found.insert(key, record);
                }
            }
        }
        Ok(found)
    }

    /// The record of an item; `None` for items that are none, and for deleted records.
    pub(super) async fn read_item(&self, item: &Item) -> Result<Option<(RecordKey, Record)>> {
        let Some(key) = RecordKey::of_item(item) else { return Ok(None) };
        let practice = self.practice();
        let record = match &key {
            RecordKey::Plan(_) => Plan::from_item(item)?.map(Record::Plan),
            RecordKey::User(_) => User::from_item(item)?.map(Record::User),
            RecordKey::Problem(at) if is_whole(item) => {
                let read = practice.read_problem(item).await?;
                let problem = match read {
                    Some(problem) => Some(problem),
                    None => found(practice.problem(at).await)?,
                };
                problem.map(|problem| Record::Problem(Box::new(problem)))
            }
            RecordKey::Problem(_) => None,
            RecordKey::TestCase(at, _) => {
                let case = practice.latest_test_case(item).await?;
                case.map(|case| Record::TestCase(at.clone(), case))
            }
            RecordKey::Run(id) => {
                let read = practice.read_run(item).await?;
                let run = match read {
                    Some(run) => Some(run),
                    None => found(practice.run(id).await)?,
                };
                run.map(|run| Record::Run(Box::new(run)))
            }
            RecordKey::Usage { user, id, .. } => {
                let entry = UsageLogEntry::from_item(item)?;
                entry.map(|entry| {
                    Record::Usage(UsageRecord {
                        user: user.clone(),
                        id: id.clone(),
                        at_ms: entry.at_ms,
                        action: entry.action,
                        problem_id: entry.problem_id,
                        metadata: entry.metadata,
                    })
                })
            }
        };
        Ok(record.map(|record| (key, record)))
    }

    /// Whether a user was deleted here.
    pub(super) async fn is_erased(&self, key: &RecordKey) -> Result<bool> {
        let item = self.practice().item(key.table_key()).await?;
        Ok(item.is_some_and(|item| item.s(TYPE) == Some(EntityType::Erasure.as_str())))
    }
}

/// A resource that may be gone since its item was read.
fn found<T>(read: crate::Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if error.is_not_found() => Ok(None),
        read => Ok(Some(read?)),
    }
}
