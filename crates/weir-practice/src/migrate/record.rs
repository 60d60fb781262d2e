//! What both sides have in common: a record with its fields under the names of the columns.

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use weir_calendar::Zone;

use super::record_key::{RecordKey, row_number};
use crate::day::day_of;
use crate::history::Run;
use crate::ids::ProblemRef;
use crate::json;
use crate::plans::Plan;
use crate::problems::Problem;
use crate::test_cases::TestCase;
use crate::usage::UsageRecord;
use crate::users::User;

/// A record of either side.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// A plan.
    Plan(Plan),
    /// A user.
    User(User),
    /// A problem.
    Problem(Box<Problem>),
    /// A test case of a problem.
    TestCase(ProblemRef, TestCase),
    /// A recorded run.
    Run(Box<Run>),
    /// An action of a user.
    Usage(UsageRecord),
}

/// Fields under the names of their columns.
pub(super) type Fields = Vec<(&'static str, Json)>;

impl Record {
    /// The key. Days are those of a time zone.
    #[must_use]
    pub fn key(&self, zone: &Zone) -> RecordKey {
        match self {
            Record::Plan(plan) => RecordKey::Plan(plan.id),
            Record::User(user) => RecordKey::User(user.id.clone()),
            Record::Problem(problem) => RecordKey::Problem(problem.summary.at.clone()),
            Record::TestCase(at, case) => RecordKey::TestCase(at.clone(), case.id.clone()),
            Record::Run(run) => RecordKey::Run(run.summary.id.clone()),
            Record::Usage(usage) => RecordKey::Usage {
                user: usage.user.clone(),
                day: day_of(zone, usage.at_ms),
                at_ms: usage.at_ms,
                action: usage.action,
                id: usage.id.clone(),
            },
        }
    }

    /// When the record was last changed, in seconds since 1970, if both sides know it.
    #[must_use]
    pub fn updated_s(&self) -> Option<i64> {
        match self {
            Record::Plan(plan) => Some(plan.updated_s),
            Record::User(user) => Some(user.updated_s),
            Record::Problem(problem) => Some(problem.summary.updated_s),
            Record::Run(run) => Some(run.summary.updated_s),
            Record::TestCase(..) | Record::Usage(_) => None,
        }
    }

    /// Whether both sides have the same.
    #[must_use]
    pub fn is_same(&self, other: &Record) -> bool {
        self.fields() == other.fields()
    }

    /// Checks a record as the practice service checks what its clients send.
    ///
    /// # Errors
    /// A field is invalid.
    pub fn check(&self) -> crate::Result<()> {
        match self {
            Record::Plan(plan) => plan.fields.check(),
            Record::User(user) => user.check_import(),
            Record::Problem(problem) => problem.check_import(),
            Record::TestCase(_, case) => case.check_import(),
            Record::Run(run) => run.check_import(),
            Record::Usage(usage) => usage.check_import(),
        }
    }

    /// The fields that both sides have.
    pub(super) fn fields(&self) -> Fields {
        match self {
            Record::Plan(plan) => plan_fields(plan),
            Record::User(user) => user_fields(user),
            Record::Problem(problem) => problem_fields(problem),
            Record::TestCase(_, case) => vec![
                ("input", json!(case.input)),
                ("output", json!(case.output)),
                ("created_at", time(case.created_s)),
            ],
            Record::Run(run) => run_fields(run),
            Record::Usage(usage) => vec![
                ("user_id", json!(usage.user.as_str())),
                ("action", json!(usage.action.as_str())),
                ("problem_id", row_ref(usage.problem_id.as_ref().map(|id| id.as_str()))),
                ("metadata", usage.metadata.as_ref().map_or_else(|| json!({}), json::from_value)),
                ("created_at", time_ms(usage.at_ms)),
            ],
        }
    }
}

fn plan_fields(plan: &Plan) -> Fields {
    let fields = &plan.fields;
    vec![
        ("name", json!(fields.name)),
        ("description", optional(fields.description.as_deref())),
        ("max_hints_per_day", json!(fields.max_hints_per_day.to_number())),
        ("max_executions_per_day", json!(fields.max_executions_per_day.to_number())),
        ("max_problems", json!(fields.max_problems.to_number())),
        ("can_view_all_problems", json!(fields.can_view_all_problems)),
        ("can_register_problems", json!(fields.can_register_problems)),
        ("is_active", json!(fields.is_active)),
        ("created_at", time(plan.created_s)),
        ("updated_at", time(plan.updated_s)),
    ]
}

fn user_fields(user: &User) -> Fields {
    vec![
        ("email", json!(user.email.as_str())),
        ("name", json!(user.name)),
        ("picture_url", optional(user.picture_url.as_deref())),
        ("google_id", optional(user.google_id.as_ref().map(|id| id.as_str()))),
        ("subscription_plan_id", json!(user.plan.get())),
        ("is_active", json!(user.is_active)),
        ("is_staff", json!(user.is_staff)),
        ("created_at", time(user.created_s)),
        ("updated_at", time(user.updated_s)),
    ]
}

fn problem_fields(problem: &Problem) -> Fields {
    let summary = &problem.summary;
    let deletion = summary.deletion.as_ref();
    let reason = deletion.and_then(|deletion| deletion.reason.as_deref());
    let tags: Vec<&str> = summary.tags.iter().map(|tag| tag.as_str()).collect();
    vec![
        ("title", json!(summary.title)),
        ("problem_url", optional(summary.url.as_deref())),
        ("tags", json!(tags)),
        ("solution_code", optional(problem.solution_code.as_deref())),
        ("language", optional(summary.language.as_deref())),
        ("constraints", optional(problem.constraints.as_deref())),
        ("is_completed", json!(summary.is_published)),
        ("is_deleted", json!(deletion.is_some())),
        ("deleted_at", deletion.map_or(Json::Null, |deletion| time(deletion.at_s))),
        ("deleted_reason", optional(reason)),
        ("needs_review", json!(summary.needs_review)),
        ("review_notes", optional(summary.review_notes.as_deref())),
        ("verified_by_admin", json!(summary.is_verified)),
        ("reviewed_at", summary.reviewed_at_s.map_or(Json::Null, time)),
        ("metadata", canonical(&summary.metadata)),
        ("created_at", time(summary.created_s)),
        ("updated_at", time(summary.updated_s)),
    ]
}

fn run_fields(run: &Run) -> Fields {
    let summary = &run.summary;
    vec![
        ("user_id", json!(summary.user_id.as_ref().map(|id| id.as_str()))),
        ("user_identifier", optional(summary.user_identifier.as_deref())),
        ("problem_id", row_ref(summary.problem_id.as_deref())),
        ("platform", optional(summary.platform.as_deref())),
        ("problem_number", optional(summary.problem_number.as_deref())),
        ("problem_title", optional(summary.problem_title.as_deref())),
        ("language", optional(summary.language.as_deref())),
        ("code", json!(run.code)),
        ("result_summary", canonical(&summary.result_summary)),
        ("passed_count", json!(summary.passed_count)),
        ("failed_count", json!(summary.failed_count)),
        ("total_count", json!(summary.total_count)),
        ("is_code_public", json!(summary.is_public)),
        ("test_results", canonical(&run.test_results)),
        ("hints", json!(summary.hints)),
        ("metadata", canonical(&summary.metadata)),
        ("created_at", time(summary.created_s)),
        ("updated_at", time(summary.updated_s)),
    ]
}

/// An empty text is none: columns of the source have one where there is no value.
fn optional(text: Option<&str>) -> Json {
    text.filter(|text| !text.is_empty()).map_or(Json::Null, Json::from)
}

/// A problem that a client has named by the id of its row. PostgreSQL cannot have other names.
fn row_ref(id: Option<&str>) -> Json {
    id.and_then(row_number).map_or(Json::Null, Json::from)
}

fn time(at_s: i64) -> Json {
    let at = Timestamp::from_second(at_s);
    at.map_or_else(|_| json!(at_s), |at| json!(at.to_string()))
}

fn time_ms(at_ms: i64) -> Json {
    let at = Timestamp::from_millisecond(at_ms);
    at.map_or_else(|_| json!(at_ms), |at| json!(at.to_string()))
}

/// JSON whose numbers have one form: `1.0` is stored as 1.
pub(super) fn canonical(json: &Json) -> Json {
    match json {
        Json::Number(number) => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e15);
            match whole {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
                Some(whole) => json!(whole as i64),
                None => Json::Number(number.clone()),
            }
        }
        Json::Array(all) => all.iter().map(canonical).collect(),
        Json::Object(map) => map.iter().map(|(name, one)| (name.clone(), canonical(one))).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_form() {
        let json = json!({"a": 1.0, "b": [2, 2.5, {"c": -0.0}], "d": "1.0"});
        let expected = json!({"a": 1, "b": [2, 2.5, {"c": 0}], "d": "1.0"});
        assert_eq!(canonical(&json), expected);
    }
}
