//! Finds the rows of records.
//!
//! A record whose id does not derive from a row gets the next id of its table when it is written to PostgreSQL. The table
//! [`BOOKKEEPING`] there remembers which, so that both sides keep naming the same record.

use std::collections::HashMap;

use tokio_postgres::GenericClient;
use weir_table::Backend;

use super::Migration;
use super::entity::Entity;
use super::error::Result;
use super::mapping;
use super::record::Record;
use super::record_key::RecordKey;
use super::select::{Lock, Rows, has_bookkeeping, rows};

/// The table in PostgreSQL with the ids of records that were created in ours.
pub(super) const BOOKKEEPING: &str = "weir_ids";

const CREATE: &str = include_str!("weir_ids.sql");

/// A record of PostgreSQL with the id of its row.
pub(super) type Found = HashMap<RecordKey, (i64, Record)>;

/// Creates the table of ids, if it is missing.
pub(super) async fn prepare(client: &impl GenericClient) -> Result<()> {
    Ok(client.batch_execute(CREATE).await?)
}

/// The rows of records of one kind, by the keys of the records; those without a row are missing.
pub(super) async fn row_ids(
    client: &impl GenericClient,
    keys: &[RecordKey],
) -> Result<HashMap<RecordKey, i64>> {
    let mut ids = HashMap::with_capacity(keys.len());
    let (mut problems, mut others) = (Vec::new(), Vec::new());
    for key in keys {
        match (key, key.derived_row()) {
            (RecordKey::Problem(at), _) => problems.push((at.clone(), key)),
            (_, Some(row)) => drop(ids.insert(key.clone(), row)),
            _ => others.push(key),
        }
    }
    if !problems.is_empty() {
        let platforms: Vec<&str> = problems.iter().map(|(at, _)| at.platform.as_str()).collect();
        let numbers: Vec<&str> = problems.iter().map(|(at, _)| at.id.as_str()).collect();
        let text = "SELECT p.id, k.number FROM problems p \
                    JOIN unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (platform, id, number) \
                    ON p.platform = k.platform AND p.problem_id = k.id";
        for row in client.query(text, &[&platforms, &numbers]).await? {
            let number = usize::try_from(row.try_get::<_, i64>(1)?).unwrap_or_default();
            if let Some((_, key)) = problems.get(number.wrapping_sub(1)) {
                ids.insert((*key).clone(), row.try_get(0)?);
            }
        }
    }
    if let Some(first) = others.first()
        && has_bookkeeping(client).await?
    {
        let texts: Vec<String> = others.iter().map(|key| key.id_text()).collect();
        let text = format!(
            "SELECT weir_id, row_id FROM {BOOKKEEPING} WHERE entity = $1 AND weir_id = ANY($2)"
        );
        let found = client.query(&text, &[&first.entity().table(), &texts]).await?;
        let mut rows = HashMap::new();
        for row in &found {
            rows.insert(row.try_get::<_, String>(0)?, row.try_get::<_, i64>(1)?);
        }
        ids.extend(
            others
                .into_iter()
                .filter_map(|key| rows.get(&key.id_text()).map(|row| (key.clone(), *row))),
        );
    }
    Ok(ids)
}

impl<B: Backend> Migration<B> {
    /// The records of PostgreSQL with these keys. Rows that cannot be mapped are left out.
    pub(super) async fn load_rows(
        &self,
        client: &impl GenericClient,
        keys: &[RecordKey],
        lock: Lock,
    ) -> Result<Found> {
        let mut found = Found::with_capacity(keys.len());
        for entity in Entity::ALL {
            let some: Vec<RecordKey> =
                keys.iter().filter(|key| key.entity() == entity).cloned().collect();
            if some.is_empty() {
                continue;
            }
            let ids: Vec<i64> = row_ids(client, &some).await?.into_values().collect();
            let read = rows(client, entity, Rows::Ids(&ids), i64::MIN, lock).await?;
            let zone = &self.practice().settings().zone;
            for row in read.into_iter().flatten() {
                let id = row.id;
                if let Ok(record) = mapping::record(row) {
                    found.insert(record.key(zone), (id, record));
                }
            }
        }
        Ok(found)
    }
}
