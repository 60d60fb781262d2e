//! The user, plan, problem, test case, run, job or task that a path names.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use weir_framework::app::App;
use weir_framework::path::param;
use weir_practice::Practice;
use weir_practice::ids::{
    HistoryId, JobId, PlanId, Platform, ProblemId, ProblemRef, TaskId, TestCaseId, UserId,
};
use weir_practice::jobs::JobRef;
use weir_practice::kinds::JobType;
use weir_table::AnyBackend;

use super::access::UserAccess;
use super::error::PracticeError;

/// Practice of the running server.
pub(super) fn practice(app: &App) -> Result<&Practice<AnyBackend>, PracticeError> {
    Ok(app.kept_by("practice")?)
}

/// Declares extractors of path parameters: the parameters, and what they name.
macro_rules! paths {
    ($($(#[$doc:meta])* $name:ident($named:ty) = $make:expr, { $($parameter:literal: $id:ty),+ })*) => {$(
        $(#[$doc])*
        pub(crate) struct $name(pub(crate) $named);

        impl FromRequestParts<App> for $name {
            type Rejection = PracticeError;

            async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, PracticeError> {
                let make: fn($($id),+) -> $named = $make;
                Ok($name(make($({
                    let parse = |text: &str| text.parse::<$id>();
                    param::<$id, weir_practice::Error, PracticeError>(parts, $parameter, parse).await?
                }),+)))
            }
        }
    )*};
}

paths! {
    /// The user `{id}`.
    UserPath(UserId) = |id| id, { "id": UserId }
    /// The plan `{id}`.
    PlanPath(PlanId) = |id| id, { "id": PlanId }
    /// The problem `{problem_id}` of `{platform}`.
    ProblemPath(ProblemRef) = |platform, id| ProblemRef { platform, id },
        { "platform": Platform, "problem_id": ProblemId }
    /// The test case `{id}` of a problem.
    TestCasePath(TestCaseId) = |id| id, { "id": TestCaseId }
    /// The run `{id}`.
    HistoryPath(HistoryId) = |id| id, { "id": HistoryId }
    /// The type of jobs `{type}`.
    JobTypePath(JobType) = |job_type| job_type, { "type": JobType }
    /// The job `{id}` of `{type}`.
    JobPath(JobRef) = |job_type, id| JobRef { job_type, id }, { "type": JobType, "id": JobId }
    /// The task `{id}`.
    TaskPath(TaskId) = |id| id, { "id": TaskId }
}

/// The user `{id}`, whose data the caller may access.
pub(crate) struct ReachedUser(pub(crate) UserId);

impl FromRequestParts<App> for ReachedUser {
    type Rejection = PracticeError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, PracticeError> {
        let UserPath(id) = UserPath::from_request_parts(parts, app).await?;
        UserAccess::from_request_parts(parts, app).await?.check_user(&id)?;
        Ok(ReachedUser(id))
    }
}
