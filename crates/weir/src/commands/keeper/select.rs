//! `weir keeper select`: which model to use now.

use clap::Args;
use weir_keeper::money::MicroUsd;
use weir_server::keeper::configured::Configured;
use weir_server::keeper::selection::Selection;

use super::whose::AppArgs;
use crate::commands::api_context::{ApiContext, header, with_query};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct SelectArgs {
    #[command(flatten)]
    whose: AppArgs,
    /// Sum up what was submitted until now, instead of believing the totals
    #[arg(long)]
    force_check: bool,
}

pub(super) async fn run(context: &ApiContext<'_>, args: SelectArgs) -> Result<(), Failure> {
    let path = args.whose.path(context, &["model-selection"]);
    let path = with_query(&path, &[("force_check", args.force_check.then_some("true"))]);
    let selection: Selection = context.api.get(&path).await?;
    // Only people want the chain beside it: the models in their order.
    let chain = if context.json {
        Vec::new()
    } else {
        context.api.get::<Configured>(&args.whose.path(context, &[])).await?.model_ordering
    };
    context.print(&selection, |selection| show(selection, &chain))
}

fn show(selection: &Selection, chain: &[String]) -> std::io::Result<()> {
    let status = &selection.quota_status;
    let mut models: Vec<_> = status.models_status.iter().collect();
    // Those of a chain that was changed just now come last.
    let place = |label: &String| chain.iter().position(|of| of == label).unwrap_or(chain.len());
    models.sort_by_key(|(label, _)| place(label));
    let rows = models.into_iter().map(|(label, model)| {
        vec![
            label.clone(),
            MicroUsd(model.spend_usd_micros).to_string(),
            MicroUsd(model.quota_usd_micros).to_string(),
            format!("{:.2} %", model.quota_pct),
            model.status.clone(),
        ]
    });
    output::table(header(["model", "spent", "quota", "of it", "status"]), rows, &[1, 2, 3])?;
    let model = &selection.recommended_model;
    output::line(format!("use {} ({}): {}", model.label, model.bedrock_model_id, model.reason))?;
    if let Some(at) = &status.projected_exhaustion_at {
        output::line(format!("at the day's rate its quota is spent at {at}"))?;
    }
    let guidance = &selection.client_guidance;
    output::line(format!(
        "it is {} there; ask again in {} s",
        selection.org_local_time, guidance.cache_duration_secs
    ))
}
