//! `weir keeper sticky`: moving a chain by hand.

use clap::{Args, Subcommand};
use serde_json::json;
use weir_api::keeper::{StickyFallback, StickyOverride};

use super::target::TargetArgs;
use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::{output, time};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Use a model for the rest of the day
    Set(SetArgs),
    /// End the fallback of the day; the chain starts at its first model with quota left
    Reset(TargetArgs),
}

#[derive(Debug, Args)]
pub(super) struct SetArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Label of a model of the chain
    #[arg(long, value_name = "LABEL")]
    to: String,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Set(args) => {
            let request = StickyOverride { model_label: args.to };
            let state: StickyFallback =
                context.api.put(&args.target.path(context, &["sticky"]), &request).await?;
            context.print(&state, |state| output::line(line(state)))
        }
        Verb::Reset(args) => {
            context.api.delete::<()>(&args.path(context, &["sticky"])).await?;
            let result = json!({"org_id": args.org, "app_id": args.app, "reset": true});
            context.print(&result, |_| {
                output::line("the chain starts at its first model with quota left")
            })
        }
    }
}

/// A fallback, on one line.
pub(super) fn line(state: &StickyFallback) -> String {
    let before = state.previous_model_label.as_ref().map(|label| format!("{label} → "));
    format!(
        "{}{} for the rest of the day, since {} ({})",
        before.unwrap_or_default(),
        state.active_model_label,
        time::until(&state.activated_at),
        state.reason
    )
}
