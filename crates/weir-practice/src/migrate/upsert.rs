//! Writes records to PostgreSQL.

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;
use weir_table::Backend;

use super::Migration;
use super::entity::Entity;
use super::error::{Error, Result};
use super::record::Record;
use super::record_key::RecordKey;
use super::row_ids::BOOKKEEPING;
use super::solution;
use crate::history::Run;
use crate::json;
use crate::plans::Plan;
use crate::problems::Problem;
use crate::usage::UsageRecord;
use crate::users::User;

type Value = Box<dyn ToSql + Sync + Send>;
/// Columns with their values.
type Columns = Vec<(&'static str, Value)>;

impl<B: Backend> Migration<B> {
    /// Writes a record over a row, or as a new one. Returns the id of the row, and adds to `parents` the records that had to
    /// be inserted before.
    pub(super) async fn upsert(
        &self,
        transaction: &Transaction<'_>,
        record: &Record,
        row: Option<i64>,
        parents: &mut Vec<RecordKey>,
    ) -> Result<i64> {
        let key = record.key(&self.practice().settings().zone);
        let columns = self.columns(transaction, record, parents).await?;
        match row {
            Some(row) => {
                update(transaction, key.entity(), row, &columns).await?;
                Ok(row)
            }
            None => insert(transaction, &key, columns).await,
        }
    }

    async fn columns(
        &self,
        transaction: &Transaction<'_>,
        record: &Record,
        parents: &mut Vec<RecordKey>,
    ) -> Result<Columns> {
        Ok(match record {
            Record::Plan(plan) => plan_columns(plan),
            Record::User(user) => {
                user_columns(user, self.plan_row(transaction, user.plan, parents).await?)
            }
            Record::Problem(problem) => problem_columns(problem),
            Record::TestCase(at, case) => vec![
                ("problem_id", value(self.problem_row(transaction, at, parents).await?)),
                ("input", value(case.input.clone())),
                ("output", value(case.output.clone())),
                ("created_at", time(case.created_s)),
            ],
            Record::Run(run) => {
                let user = match &run.summary.user_id {
                    Some(user) => self.user_row(transaction, user, parents).await?,
                    None => None,
                };
                let problem = self.number_row(transaction, run.summary.problem_id.as_deref());
                run_columns(run, user, problem.await?)
            }
            Record::Usage(usage) => {
                let user = self.user_row(transaction, &usage.user, parents).await?;
                let missing = || Error::Refused {
                    message: format!("the user {} does not exist", usage.user),
                    is_data: true,
                };
                let problem = usage.problem_id.as_ref().map(|id| id.as_str());
                let problem = self.number_row(transaction, problem).await?;
                usage_columns(usage, user.ok_or_else(missing)?, problem)
            }
        })
    }
}

async fn insert(
    transaction: &Transaction<'_>,
    key: &RecordKey,
    mut columns: Columns,
) -> Result<i64> {
    let table = key.entity().table();
    let derived = key.derived_row();
    columns.extend(derived.map(|row| ("id", value(row))));
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let places: Vec<String> = (1..=columns.len()).map(|number| format!("${number}")).collect();
    let text = format!(
        "INSERT INTO {table} ({}) VALUES ({}) RETURNING id",
        names.join(", "),
        places.join(", ")
    );
    let row: i64 = transaction.query_one(&text, &parameters(&columns)).await?.try_get(0)?;
    if derived.is_some() {
        // The next row of the application gets another id.
        let text = format!(
            "SELECT setval(pg_get_serial_sequence('{table}', 'id'), GREATEST($1, \
             nextval(pg_get_serial_sequence('{table}', 'id'))))"
        );
        transaction.query_one(&text, &[&row]).await?;
    } else if !matches!(key, RecordKey::Problem(_)) {
        let text =
            format!("INSERT INTO {BOOKKEEPING} (entity, weir_id, row_id) VALUES ($1, $2, $3)");
        transaction.execute(&text, &[&table, &key.id_text(), &row]).await?;
    }
    Ok(row)
}

async fn update(
    transaction: &Transaction<'_>,
    entity: Entity,
    row: i64,
    columns: &Columns,
) -> Result<()> {
    let set = |(number, (name, _)): (usize, &(&str, Value))| {
        let place = number + 1;
        if *name == "created_at" {
            // Rows know parts of a second.
            return format!(
                "created_at = CASE WHEN date_trunc('second', created_at) = ${place} \
                 THEN created_at ELSE ${place} END"
            );
        }
        format!("{name} = ${place}")
    };
    let sets: Vec<String> = columns.iter().enumerate().map(set).collect();
    let text = format!(
        "UPDATE {} SET {} WHERE id = ${}",
        entity.table(),
        sets.join(", "),
        columns.len() + 1
    );
    let mut values = parameters(columns);
    values.push(&row);
    transaction.execute(&text, &values).await?;
    Ok(())
}

fn parameters(columns: &Columns) -> Vec<&(dyn ToSql + Sync)> {
    columns.iter().map(|(_, value)| &**value as &(dyn ToSql + Sync)).collect()
}

fn value(value: impl ToSql + Sync + Send + 'static) -> Value {
    Box::new(value)
}

fn at(at_s: i64) -> Timestamp {
    Timestamp::from_second(at_s).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn time(at_s: i64) -> Value {
    value(at(at_s))
}

/// A text of a column that is never null.
fn filled(text: Option<&String>) -> Value {
    value(text.cloned().unwrap_or_default())
}

fn number(number: i64) -> Value {
    value(i32::try_from(number).unwrap_or(i32::MAX))
}

fn plan_columns(plan: &Plan) -> Columns {
    let fields = &plan.fields;
    vec![
        ("name", value(fields.name.clone())),
        ("description", filled(fields.description.as_ref())),
        ("max_hints_per_day", number(fields.max_hints_per_day.to_number())),
        ("max_executions_per_day", number(fields.max_executions_per_day.to_number())),
        ("max_problems", number(fields.max_problems.to_number())),
        ("can_view_all_problems", value(fields.can_view_all_problems)),
        ("can_register_problems", value(fields.can_register_problems)),
        ("is_active", value(fields.is_active)),
        ("created_at", time(plan.created_s)),
        ("updated_at", time(plan.updated_s)),
    ]
}

fn user_columns(user: &User, plan: Option<i64>) -> Columns {
    vec![
        ("email", value(user.email.as_str().to_owned())),
        ("name", value(user.name.clone())),
        ("picture_url", value(user.picture_url.clone())),
        ("google_id", value(user.google_id.as_ref().map(ToString::to_string))),
        ("subscription_plan_id", value(plan)),
        ("is_active", value(user.is_active)),
        ("is_staff", value(user.is_staff)),
        ("created_at", time(user.created_s)),
        ("updated_at", time(user.updated_s)),
    ]
}

fn problem_columns(problem: &Problem) -> Columns {
    let summary = &problem.summary;
    let deletion = summary.deletion.as_ref();
    let tags: Vec<&str> = summary.tags.iter().map(|tag| tag.as_str()).collect();
    vec![
        ("platform", value(summary.at.platform.to_string())),
        ("problem_id", value(summary.at.id.to_string())),
        ("title", value(summary.title.clone())),
        ("problem_url", value(summary.url.clone())),
        ("tags", value(json!(tags))),
        ("solution_code", value(problem.solution_code.as_deref().map(solution::encode))),
        ("language", value(summary.language.clone())),
        ("constraints", value(problem.constraints.clone())),
        ("is_completed", value(summary.is_published)),
        ("is_deleted", value(deletion.is_some())),
        ("deleted_at", value(deletion.map(|deletion| at(deletion.at_s)))),
        ("deleted_reason", value(deletion.and_then(|deletion| deletion.reason.clone()))),
        ("needs_review", value(summary.needs_review)),
        ("review_notes", value(summary.review_notes.clone())),
        ("verified_by_admin", value(summary.is_verified)),
        ("reviewed_at", value(summary.reviewed_at_s.map(at))),
        ("metadata", value(summary.metadata.clone())),
        ("created_at", time(summary.created_s)),
        ("updated_at", time(summary.updated_s)),
    ]
}

fn run_columns(run: &Run, user: Option<i64>, problem: Option<i64>) -> Columns {
    let summary = &run.summary;
    vec![
        ("user_id", value(user)),
        ("user_identifier", filled(summary.user_identifier.as_ref())),
        ("problem_id", value(problem)),
        ("platform", filled(summary.platform.as_ref())),
        ("problem_number", filled(summary.problem_number.as_ref())),
        ("problem_title", filled(summary.problem_title.as_ref())),
        ("language", filled(summary.language.as_ref())),
        ("code", value(run.code.clone())),
        ("result_summary", value(summary.result_summary.clone())),
        ("passed_count", number(summary.passed_count)),
        ("failed_count", number(summary.failed_count)),
        ("total_count", number(summary.total_count)),
        ("is_code_public", value(summary.is_public)),
        ("test_results", value(run.test_results.clone())),
        ("hints", value(json!(summary.hints))),
        ("metadata", value(summary.metadata.clone())),
        ("created_at", time(summary.created_s)),
        ("updated_at", time(summary.updated_s)),
    ]
}

fn usage_columns(usage: &UsageRecord, user: i64, problem: Option<i64>) -> Columns {
    let metadata: Json = usage.metadata.as_ref().map_or_else(|| json!({}), json::from_value);
    let at = Timestamp::from_millisecond(usage.at_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    vec![
        ("user_id", value(user)),
        ("action", value(usage.action.as_str())),
        ("problem_id", value(problem)),
        ("metadata", value(metadata)),
        ("created_at", value(at)),
    ]
}
