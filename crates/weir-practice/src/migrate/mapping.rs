//! Makes records of rows. Pure.

use jiff::Timestamp;
use serde_json::Value as Json;
use weir_table::event_ids::derived;

use super::record::{Record, canonical};
use super::rows::{
    Columns, FieldProblem, HistoryRow, PlanRow, ProblemRow, SourceRow, TestCaseRow, UsageRow,
    UserRow,
};
use super::solution;
use crate::bounds::METADATA_MAX;
use crate::error::Error;
use crate::history::{Run, RunSummary};
use crate::ids::{
    Email, EventId, GoogleId, HistoryId, PlanId, Platform, ProblemId, ProblemRef, Tag, TestCaseId,
    UserId,
};
use crate::json;
use crate::plans::{Plan, PlanFields, PlanLimit};
use crate::problems::{Deletion, Problem, ProblemSummary};
use crate::test_cases::TestCase;
use crate::usage::UsageRecord;
use crate::users::User;

type Mapped<T> = Result<T, FieldProblem>;

/// The record of a row. It is not checked yet.
pub(super) fn record(row: SourceRow) -> Mapped<Record> {
    let SourceRow { id, weir_id, columns, .. } = row;
    let own_id = || weir_id.clone().unwrap_or_else(|| id.to_string());
    Ok(match columns {
        Columns::Plan(row) => Record::Plan(plan(id, row)?),
        Columns::User(row) => Record::User(user(&own_id(), row)?),
        Columns::Problem(row) => Record::Problem(Box::new(problem(*row)?)),
        Columns::TestCase(row) => test_case(&own_id(), row)?,
        Columns::History(row) => Record::Run(Box::new(run(&own_id(), *row)?)),
        Columns::Usage(row) => Record::Usage(usage(id, weir_id.as_deref(), row)?),
    })
}

/// A field that the practice service does not accept.
pub(super) fn problem_of(error: &Error) -> FieldProblem {
    match error {
        Error::Invalid { field, problem } | Error::TooLarge { field, problem } => {
            FieldProblem { field: field.clone(), problem: problem.clone() }
        }
        other => {
            let text = other.to_string();
            // A conflict of a user names its field: `email: another user has …`.
            let split = text.split_once(": ").filter(|(field, _)| !field.contains(' '));
            let (field, problem) = split.unwrap_or(("", &text));
            FieldProblem { field: field.to_owned(), problem: problem.to_owned() }
        }
    }
}

fn field<T>(name: &str, parsed: crate::Result<T>) -> Mapped<T> {
    parsed.map_err(|error| FieldProblem { field: name.to_owned(), ..problem_of(&error) })
}

fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn seconds(at: Timestamp) -> i64 {
    at.as_millisecond().div_euclid(1000)
}

fn plan(id: i64, row: PlanRow) -> Mapped<Plan> {
    let limit = |name, number: i32| field(name, PlanLimit::from_number(name, number.into()));
    let number = u64::try_from(id).unwrap_or_default();
    Ok(Plan {
        id: field("id", PlanId::new(number))?,
        fields: PlanFields {
            name: row.name,
            description: filled(Some(row.description)),
            max_hints_per_day: limit("max_hints_per_day", row.max_hints_per_day)?,
            max_executions_per_day: limit("max_executions_per_day", row.max_executions_per_day)?,
            max_problems: limit("max_problems", row.max_problems)?,
            can_view_all_problems: row.can_view_all_problems,
            can_register_problems: row.can_register_problems,
            is_active: row.is_active,
        },
        created_s: seconds(row.created_at),
        updated_s: seconds(row.updated_at),
    })
}

fn user(id: &str, row: UserRow) -> Mapped<User> {
    let plan = row.subscription_plan_id.map(|plan| u64::try_from(plan).unwrap_or_default());
    let plan = plan.map_or(Ok(PlanId::FREE), PlanId::new);
    let google_id = filled(row.google_id).map(GoogleId::new).transpose();
    Ok(User {
        id: field("id", UserId::new(id))?,
        email: field("email", Email::new(&row.email))?,
        name: row.name,
        picture_url: filled(row.picture_url),
        google_id: field("google_id", google_id)?,
        plan: field("subscription_plan_id", plan)?,
        is_active: row.is_active,
        is_staff: row.is_staff,
        created_s: seconds(row.created_at),
        updated_s: seconds(row.updated_at),
    })
}

fn problem_ref(platform: &str, problem_id: &str) -> Mapped<ProblemRef> {
    Ok(ProblemRef {
        platform: field("platform", Platform::new(platform))?,
        id: field("problem_id", ProblemId::new(problem_id))?,
    })
}

fn problem(row: ProblemRow) -> Mapped<Problem> {
    let updated_s = seconds(row.updated_at);
    let deletion = row.is_deleted.then(|| Deletion {
        at_s: row.deleted_at.map_or(updated_s, seconds),
        reason: filled(row.deleted_reason),
    });
    Ok(Problem {
        summary: ProblemSummary {
            at: problem_ref(&row.platform, &row.problem_id)?,
            title: row.title,
            url: filled(row.problem_url),
            tags: tags(&row.tags)?,
            language: filled(row.language),
            is_published: row.is_completed,
            deletion,
            needs_review: row.needs_review,
            review_notes: filled(row.review_notes),
            is_verified: row.verified_by_admin,
            reviewed_at_s: row.reviewed_at.map(seconds),
            metadata: object("metadata", row.metadata)?,
            registered_by: None,
            created_s: seconds(row.created_at),
            updated_s,
            version: 1,
        },
        solution_code: filled(row.solution_code.map(|stored| solution::decode(&stored))),
        constraints: filled(row.constraints),
    })
}

fn tags(json: &Json) -> Mapped<Vec<Tag>> {
    let wrong = || FieldProblem { field: "tags".into(), problem: "is not a list of texts".into() };
    let all = json.as_array().ok_or_else(wrong)?;
    all.iter().map(|tag| field("tags", Tag::new(tag.as_str().ok_or_else(wrong)?))).collect()
}

fn test_case(id: &str, row: TestCaseRow) -> Mapped<Record> {
    let at = problem_ref(&row.platform, &row.problem_id)?;
    // The id of one that was created here has its problem before it.
    let id = id.rsplit('/').next().unwrap_or(id);
    let created_s = seconds(row.created_at);
    let case = TestCase {
        id: field("id", TestCaseId::new(id))?,
        input: row.input,
        output: row.output,
        is_sample: false,
        created_s,
        updated_s: created_s,
    };
    Ok(Record::TestCase(at, case))
}

fn run(id: &str, row: HistoryRow) -> Mapped<Run> {
    let user_id = user_ref(row.user_id, row.weir_user_id)?;
    Ok(Run {
        summary: RunSummary {
            id: field("id", HistoryId::new(id))?,
            user_id,
            user_identifier: filled(Some(row.user_identifier)),
            problem_id: row.problem_id.map(|id| id.to_string()),
            platform: Some(field("platform", Platform::new(row.platform))?.to_string()),
            problem_number: Some(row.problem_number),
            problem_title: filled(Some(row.problem_title)),
            language: filled(Some(row.language)),
            result_summary: object("result_summary", row.result_summary)?,
            passed_count: row.passed_count.into(),
            failed_count: row.failed_count.into(),
            total_count: row.total_count.into(),
            is_public: row.is_code_public,
            hints: hints(row.hints)?,
            metadata: object("metadata", row.metadata)?,
            created_s: seconds(row.created_at),
            updated_s: seconds(row.updated_at),
        },
        code: row.code,
        test_results: match &row.test_results {
            Json::Null => Json::Array(Vec::new()),
            results => canonical(results),
        },
    })
}

fn user_ref(row_id: Option<i64>, weir_id: Option<String>) -> Mapped<Option<UserId>> {
    let id = weir_id.or_else(|| row_id.map(|id| id.to_string()));
    field("user_id", id.map(UserId::new).transpose())
}

/// Hints are texts; those that are not are stored as their JSON.
fn hints(json: Option<Json>) -> Mapped<Vec<String>> {
    let text = |hint: &Json| hint.as_str().map_or_else(|| hint.to_string(), str::to_owned);
    match json {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Array(all)) => Ok(all.iter().map(text).collect()),
        Some(_) => Err(FieldProblem { field: "hints".into(), problem: "is not a list".into() }),
    }
}

/// An object; null is an empty one.
fn object(name: &str, json: Json) -> Mapped<Json> {
    match json {
        Json::Null => Ok(Json::Object(serde_json::Map::new())),
        Json::Object(_) => Ok(canonical(&json)),
        _ => Err(FieldProblem { field: name.to_owned(), problem: "is not an object".into() }),
    }
}

fn usage(id: i64, weir_id: Option<&str>, row: UsageRow) -> Mapped<UsageRecord> {
    let at_ms = row.created_at.as_millisecond();
    // The id of one that was counted here has its user before it.
    let event = weir_id.and_then(|id| id.rsplit('/').next()).map(str::to_owned);
    let event = event.unwrap_or_else(|| derived(at_ms, u64::try_from(id).unwrap_or_default()));
    let metadata = object("metadata", row.metadata)?;
    let is_empty = metadata.as_object().is_some_and(serde_json::Map::is_empty);
    let metadata = field("metadata", json::object_value("metadata", &metadata, METADATA_MAX))?;
    let problem_id = row.problem_id.map(|id| ProblemId::new(id.to_string())).transpose();
    let user = user_ref(Some(row.user_id), row.weir_user_id)?;
    let missing = || FieldProblem { field: "user_id".into(), problem: "is missing".into() };
    Ok(UsageRecord {
        user: user.ok_or_else(missing)?,
        id: field("id", EventId::new(event))?,
        at_ms,
        action: field("action", row.action.parse())?,
        problem_id: field("problem_id", problem_id)?,
        metadata: (!is_empty).then_some(metadata),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn user_row() -> UserRow {
        UserRow {
            email: "Ann@Example.com".into(),
            name: String::new(),
            picture_url: Some(String::new()),
            google_id: None,
            subscription_plan_id: None,
            is_active: true,
            is_staff: false,
            created_at: at("2025-10-08T10:00:00.999Z"),
            updated_at: at("2025-10-08T11:00:00Z"),
        }
    }

    fn row(columns: Columns) -> SourceRow {
        SourceRow { id: 12, weir_id: None, columns }
    }

    #[test]
    fn a_user_without_a_plan_is_on_the_free_one() {
        let Record::User(user) = record(row(Columns::User(user_row()))).unwrap() else { panic!() };
        assert_eq!((user.id.as_str(), user.plan), ("12", PlanId::FREE));
        assert_eq!((user.picture_url, user.created_s), (None, 1_759_917_600));
        let mapped = SourceRow { weir_id: Some("01J".into()), ..row(Columns::User(user_row())) };
        let Record::User(user) = record(mapped).unwrap() else { panic!() };
        assert_eq!(user.id.as_str(), "01J");
    }

    #[test]
    fn a_row_that_cannot_be_mapped_names_its_field() {
        let bad = UserRow { email: "nobody".into(), ..user_row() };
        assert_eq!(record(row(Columns::User(bad))).unwrap_err().field, "email");
        let bad = UserRow { subscription_plan_id: Some(-1), ..user_row() };
        assert_eq!(record(row(Columns::User(bad))).unwrap_err().field, "subscription_plan_id");
        assert_eq!(tags(&json!(["a", 1])).unwrap_err().field, "tags");
        assert_eq!(hints(Some(json!({}))).unwrap_err().field, "hints");
    }

    #[test]
    fn an_action_has_the_id_of_its_row() {
        let usage_row = UsageRow {
            user_id: 5,
            weir_user_id: None,
            action: "hint".into(),
            problem_id: Some(3),
            metadata: json!({}),
            created_at: at("2025-10-08T10:00:00.123456Z"),
        };
        let Record::Usage(usage) = record(row(Columns::Usage(usage_row))).unwrap() else {
            panic!()
        };
        assert_eq!(weir_table::event_ids::derived_number(usage.id.as_str()), Some(12));
        assert_eq!((usage.at_ms, usage.metadata), (1_759_917_600_123, None));
    }

    #[test]
    fn a_conflict_names_its_field() {
        let error = Error::conflict("email: another user has this email address");
        assert_eq!(problem_of(&error).field, "email");
        assert_eq!(problem_of(&Error::not_found("plan", 7)).field, "");
    }
}
