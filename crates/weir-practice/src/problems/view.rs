//! Problems as a user may see them.
//!
//! Document 003 has the flag `can_view_all_problems` of a plan and does not say what a user sees without it. Its problems are
//! completed (`cmp`, published here) or drafts, and deleted or not. So:
//! - A user sees the problems that the user has registered, drafts too.
//! - With the flag, and as staff, a user sees the published problems of others as well.
//! - Drafts of others and deleted problems are for administrators only, who read without a viewer.
//! - Of test cases a user sees the samples.
//!
//! A problem that a user may not see does not exist for the user.

use super::ProblemSummary;
use crate::error::Result;
use crate::ids::UserId;
use crate::plans::Access;

/// A user who reads problems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    user: UserId,
    can_view_all: bool,
}

impl Viewer {
    /// The view of an active user.
    ///
    /// # Errors
    /// The user is inactive.
    pub fn new(access: &Access) -> Result<Viewer> {
        access.require_active()?;
        let can_view_all = access.can_view_all_problems();
        Ok(Viewer { user: access.user.id.clone(), can_view_all })
    }

    /// Whether the user sees a problem.
    #[must_use]
    pub fn sees(&self, problem: &ProblemSummary) -> bool {
        let is_public = problem.is_published && self.can_view_all;
        let is_own = self.is(problem.registered_by.as_ref().map(UserId::as_str));
        (is_public || is_own) && problem.deletion.is_none()
    }

    /// Whether this is the user with an id.
    #[must_use]
    pub fn is(&self, id: Option<&str>) -> bool {
        id == Some(self.user.as_str())
    }
}
