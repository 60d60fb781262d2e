//! `weir keeper submit`: usage of one call, or of many from a file.

mod batch;

use clap::{Args, ValueEnum};
use weir_api::keeper::{CallStatus, InferenceProfile, SubmissionRequest, SubmissionResponse};
use weir_keeper::ids::Label;
use weir_keeper::money::MicroUsd;

use super::amount;
use super::target::AppArgs;
use crate::commands::api_context::ApiContext;
use crate::config::Loaded;
use crate::failure::Failure;
use crate::time::GivenTime;
use crate::{output, time};

#[derive(Debug, Args)]
pub(super) struct SubmitArgs {
    #[command(flatten)]
    target: AppArgs,
    /// Submit each line of a file, a JSON object as in the API; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["one", "input", "output"])]
    batch: Option<String>,
    #[command(flatten)]
    one: One,
}

/// The usage of one call.
#[derive(Debug, Args)]
#[group(id = "one", multiple = true)]
struct One {
    /// Label of the model
    #[arg(long, value_name = "LABEL", required_unless_present = "batch")]
    model: Option<String>,
    /// Input tokens, without cached ones
    #[arg(long, value_name = "N", required_unless_present = "batch")]
    input: Option<u64>,
    /// Output tokens
    #[arg(long, value_name = "N", required_unless_present = "batch")]
    output: Option<u64>,
    /// Tokens read from a cache
    #[arg(long, value_name = "N")]
    cached_read: Option<u64>,
    /// Tokens written to a cache
    #[arg(long, value_name = "N")]
    cached_write: Option<u64>,
    /// Id of the model at its vendor [default: that of the label]
    #[arg(long, value_name = "ID")]
    model_id: Option<String>,
    /// Vendor of the model, where its id alone does not say [default: that of the label]
    #[arg(long)]
    vendor: Option<String>,
    /// AWS region of the call
    #[arg(long)]
    region: Option<String>,
    /// Cost of the call, like $0.0105 or 10500 micro-USD [default: computed from the price]
    #[arg(long, value_parser = amount::micros)]
    cost: Option<u64>,
    /// Outcome of the call; a failed call costs as much as another
    #[arg(long, value_enum, default_value_t = Status::Ok)]
    status: Status,
    /// UUID of the submission; the same one again is recorded once [default: a new one]
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    /// Time of the call: 2026-01-31T12:00:00Z, 90s or 2h (ago); days are in UTC [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<GivenTime>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Status {
    Ok,
    Error,
}

pub(super) async fn run(
    context: &ApiContext<'_>,
    loaded: &Loaded,
    args: SubmitArgs,
) -> Result<(), Failure> {
    if let Some(file) = &args.batch {
        return batch::run(context, &args.target, file).await;
    }
    let submission = submission(context, loaded, &args.target, args.one).await?;
    let response: SubmissionResponse<'static> =
        context.api.post(&args.target.path(context, &["costs"]), &submission).await?;
    context.print(&response, show)
}

async fn submission(
    context: &ApiContext<'_>,
    loaded: &Loaded,
    target: &AppArgs,
    one: One,
) -> Result<SubmissionRequest, Failure> {
    let label = one.model.unwrap_or_default();
    let model_id = match one.model_id {
        Some(id) => id,
        None => model_id(context, loaded, target, &label).await?,
    };
    Ok(SubmissionRequest {
        request_id: one.request_id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
        model_label: label,
        model_id: Some(model_id),
        bedrock_model_id: None,
        vendor: one.vendor,
        input_tokens: one.input.unwrap_or_default(),
        output_tokens: one.output.unwrap_or_default(),
        cached_read_tokens: one.cached_read,
        cached_write_tokens: one.cached_write,
        calling_region: one.region,
        cost_usd_micros: one.cost,
        status: match one.status {
            Status::Ok => CallStatus::Ok,
            Status::Error => CallStatus::Error,
        },
        timestamp: one.at.unwrap_or(GivenTime::Now).rfc3339(),
    })
}

/// The model of a label: a configured label, or an inference profile of the app.
async fn model_id(
    context: &ApiContext<'_>,
    loaded: &Loaded,
    target: &AppArgs,
    label: &str,
) -> Result<String, Failure> {
    let labels = loaded
        .config
        .keeper
        .catalog()
        .map_err(|problem| Failure::usage(format!("keeper.labels {problem}")))?;
    let known = Label::new(label).ok();
    if let Some(def) = known.and_then(|label| labels.get(&label).cloned()) {
        return Ok(def.model_id.to_string());
    }
    let all: Vec<InferenceProfile> =
        context.all(&target.path(context, &["inference-profiles"])).await?;
    let profile = all.into_iter().find(|profile| profile.profile_label == label);
    profile.map(|profile| profile.inference_profile_arn).ok_or_else(|| {
        let there: Vec<_> = labels.iter().map(|(label, _)| label.as_str()).collect();
        Failure::usage(format!(
            "--model: {label:?} is not a label; labels are {}",
            there.join(", ")
        ))
        .help("`weir keeper profiles list` shows the labels of the app; --model-id names a model")
    })
}

fn show(accepted: &SubmissionResponse<'_>) -> std::io::Result<()> {
    let (processing, total) = (&accepted.processing, &accepted.daily_total);
    let outcome = if accepted.duplicate { "was recorded before" } else { "was recorded" };
    output::line(format!(
        "{} {outcome}: {}",
        accepted.request_id,
        MicroUsd(processing.cost_usd_micros)
    ))?;
    output::line(format!(
        "the day so far: {} of {} ({:.2} %), {}; totals include it within {}",
        MicroUsd(total.cost_usd_micros),
        MicroUsd(total.quota_usd_micros),
        total.quota_pct,
        output::word(&total.mode),
        time::secs(processing.expected_aggregation_lag_secs.into())
    ))
}
