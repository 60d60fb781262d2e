//! `weir keeper org|app delete|restore`.

use clap::Args;
use weir_api::keeper::{DeletionResponse, EffectiveConfig};

use super::effective;
use super::target::TargetArgs;
use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::{output, time};

/// Whether a list includes deleted entries.
#[derive(Debug, Args)]
pub(super) struct DeletedFlag {
    /// Include deleted ones that can still be restored
    #[arg(long)]
    pub(super) deleted: bool,
}

impl DeletedFlag {
    /// The path of a list.
    pub(super) fn path(&self, path: &str) -> String {
        if self.deleted { format!("{path}?deleted=true") } else { path.to_owned() }
    }
}

/// Deletes an org with its apps, or an app.
pub(super) async fn delete(
    context: &ApiContext<'_>,
    target: &TargetArgs,
    yes: bool,
) -> Result<(), Failure> {
    let (kind, name) = match &target.app {
        Some(app) => ("app", format!("app {app} of org {}", target.org)),
        None => ("org", format!("org {} with all its apps", target.org)),
    };
    let question = format!("delete {name}? Its secrets and tokens stop working at once.");
    ApiContext::confirm(yes, &question)?;
    let deleted: DeletionResponse = context.api.delete(&target.path(context, &[])).await?;
    context.print(&deleted, |deleted| {
        output::line(format!(
            "{} was deleted; until {}, `weir keeper {kind} restore {}` restores it",
            deleted.client_id,
            time::until(&deleted.restorable_until),
            target.words()
        ))
    })
}

/// Restores a deleted org with its apps, or a deleted app.
pub(super) async fn restore(context: &ApiContext<'_>, target: &TargetArgs) -> Result<(), Failure> {
    let path = target.path(context, &["restore"]);
    let restored: EffectiveConfig = context.api.post(&path, &()).await?;
    context.print(&restored, |restored| {
        effective::show(restored)?;
        output::line(format!("{} was restored; its clients need new tokens", restored.client_id))
    })
}
