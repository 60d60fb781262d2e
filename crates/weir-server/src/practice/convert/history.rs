//! Runs.

use serde_json::Value;
use weir_api::practice as api;
use weir_practice::Result;
use weir_practice::history::{NewRun, Run, RunSummary};
use weir_practice::ids::{HistoryId, IdempotencyKey, Platform, UserId};

use super::seconds;

/// A run to record, of the user that it names.
pub(in crate::practice) fn new_run(request: api::NewRun) -> Result<NewRun> {
    let id = request.history_id.as_deref().map(HistoryId::new).transpose()?;
    let key = request.idempotency_key.as_deref().map(IdempotencyKey::new).transpose()?;
    Ok(NewRun {
        id,
        idempotency_key: key,
        user_id: request.user_id.as_deref().map(UserId::new).transpose()?,
        user_identifier: request.user_identifier,
        problem_id: request.problem_id,
        platform: Platform::new(&request.platform)?,
        problem_number: request.problem_number,
        problem_title: request.problem_title,
        language: request.language,
        code: request.code,
        result_summary: Value::Object(request.result_summary),
        passed_count: request.passed_count,
        failed_count: request.failed_count,
        total_count: request.total_count,
        is_public: request.is_code_public,
        test_results: Value::Array(request.test_results),
        hints: request.hints,
        metadata: Value::Object(request.metadata),
    })
}

/// A run without its code and the results of its test cases.
pub(in crate::practice) fn run_summary(run: RunSummary) -> api::PracticeRun {
    api::PracticeRun {
        id: run.id.to_string(),
        user_id: run.user_id.map(|user| user.to_string()),
        user_identifier: run.user_identifier,
        problem_id: run.problem_id,
        platform: run.platform,
        problem_number: run.problem_number,
        problem_title: run.problem_title,
        language: run.language,
        result_summary: run.result_summary,
        passed_count: run.passed_count,
        failed_count: run.failed_count,
        total_count: run.total_count,
        is_code_public: run.is_public,
        hints: run.hints,
        metadata: run.metadata,
        created_at: seconds(run.created_s),
        updated_at: seconds(run.updated_s),
        code: None,
        test_results: None,
    }
}

/// A run with its code and the results of its test cases.
pub(in crate::practice) fn run(run: Run) -> api::PracticeRun {
    let test_results = match run.test_results {
        Value::Array(results) => results,
        _ => Vec::new(),
    };
    api::PracticeRun {
        code: Some(run.code),
        test_results: Some(test_results),
        ..run_summary(run.summary)
    }
}
