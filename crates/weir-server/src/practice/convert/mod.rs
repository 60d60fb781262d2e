//! Conversions between the wire and the domain: one file per resource. An error names the field from the outside in:
//! `problem.platform`.

mod audit;
mod history;
mod plans;
mod problems;
mod queue;
mod stats;
mod tasks;
mod test_cases;
mod usage;
mod users;

use weir_framework::ApiError;
use weir_framework::page::{PageLimit as _, PageParams};
use weir_framework::time::time;
use weir_practice::list::PageRequest;
use weir_practice::{Error, Result};

pub(super) use self::audit::audit_event;
pub(super) use self::history::{new_run, run, run_summary};
pub(super) use self::plans::{plan, plan_fields, recounted_counters};
pub(super) use self::problems::{
    includes_test_cases, new_problem, problem, problem_filter, problem_patch, problem_summary,
    problem_with_test_cases,
};
pub(super) use self::queue::{
    claim, claimed, completion, job, job_status, job_summary, lease, new_job, new_step,
    progress_step, to_job_status,
};
pub(super) use self::stats::{clock, day_top_users, stats, verification};
pub(super) use self::tasks::{new_task_result, task_result};
pub(super) use self::test_cases::{new_test_case, test_case, uploaded};
pub(super) use self::usage::{
    day_reset, day_usage, log_entry, recount, usage_answer, usage_request,
};
pub(super) use self::users::{new_user, user, user_patch};

/// The page of a list that a request asks for.
pub(super) fn page_request(page: PageParams) -> Result<PageRequest, ApiError> {
    Ok(PageRequest { limit: page.checked_limit()?, cursor: page.cursor })
}

/// The result of checking a value, with an error that names `field`.
pub(super) fn in_field<T>(field: &str, checked: Result<T>) -> Result<T> {
    checked.map_err(|error| match error {
        Error::Invalid { problem, .. } => Error::invalid(field, problem),
        Error::TooLarge { problem, .. } => Error::too_large(field, problem),
        other => other,
    })
}

/// Converts the elements of a list; an error names the element by its number.
fn each<T, U>(field: &str, list: Vec<T>, convert: impl Fn(T) -> Result<U>) -> Result<Vec<U>> {
    let numbered = list.into_iter().enumerate();
    let named = |(number, element)| in_field(&format!("{field}[{number}]"), convert(element));
    numbered.map(named).collect()
}

/// Seconds since 1970 as a time on the wire.
fn seconds(at_s: i64) -> String {
    time(ms(at_s))
}

/// Seconds since 1970 in milliseconds.
fn ms(secs: i64) -> i64 {
    secs.saturating_mul(1000)
}
