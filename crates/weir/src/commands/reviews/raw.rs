//! `weir reviews raw`: the raw output of a model.

use clap::Args;

use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::output;

/// Flags of `weir reviews raw`.
#[derive(Debug, Args)]
pub(super) struct RawArgs {
    /// Id of the review
    review: String,
    /// Id of the model, for example gpt-5
    model: String,
}

pub(super) async fn run(context: &ApiContext<'_>, args: RawArgs) -> Result<(), Failure> {
    let raw = context.api.body(&context.path(&[&args.review, "raw", &args.model])).await?;
    Ok(output::bytes(&raw)?)
}
