//! Rows as PostgreSQL has them.

use jiff::Timestamp;
use serde_json::Value as Json;
use tokio_postgres::Row;
use tokio_postgres::types::FromSqlOwned;

use super::entity::Entity;

/// A row with its id.
#[derive(Debug, Clone)]
pub(super) struct SourceRow {
    pub(super) id: i64,
    /// The id in our table, if it does not derive from the id of the row.
    pub(super) weir_id: Option<String>,
    pub(super) columns: Columns,
}

/// The columns of a row.
#[derive(Debug, Clone)]
pub(super) enum Columns {
    Plan(PlanRow),
    User(UserRow),
    Problem(Box<ProblemRow>),
    TestCase(TestCaseRow),
    History(Box<HistoryRow>),
    Usage(UsageRow),
}

#[derive(Debug, Clone)]
pub(super) struct PlanRow {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) max_hints_per_day: i32,
    pub(super) max_executions_per_day: i32,
    pub(super) max_problems: i32,
    pub(super) can_view_all_problems: bool,
    pub(super) can_register_problems: bool,
    pub(super) is_active: bool,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

#[derive(Debug, Clone)]
pub(super) struct UserRow {
    pub(super) email: String,
    pub(super) name: String,
    pub(super) picture_url: Option<String>,
    pub(super) google_id: Option<String>,
    pub(super) subscription_plan_id: Option<i64>,
    pub(super) is_active: bool,
    pub(super) is_staff: bool,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

#[derive(Debug, Clone)]
pub(super) struct ProblemRow {
    pub(super) platform: String,
    pub(super) problem_id: String,
    pub(super) title: String,
    pub(super) problem_url: Option<String>,
    pub(super) tags: Json,
    pub(super) solution_code: Option<String>,
    pub(super) language: Option<String>,
    pub(super) constraints: Option<String>,
    pub(super) is_completed: bool,
    pub(super) is_deleted: bool,
    pub(super) deleted_at: Option<Timestamp>,
    pub(super) deleted_reason: Option<String>,
    pub(super) needs_review: bool,
    pub(super) review_notes: Option<String>,
    pub(super) verified_by_admin: bool,
    pub(super) reviewed_at: Option<Timestamp>,
    pub(super) metadata: Json,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

#[derive(Debug, Clone)]
pub(super) struct TestCaseRow {
    /// Of the problem.
    pub(super) platform: String,
    /// Of the problem, on its platform.
    pub(super) problem_id: String,
    pub(super) input: String,
    pub(super) output: String,
    pub(super) created_at: Timestamp,
}

#[derive(Debug, Clone)]
pub(super) struct HistoryRow {
    pub(super) user_id: Option<i64>,
    /// The id of the user in our table, if it does not derive.
    pub(super) weir_user_id: Option<String>,
    pub(super) user_identifier: String,
    pub(super) problem_id: Option<i64>,
    pub(super) platform: String,
    pub(super) problem_number: String,
    pub(super) problem_title: String,
    pub(super) language: String,
    pub(super) code: String,
    pub(super) result_summary: Json,
    pub(super) passed_count: i32,
    pub(super) failed_count: i32,
    pub(super) total_count: i32,
    pub(super) is_code_public: bool,
    pub(super) test_results: Json,
    pub(super) hints: Option<Json>,
    pub(super) metadata: Json,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

#[derive(Debug, Clone)]
pub(super) struct UsageRow {
    pub(super) user_id: i64,
    pub(super) weir_user_id: Option<String>,
    pub(super) action: String,
    pub(super) problem_id: Option<i64>,
    pub(super) metadata: Json,
    pub(super) created_at: Timestamp,
}

/// A field of a row that cannot be migrated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FieldProblem {
    pub(super) field: String,
    pub(super) problem: String,
}

impl SourceRow {
    /// Reads a row; its id and why, if a column is not what it should be.
    pub(super) fn read(entity: Entity, row: &Row) -> Result<SourceRow, (i64, FieldProblem)> {
        let id = column(row, "id").map_err(|problem| (0, problem))?;
        let read = || -> Result<SourceRow, FieldProblem> {
            let weir_id = column(row, "weir_id")?;
            Ok(SourceRow { id, weir_id, columns: columns(entity, row)? })
        };
        read().map_err(|problem| (id, problem))
    }
}

fn columns(entity: Entity, row: &Row) -> Result<Columns, FieldProblem> {
    Ok(match entity {
        Entity::Plans => Columns::Plan(plan(row)?),
        Entity::Users => Columns::User(user(row)?),
        Entity::Problems => Columns::Problem(Box::new(problem(row)?)),
        Entity::TestCases => Columns::TestCase(TestCaseRow {
            platform: column(row, "platform")?,
            problem_id: column(row, "problem_id")?,
            input: column(row, "input")?,
            output: column(row, "output")?,
            created_at: column(row, "created_at")?,
        }),
        Entity::History => Columns::History(Box::new(history(row)?)),
        Entity::Usage => Columns::Usage(UsageRow {
            user_id: column(row, "user_id")?,
            weir_user_id: column(row, "weir_user_id")?,
            action: column(row, "action")?,
            problem_id: column(row, "problem_id")?,
            metadata: column(row, "metadata")?,
            created_at: column(row, "created_at")?,
        }),
    })
}

fn plan(row: &Row) -> Result<PlanRow, FieldProblem> {
    Ok(PlanRow {
        name: column(row, "name")?,
        description: column(row, "description")?,
        max_hints_per_day: column(row, "max_hints_per_day")?,
        max_executions_per_day: column(row, "max_executions_per_day")?,
        max_problems: column(row, "max_problems")?,
        can_view_all_problems: column(row, "can_view_all_problems")?,
        can_register_problems: column(row, "can_register_problems")?,
        is_active: column(row, "is_active")?,
        created_at: column(row, "created_at")?,
        updated_at: column(row, "updated_at")?,
    })
}

fn user(row: &Row) -> Result<UserRow, FieldProblem> {
    Ok(UserRow {
        email: column(row, "email")?,
        name: column(row, "name")?,
        picture_url: column(row, "picture_url")?,
        google_id: column(row, "google_id")?,
        subscription_plan_id: column(row, "subscription_plan_id")?,
        is_active: column(row, "is_active")?,
        is_staff: column(row, "is_staff")?,
        created_at: column(row, "created_at")?,
        updated_at: column(row, "updated_at")?,
    })
}

fn problem(row: &Row) -> Result<ProblemRow, FieldProblem> {
    Ok(ProblemRow {
        platform: column(row, "platform")?,
        problem_id: column(row, "problem_id")?,
        title: column(row, "title")?,
        problem_url: column(row, "problem_url")?,
        tags: column(row, "tags")?,
        solution_code: column(row, "solution_code")?,
        language: column(row, "language")?,
        constraints: column(row, "constraints")?,
        is_completed: column(row, "is_completed")?,
        is_deleted: column(row, "is_deleted")?,
        deleted_at: column(row, "deleted_at")?,
        deleted_reason: column(row, "deleted_reason")?,
        needs_review: column(row, "needs_review")?,
        review_notes: column(row, "review_notes")?,
        verified_by_admin: column(row, "verified_by_admin")?,
        reviewed_at: column(row, "reviewed_at")?,
        metadata: column(row, "metadata")?,
        created_at: column(row, "created_at")?,
        updated_at: column(row, "updated_at")?,
    })
}

fn history(row: &Row) -> Result<HistoryRow, FieldProblem> {
    Ok(HistoryRow {
        user_id: column(row, "user_id")?,
        weir_user_id: column(row, "weir_user_id")?,
        user_identifier: column(row, "user_identifier")?,
        problem_id: column(row, "problem_id")?,
        platform: column(row, "platform")?,
        problem_number: column(row, "problem_number")?,
        problem_title: column(row, "problem_title")?,
        language: column(row, "language")?,
        code: column(row, "code")?,
        result_summary: column(row, "result_summary")?,
        passed_count: column(row, "passed_count")?,
        failed_count: column(row, "failed_count")?,
        total_count: column(row, "total_count")?,
        is_code_public: column(row, "is_code_public")?,
        test_results: column(row, "test_results")?,
        hints: column(row, "hints")?,
        metadata: column(row, "metadata")?,
        created_at: column(row, "created_at")?,
        updated_at: column(row, "updated_at")?,
    })
}

fn column<T: FromSqlOwned>(row: &Row, name: &str) -> Result<T, FieldProblem> {
    row.try_get(name).map_err(|error| {
        let cause = std::error::Error::source(&error);
        let problem = cause.map_or_else(|| error.to_string(), ToString::to_string);
        FieldProblem { field: name.to_owned(), problem }
    })
}
