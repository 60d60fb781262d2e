//! `weir reviews delete`.

use clap::Args;
use serde_json::json;

use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::output;

/// Flags of `weir reviews delete`.
#[derive(Debug, Args)]
pub(super) struct DeleteArgs {
    /// Id of the review
    review: String,
    /// Delete without asking for confirmation
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &ApiContext<'_>, args: DeleteArgs) -> Result<(), Failure> {
    let id = &args.review;
    let question = format!("delete review {id} with its findings, costs and raw outputs?");
    ApiContext::confirm(args.yes, &question)?;
    context.api.delete::<()>(&context.path(&[id])).await?;
    let deleted = json!({"review_id": id, "deleted": true});
    let line = format!("review {} was deleted", output::printable(id));
    context.print(&deleted, |_| output::line(line))
}
