//! Problems.

use serde_json::Value;
use weir_api::practice as api;
use weir_practice::ids::{Platform, ProblemId, ProblemRef, Tag};
use weir_practice::kinds::ProblemStatus;
use weir_practice::problems::{
    NewProblem, Problem, ProblemFilter, ProblemPatch, ProblemSummary, ProblemWithTestCases,
};
use weir_practice::{Error, Result};

use super::test_cases::{new_test_case, test_case};
use super::{each, in_field, seconds};

/// A problem to create.
pub(in crate::practice) fn new_problem(request: api::NewProblem) -> Result<NewProblem> {
    Ok(NewProblem {
        at: problem_ref(&request.platform, &request.problem_id)?,
        title: request.title,
        url: request.problem_url,
        tags: tags(request.tags)?,
        solution_code: request.solution_code,
        language: request.language,
        constraints: request.constraints,
        metadata: Value::Object(request.metadata),
        is_published: request.is_completed,
        test_cases: request.test_cases.into_iter().map(new_test_case).collect(),
    })
}

/// A problem by its platform and its id there.
pub(super) fn problem_ref(platform: &str, id: &str) -> Result<ProblemRef> {
    Ok(ProblemRef { platform: Platform::new(platform)?, id: ProblemId::new(id)? })
}

/// Tags; an error names the tag by its number.
pub(super) fn tags(tags: Vec<String>) -> Result<Vec<Tag>> {
    each("tags", tags, Tag::new)
}

/// Fields of a problem to change.
pub(in crate::practice) fn problem_patch(request: api::ProblemPatch) -> Result<ProblemPatch> {
    Ok(ProblemPatch {
        title: request.title,
        url: request.problem_url,
        tags: request.tags.map(tags).transpose()?,
        solution_code: request.solution_code,
        language: request.language,
        constraints: request.constraints,
        metadata: request.metadata.map(Value::Object),
        version: request.version,
    })
}

/// The problems to list.
pub(in crate::practice) fn problem_filter(params: &api::ProblemsParams) -> Result<ProblemFilter> {
    Ok(ProblemFilter {
        status: params.status.map(problem_status),
        platform: params.platform.as_deref().map(Platform::new).transpose()?,
        tag: in_field("tag", params.tag.as_deref().map(Tag::new).transpose())?,
    })
}

fn problem_status(status: api::ProblemStatus) -> ProblemStatus {
    match status {
        api::ProblemStatus::Draft => ProblemStatus::Draft,
        api::ProblemStatus::Published => ProblemStatus::Published,
        api::ProblemStatus::NeedsReview => ProblemStatus::NeedsReview,
        api::ProblemStatus::Verified => ProblemStatus::Verified,
        api::ProblemStatus::Deleted => ProblemStatus::Deleted,
    }
}

/// Whether a response includes test cases.
pub(in crate::practice) fn includes_test_cases(params: &api::ProblemIncludeParams) -> Result<bool> {
    match params.include.as_deref() {
        None => Ok(false),
        Some("testcases") => Ok(true),
        Some(other) => Err(Error::invalid("include", format!("{other:?} is not testcases"))),
    }
}

/// A problem without its large texts.
pub(in crate::practice) fn problem_summary(problem: ProblemSummary) -> api::PracticeProblem {
    let (deleted_at, deleted_reason) = match problem.deletion {
        Some(deletion) => (Some(seconds(deletion.at_s)), deletion.reason),
        None => (None, None),
    };
    api::PracticeProblem {
        id: problem.at.to_string(),
        platform: problem.at.platform.to_string(),
        problem_id: problem.at.id.to_string(),
        title: problem.title,
        problem_url: problem.url,
        tags: problem.tags.iter().map(ToString::to_string).collect(),
        language: problem.language,
        is_completed: problem.is_published,
        is_deleted: deleted_at.is_some(),
        deleted_at,
        deleted_reason,
        needs_review: problem.needs_review,
        review_notes: problem.review_notes,
        verified_by_admin: problem.is_verified,
        reviewed_at: problem.reviewed_at_s.map(seconds),
        metadata: problem.metadata,
        registered_by: problem.registered_by.map(|user| user.to_string()),
        created_at: seconds(problem.created_s),
        updated_at: seconds(problem.updated_s),
        version: problem.version,
        solution_code: None,
        constraints: None,
        test_cases: None,
        test_cases_cursor: None,
    }
}

/// A problem with its large texts.
pub(in crate::practice) fn problem(problem: Problem) -> api::PracticeProblem {
    api::PracticeProblem {
        solution_code: problem.solution_code,
        constraints: problem.constraints,
        ..problem_summary(problem.summary)
    }
}

/// A problem with its test cases.
pub(in crate::practice) fn problem_with_test_cases(
    found: ProblemWithTestCases,
) -> api::PracticeProblem {
    api::PracticeProblem {
        test_cases: Some(found.test_cases.into_iter().map(test_case).collect()),
        test_cases_cursor: found.cursor,
        ..problem(found.problem)
    }
}
