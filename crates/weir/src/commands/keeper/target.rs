//! The org or app that a verb works on.

use clap::Args;

use crate::commands::api_context::ApiContext;

/// An org.
#[derive(Debug, Args)]
pub(super) struct OrgArgs {
    /// The org's id
    pub(super) org: String,
}

/// An app.
#[derive(Debug, Args)]
pub(super) struct AppArgs {
    /// The org's id
    pub(super) org: String,
    /// The app's id
    pub(super) app: String,
}

/// An org, or an app of it.
#[derive(Debug, Args)]
pub(super) struct TargetArgs {
    /// The org's id
    pub(super) org: String,
    /// The app's id [default: the org itself]
    pub(super) app: Option<String>,
}

impl From<OrgArgs> for TargetArgs {
    fn from(args: OrgArgs) -> TargetArgs {
        TargetArgs { org: args.org, app: None }
    }
}

impl From<AppArgs> for TargetArgs {
    fn from(args: AppArgs) -> TargetArgs {
        TargetArgs { org: args.org, app: Some(args.app) }
    }
}

impl AppArgs {
    /// A path of the app.
    pub(super) fn path(&self, context: &ApiContext<'_>, more: &[&str]) -> String {
        let parts = [&["orgs", &self.org, "apps", &self.app], more].concat();
        context.path(&parts)
    }
}

impl TargetArgs {
    /// A path of the org or the app.
    pub(super) fn path(&self, context: &ApiContext<'_>, more: &[&str]) -> String {
        let mut parts = vec!["orgs", self.org.as_str()];
        parts.extend(self.app.iter().flat_map(|app| ["apps", app.as_str()]));
        parts.extend_from_slice(more);
        context.path(&parts)
    }

    /// The arguments as they are written after a verb.
    pub(super) fn words(&self) -> String {
        let words = [Some(self.org.as_str()), self.app.as_deref()].into_iter().flatten();
        shlex::try_join(words).unwrap_or_default()
    }
}
