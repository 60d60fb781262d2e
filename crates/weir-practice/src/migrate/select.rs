//! Reads rows: pages by id, and rows of records.

use jiff::Timestamp;
use tokio_postgres::GenericClient;
use tokio_postgres::types::ToSql;

use super::entity::Entity;
use super::error::Result;
use super::postgres::Source;
use super::row_ids::BOOKKEEPING;
use super::rows::{FieldProblem, SourceRow};

/// A row, or the id of one that cannot be read, and why.
pub(super) type ReadRow = Result<SourceRow, (i64, FieldProblem)>;

/// Which rows of a table.
#[derive(Debug, Clone)]
pub(super) enum Rows<'a> {
    /// So many with larger ids than this, by id.
    After(i64, i64),
    /// Those with these ids.
    Ids(&'a [i64]),
}

/// Whether rows are locked until the end of the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    No,
    ForUpdate,
}

/// Reads rows of a table; of usage only those since an instant.
pub(super) async fn rows(
    client: &impl GenericClient,
    entity: Entity,
    which: Rows<'_>,
    since_ms: i64,
    lock: Lock,
) -> Result<Vec<ReadRow>> {
    let statement = statement(entity, &which, lock, has_bookkeeping(client).await?);
    let since = instant(since_ms);
    let mut parameters: Vec<&(dyn ToSql + Sync)> = Vec::new();
    match &which {
        Rows::After(after, limit) => parameters.extend([after as &(dyn ToSql + Sync), limit]),
        Rows::Ids(ids) => parameters.push(ids),
    }
    if entity == Entity::Usage {
        parameters.push(&since);
    }
    let found = client.query(&statement, &parameters).await?;
    Ok(found.iter().map(|row| SourceRow::read(entity, row)).collect())
}

impl Source {
    /// A page of rows.
    pub(super) async fn page(
        &self,
        entity: Entity,
        after: i64,
        since_ms: i64,
    ) -> Result<Vec<ReadRow>> {
        let client = self.client().await?;
        let which = Rows::After(after, entity.page_rows());
        rows(&*client, entity, which, since_ms, Lock::No).await
    }

    /// How many rows there are with larger ids than this.
    pub(super) async fn count(&self, entity: Entity, after: i64, since_ms: i64) -> Result<u64> {
        let table = entity.table();
        let client = self.client().await?;
        let counted = if entity == Entity::Usage {
            let since = instant(since_ms);
            let text = format!("SELECT count(*) FROM {table} WHERE id > $1 AND created_at >= $2");
            client.query_one(&text, &[&after, &since]).await?
        } else {
            let text = format!("SELECT count(*) FROM {table} WHERE id > $1");
            client.query_one(&text, &[&after]).await?
        };
        Ok(u64::try_from(counted.try_get::<_, i64>(0)?).unwrap_or_default())
    }

    /// The ids of a random sample of rows, the same for the same seed.
    pub(super) async fn sample(
        &self,
        entity: Entity,
        rows: u32,
        seed: u64,
        since_ms: i64,
    ) -> Result<Vec<i64>> {
        let condition = if entity == Entity::Usage { "created_at >= $3" } else { "$3 = $3" };
        let text = format!(
            "SELECT id FROM {} WHERE {condition} ORDER BY md5($1 || '-' || id::text) LIMIT $2",
            entity.table()
        );
        let (seed, limit, since) = (seed.to_string(), i64::from(rows), instant(since_ms));
        let client = self.client().await?;
        let statement = client
            .prepare_typed(
                &text,
                &[
                    tokio_postgres::types::Type::TEXT,
                    tokio_postgres::types::Type::INT8,
                    tokio_postgres::types::Type::TIMESTAMPTZ,
                ],
            )
            .await?;
        let found = client.query(&statement, &[&seed, &limit, &since]).await?;
        found.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }
}

/// Whether the tables of dual-write and rollback are there.
pub(super) async fn has_bookkeeping(client: &impl GenericClient) -> Result<bool> {
    let text = "SELECT to_regclass($1) IS NOT NULL";
    Ok(client.query_one(text, &[&BOOKKEEPING]).await?.try_get(0)?)
}

/// An instant as PostgreSQL has it.
pub(super) fn instant(at_ms: i64) -> Timestamp {
    Timestamp::from_millisecond(at_ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn statement(entity: Entity, which: &Rows<'_>, lock: Lock, has_bookkeeping: bool) -> String {
    let table = entity.table();
    let (columns, mut joins) = parts(entity);
    let mut ids = vec![("weir_id", table, "id")];
    if matches!(entity, Entity::History | Entity::Usage) {
        ids.push(("weir_user_id", Entity::Users.table(), "user_id"));
    }
    let mut columns = columns.to_owned();
    for (name, of, column) in ids {
        if has_bookkeeping {
            columns.push_str(&format!(", {name}.weir_id AS {name}"));
            joins.push_str(&format!(
                " LEFT JOIN {BOOKKEEPING} {name} ON {name}.entity = '{of}' AND {name}.row_id = t.{column}"
            ));
        } else {
            columns.push_str(&format!(", NULL::text AS {name}"));
        }
    }
    let (condition, next) = match which {
        Rows::After(..) => ("t.id > $1", 3),
        Rows::Ids(_) => ("t.id = ANY($1)", 2),
    };
    let since = match entity {
        Entity::Usage => format!(" AND t.created_at >= ${next}"),
        _ => String::new(),
    };
    let limit = if matches!(which, Rows::After(..)) { " LIMIT $2" } else { "" };
    let lock = if lock == Lock::ForUpdate { " FOR UPDATE OF t" } else { "" };
    format!(
        "SELECT {columns} FROM {table} t{joins} WHERE {condition}{since} ORDER BY t.id{limit}{lock}"
    )
}

/// The columns and joins of a table.
fn parts(entity: Entity) -> (&'static str, String) {
    let columns = match entity {
        Entity::Plans => {
            "t.id, t.name, t.description, t.max_hints_per_day, t.max_executions_per_day, \
             t.max_problems, t.can_view_all_problems, t.can_register_problems, t.is_active, \
             t.created_at, t.updated_at"
        }
        Entity::Users => {
            "t.id, t.email, t.name, t.picture_url, t.google_id, t.subscription_plan_id, \
             t.is_active, t.is_staff, t.created_at, t.updated_at"
        }
        Entity::Problems => {
            "t.id, t.platform, t.problem_id, t.title, t.problem_url, t.tags, t.solution_code, \
             t.language, t.constraints, t.is_completed, t.is_deleted, t.deleted_at, \
             t.deleted_reason, t.needs_review, t.review_notes, t.verified_by_admin, \
             t.reviewed_at, t.metadata, t.created_at, t.updated_at"
        }
        Entity::TestCases => "t.id, p.platform, p.problem_id, t.input, t.output, t.created_at",
        Entity::History => {
            "t.id, t.user_id, t.user_identifier, t.problem_id, t.platform, t.problem_number, \
             t.problem_title, t.language, t.code, t.result_summary, t.passed_count, \
             t.failed_count, t.total_count, t.is_code_public, t.test_results, t.hints, \
             t.metadata, t.created_at, t.updated_at"
        }
        Entity::Usage => "t.id, t.user_id, t.action, t.problem_id, t.metadata, t.created_at",
    };
    let joins = match entity {
        Entity::TestCases => " JOIN problems p ON p.id = t.problem_id",
        _ => "",
    };
    (columns, joins.to_owned())
}
