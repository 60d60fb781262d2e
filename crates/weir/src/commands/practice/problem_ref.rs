//! The problem that a verb is about.

use clap::Args;

use crate::commands::api_context::ApiContext;

/// A problem by its platform and its id there.
#[derive(Debug, Args)]
pub(super) struct ProblemArgs {
    /// Platform of the problem, for example baekjoon
    pub(super) platform: String,
    /// Id of the problem on its platform, for example 1000
    pub(super) problem: String,
}

impl ProblemArgs {
    /// The path of the problem, and `parts` below it.
    pub(super) fn path(&self, context: &ApiContext<'_>, parts: &[&str]) -> String {
        context.path(&[&["problems", &self.platform, &self.problem], parts].concat())
    }

    /// `baekjoon/1000`.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.platform, self.problem)
    }
}
