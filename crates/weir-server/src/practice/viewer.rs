//! Which problems a caller sees, and how much of them.
//!
//! Administrators, readers and workers see everything. The backend of a user sees the published problems of others, if the
//! user's plan allows it, and those that the user has registered: with sample test cases only, and without the solutions and
//! the registrars of others.

use weir_api::practice::PracticeProblem;
use weir_framework::app::App;
use weir_practice::ids::UserId;
use weir_practice::problems::{self, NewProblem, ProblemSummary, Registrar};
use weir_practice::test_cases::TestCaseAccess;
use weir_practice::{Error, Result};

use super::access::UserAccess;
use super::error::PracticeError;
use super::path::practice;

/// Attempts to register a problem while the user's plan changes.
const REGISTRATION_TRIES: u32 = 3;

/// A caller that looks at problems.
#[derive(Debug)]
pub(super) enum Viewer {
    /// Sees everything.
    Everything,
    /// The backend of these active users.
    Users(Vec<problems::Viewer>),
}

impl Viewer {
    /// The caller of a request.
    ///
    /// # Errors
    /// All users of the caller are missing or inactive, or the store fails.
    pub(super) async fn of(app: &App, access: &UserAccess) -> Result<Viewer, PracticeError> {
        if access.is_everything() || access.is_worker() {
            return Ok(Viewer::Everything);
        }
        let mut users = Vec::new();
        let mut refusal = None;
        for id in access.users() {
            match practice(app)?.access(&id).await {
                Ok(access) => match problems::Viewer::new(&access) {
                    Ok(viewer) => users.push(viewer),
                    Err(inactive) => refusal = Some(inactive),
                },
                Err(error) if error.is_not_found() => refusal = refusal.or(Some(error)),
                Err(error) => return Err(error.into()),
            }
        }
        match refusal {
            Some(refusal) if users.is_empty() => Err(refusal.into()),
            _ => Ok(Viewer::Users(users)),
        }
    }

    /// Whether the caller sees a problem.
    pub(super) fn sees(&self, problem: &ProblemSummary) -> bool {
        match self {
            Viewer::Everything => true,
            Viewer::Users(users) => users.iter().any(|user| user.sees(problem)),
        }
    }

    /// Checks that the caller sees a problem.
    ///
    /// # Errors
    /// It does not: the same error as for a problem that does not exist.
    pub(super) fn check(&self, problem: &ProblemSummary) -> Result<()> {
        if self.sees(problem) {
            return Ok(());
        }
        Err(Error::not_found("problem", &problem.at))
    }

    /// The test cases that the caller sees.
    pub(super) fn test_cases(&self) -> TestCaseAccess {
        match self {
            Viewer::Everything => TestCaseAccess::All,
            Viewer::Users(_) => TestCaseAccess::Samples,
        }
    }

    /// A problem as the caller sees it.
    pub(super) fn shown(&self, problem: PracticeProblem) -> PracticeProblem {
        let Viewer::Users(users) = self else { return problem };
        if users.iter().any(|user| user.is(problem.registered_by.as_deref())) {
            return problem;
        }
        PracticeProblem { solution_code: None, review_notes: None, registered_by: None, ..problem }
    }
}

/// The only user of a caller that does not access everything.
///
/// # Errors
/// The caller has several users.
pub(super) fn only_user(access: &UserAccess, field: &str) -> Result<UserId> {
    let mut users = access.users().into_iter();
    match (users.next(), users.next()) {
        (Some(user), None) => Ok(user),
        _ => Err(Error::invalid(field, "is missing; the token has the scopes of several users")),
    }
}

/// Creates a problem: for administrators and workers without a registrar, for the backend of a user by that user.
///
/// # Errors
/// A field is invalid, the problem exists, the user's plan does not allow it, or the store fails.
pub(super) async fn create_problem(
    app: &App,
    access: &UserAccess,
    new: NewProblem,
    actor: &str,
) -> Result<ProblemSummary, PracticeError> {
    let practice = practice(app)?;
    if access.is_everything() || access.is_worker() {
        return Ok(practice.create_problem(new, None, actor).await?);
    }
    let user = only_user(access, "user_id")?;
    for _ in 1..REGISTRATION_TRIES {
        // A change of the user's plan in between forbids the creation; then the new plan decides.
        let writes = practice.problem_registration(&user).await?;
        let registrar = Registrar { user: user.clone(), writes };
        match practice.create_problem(new.clone(), Some(registrar), actor).await {
            Err(Error::Forbidden(_)) => {}
            created => return Ok(created?),
        }
    }
    let writes = practice.problem_registration(&user).await?;
    Ok(practice.create_problem(new, Some(Registrar { user, writes }), actor).await?)
}
