//! `weir keeper select`: the model for the next call.

use clap::Args;
use weir_api::keeper::ModelSelection;
use weir_keeper::money::MicroUsd;

use super::target::AppArgs;
use crate::commands::api_context::{ApiContext, header, with_query};
use crate::failure::Failure;
use crate::{output, time};

#[derive(Debug, Args)]
pub(super) struct SelectArgs {
    #[command(flatten)]
    target: AppArgs,
    /// Sum up all submissions received so far, instead of using totals that can be some seconds old
    #[arg(long)]
    force_check: bool,
}

pub(super) async fn run(context: &ApiContext<'_>, args: SelectArgs) -> Result<(), Failure> {
    let path = args.target.path(context, &["model-selection"]);
    let path = with_query(&path, &[("force_check", args.force_check.then_some("true"))]);
    let selection: ModelSelection<'static> = context.api.get(&path).await?;
    context.print(&selection, show)
}

fn show(selection: &ModelSelection<'_>) -> std::io::Result<()> {
    let status = &selection.quota_status;
    let rows = status.models_status.iter().map(|(label, model)| {
        vec![
            label.to_string(),
            MicroUsd(model.spend_usd_micros).to_string(),
            MicroUsd(model.quota_usd_micros).to_string(),
            format!("{:.2} %", model.quota_pct),
            output::word(&model.status),
        ]
    });
    output::table(header(["model", "spent", "quota", "used %", "status"]), rows, &[1, 2, 3])?;
    if let Some(model) = &selection.recommended_model {
        let (label, id, reason) = (&model.label, &model.model_id, &model.reason);
        let vendor = model.vendor.as_ref().map(|vendor| format!("{vendor} ")).unwrap_or_default();
        output::line(format!("use {label} ({vendor}{id}): {reason}"))?;
    }
    if let Some(at) = &status.projected_exhaustion_at {
        output::line(format!(
            "at the rate of the day so far, its quota will be spent at {}",
            time::until(at)
        ))?;
    }
    let guidance = &selection.client_guidance;
    output::line(format!(
        "local time of the org: {}; select again in {}",
        selection.org_local_time,
        time::secs(guidance.cache_duration_secs)
    ))
}
