//! `weir keeper sticky`: moving a chain by hand.

use clap::{Args, Subcommand};
use serde_json::json;
use weir_server::keeper::aggregates::StickyState;
use weir_server::keeper::sticky::Override;

use super::whose::WhoseArgs;
use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Use a model for the rest of the day
    Set(SetArgs),
    /// Take the fallback of the day back; the chain starts at its first open model again
    Reset(WhoseArgs),
}

#[derive(Debug, Args)]
pub(super) struct SetArgs {
    #[command(flatten)]
    whose: WhoseArgs,
    /// The model: a label of the chain
    #[arg(long, value_name = "LABEL")]
    to: String,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Set(args) => {
            let wanted = Override { model_label: args.to };
            let state: StickyState =
                context.api.put(&args.whose.path(context, &["sticky"]), &wanted).await?;
            context.print(&state, |state| output::line(line(state)))
        }
        Verb::Reset(args) => {
            context.api.delete::<()>(&args.path(context, &["sticky"])).await?;
            let told = json!({"org_id": args.org, "app_id": args.app, "reset": true});
            context.print(&told, |_| output::line("the chain starts at its first open model again"))
        }
    }
}

/// A fallback, on one line.
pub(super) fn line(state: &StickyState) -> String {
    let before = state.previous_model_label.as_ref().map(|label| format!("{label} → "));
    format!(
        "{}{} for the rest of the day, since {} ({})",
        before.unwrap_or_default(),
        state.active_model_label,
        state.activated_at,
        state.reason
    )
}
