//! Stores in our table what it has missed, in the order of the writes.
//!
//! An entry leaves the queue after our table has the record. The row is read when the entry is replayed, so a later entry of
//! the same row finds nothing to do. A record that is newer in our table goes back to PostgreSQL.

use tokio_postgres::Client;
use weir_table::Backend;

use super::super::Migration;
use super::super::audit::ACTOR;
use super::super::backfill::checked;
use super::super::entity::Entity;
use super::super::error::{Error, Result, is_of_record};
use super::super::mapping::problem_of;
use super::super::record_key::RecordKey;
use super::super::select::{Lock, Rows, rows};
use super::super::write_back::{WriteBackMode, WrittenBack};
use super::apply::APPLY;
use super::forget::WhenQueued;
use crate::ids::{HistoryId, PlanId, Platform, ProblemId, ProblemRef, TestCaseId, UserId};
use crate::import::OnDifference;

/// Entries that are read at once.
const ENTRIES: i64 = 200;
/// Reads of a run, so 10 000 entries. While PostgreSQL is written faster than entries are replayed, the queue never empties,
/// and changes of our table wait for the end of the replay.
const ROUNDS_MAX: usize = 50;

/// Counts of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Replayed {
    pub(super) replayed: u64,
    pub(super) refused: u64,
    /// Whether the queue was empty at the end.
    pub(super) is_empty: bool,
}

/// An entry of the queue.
#[derive(Debug, Clone)]
struct Entry {
    seq: i64,
    entity: Entity,
    row_id: i64,
    is_delete: bool,
    /// The problem of a deleted problem or test case.
    problem: Option<(String, String)>,
    /// The id in our table, if it does not derive.
    weir_id: Option<String>,
}

impl<B: Backend> Migration<B> {
    /// Replays entries of the queue until it is empty, for at most [`ROUNDS_MAX`] rounds.
    pub(super) async fn replay(&self) -> Result<Replayed> {
        let mut client = self.source().connect().await?;
        let mut total = Replayed::default();
        for _ in 0..ROUNDS_MAX {
            let entries = entries(&client).await?;
            if entries.is_empty() {
                total.is_empty = true;
                break;
            }
            // Neighbours of one kind are stored together.
            for some in entries.chunk_by(|a, b| (a.entity, a.is_delete) == (b.entity, b.is_delete))
            {
                let refused = if some.iter().any(|entry| entry.is_delete) {
                    self.replay_deletes(some).await?
                } else {
                    self.replay_writes(&mut client, some).await?
                };
                total.refused += refused.len() as u64;
                total.replayed += (some.len() - refused.len()) as u64;
                settle(&client, some, &refused).await?;
            }
        }
        Ok(total)
    }

    /// Stores rows as they are now. Returns the entries that were refused, and why.
    async fn replay_writes(
        &self,
        client: &mut Client,
        entries: &[Entry],
    ) -> Result<Vec<(i64, String)>> {
        let Some(entity) = entries.first().map(|entry| entry.entity) else { return Ok(Vec::new()) };
        let mut ids: Vec<i64> = entries.iter().map(|entry| entry.row_id).collect();
        ids.sort_unstable();
        ids.dedup();
        let since_ms = self.usage_since_ms();
        let found = rows(&*client, entity, Rows::Ids(&ids), since_ms, Lock::No).await?;
        let (mut records, mut refused) = (Vec::new(), Vec::new());
        for row in found {
            match checked(row) {
                Ok(numbered) => records.push(numbered),
                Err((row, problem)) => {
                    refused.push((row, format!("{}: {}", problem.field, problem.problem)));
                }
            }
        }
        let zone = &self.practice().settings().zone;
        let keys: Vec<(i64, RecordKey)> =
            records.iter().map(|(row, record)| (*row, record.key(zone))).collect();
        let stored = self.import(records, OnDifference::ReplaceUnlessNewer).await?;
        for (row, error) in &stored.refused {
            let problem = problem_of(error);
            refused.push((*row, format!("{} {}", problem.field, problem.problem)));
        }
        for (row, key) in keys.iter().filter(|(row, _)| stored.kept.contains(row)) {
            match self.give_back(client, key).await {
                Err(error) if error.is_of_record() => refused.push((*row, error.to_string())),
                given_back => given_back?,
            }
        }
        let of_row = |row: i64| entries.iter().filter(move |entry| entry.row_id == row);
        let all = refused.iter().flat_map(|(row, why)| {
            of_row(*row).map(|entry| (entry.seq, why.clone())).collect::<Vec<_>>()
        });
        Ok(all.collect())
    }

    /// Writes a record that is newer in our table to PostgreSQL, whose row waits in the queue. A user who was deleted here,
    /// and its runs, are forgotten there: the entry is the last to name the row.
    async fn give_back(&self, client: &mut Client, key: &RecordKey) -> Result<()> {
        let mode = WriteBackMode { skips_queued: false, ..APPLY };
        let records: Vec<_> = self.load(std::slice::from_ref(key)).await?.into_iter().collect();
        if records.is_empty() && matches!(key, RecordKey::User(_) | RecordKey::Run(_)) {
            return self.forget_row(client, key, WhenQueued::Go).await.map(drop);
        }
        self.write_back(client, &records, mode, &mut WrittenBack::default()).await
    }

    /// Deletes records. Returns the entries that were refused, and why.
    async fn replay_deletes(&self, entries: &[Entry]) -> Result<Vec<(i64, String)>> {
        let mut refused = Vec::new();
        for entry in entries {
            match self.replay_delete(entry).await {
                Err(error) if error.is_not_found() => {}
                Err(error) if is_of_record(&error) => refused.push((entry.seq, error.to_string())),
                deleted => deleted?,
            }
        }
        Ok(refused)
    }

    async fn replay_delete(&self, entry: &Entry) -> crate::Result<()> {
        let practice = self.practice();
        let id = entry.weir_id.clone().unwrap_or_else(|| entry.row_id.to_string());
        let problem = || -> crate::Result<ProblemRef> {
            let (platform, id) = entry.problem.clone().unwrap_or_default();
            Ok(ProblemRef { platform: Platform::new(platform)?, id: ProblemId::new(id)? })
        };
        match entry.entity {
            Entity::Plans => practice.delete_plan(id.parse::<PlanId>()?, ACTOR).await,
            Entity::Users => practice.erase_user(&UserId::new(id)?, ACTOR).await,
            Entity::Problems => practice.purge_problem(&problem()?, ACTOR).await,
            Entity::TestCases => {
                let id = TestCaseId::new(id.rsplit('/').next().unwrap_or(&id))?;
                practice.delete_test_case(&problem()?, &id, ACTOR).await
            }
            Entity::History => practice.delete_run(&HistoryId::new(id)?).await.map(drop),
            Entity::Usage => Ok(()),
        }
    }
}

async fn entries(client: &Client) -> Result<Vec<Entry>> {
    let text = "SELECT m.seq, m.entity, m.row_id, m.operation, m.platform, m.problem_id, i.weir_id \
                FROM weir_missed m LEFT JOIN weir_ids i \
                ON i.entity = m.entity AND i.row_id = m.row_id \
                WHERE m.problem IS NULL ORDER BY m.seq LIMIT $1";
    let mut entries = Vec::new();
    for row in client.query(text, &[&ENTRIES]).await? {
        let entity: String = row.try_get(1)?;
        let unknown = || Error::State(format!("the queue names the unknown table {entity:?}"));
        let platform: Option<String> = row.try_get(4)?;
        entries.push(Entry {
            seq: row.try_get(0)?,
            entity: Entity::of_table(&entity).ok_or_else(unknown)?,
            row_id: row.try_get(2)?,
            is_delete: row.try_get::<_, String>(3)? == "delete",
            problem: platform.zip(row.try_get(5)?),
            weir_id: row.try_get(6)?,
        });
    }
    Ok(entries)
}

/// Removes entries that our table has, and notes why it refused others.
async fn settle(client: &Client, entries: &[Entry], refused: &[(i64, String)]) -> Result<()> {
    let is_refused = |seq: i64| refused.iter().any(|(refused, _)| *refused == seq);
    let done: Vec<i64> =
        entries.iter().map(|entry| entry.seq).filter(|seq| !is_refused(*seq)).collect();
    client.execute("DELETE FROM weir_missed WHERE seq = ANY($1)", &[&done]).await?;
    for (seq, why) in refused {
        let text = "UPDATE weir_missed SET problem = $2 WHERE seq = $1";
        client.execute(text, &[seq, why]).await?;
    }
    Ok(())
}
