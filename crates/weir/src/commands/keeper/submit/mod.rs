//! `weir keeper submit`: what calls of a model used, one by one or from a file.

mod batch;

use clap::{Args, ValueEnum};
use serde_json::Value;
use weir_keeper::day::rfc3339;
use weir_keeper::ids::Label;
use weir_keeper::money::MicroUsd;
use weir_server::keeper::profiles::Profile;
use weir_server::keeper::submissions::{Accepted, NewSubmission};
use weir_table::clock::Clock;

use super::amount;
use super::whose::AppArgs;
use crate::commands::api_context::ApiContext;
use crate::config::Loaded;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct SubmitArgs {
    #[command(flatten)]
    whose: AppArgs,
    /// Submit each line of a file: JSON as the API takes it; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["one", "input", "output"])]
    batch: Option<String>,
    #[command(flatten)]
    one: One,
}

/// One call.
#[derive(Debug, Args)]
#[group(id = "one", multiple = true)]
struct One {
    /// The label that was used
    #[arg(long, value_name = "LABEL", required_unless_present = "batch")]
    model: Option<String>,
    /// Tokens read, without those of a cache
    #[arg(long, value_name = "N", required_unless_present = "batch")]
    input: Option<u64>,
    /// Tokens written
    #[arg(long, value_name = "N", required_unless_present = "batch")]
    output: Option<u64>,
    /// Tokens read from a cache
    #[arg(long, value_name = "N")]
    cached_read: Option<u64>,
    /// Tokens put into a cache
    #[arg(long, value_name = "N")]
    cached_write: Option<u64>,
    /// What Bedrock calls the model [default: what the label means]
    #[arg(long, value_name = "ID")]
    model_id: Option<String>,
    /// The region it was called in
    #[arg(long)]
    region: Option<String>,
    /// What it cost, like $0.0105 or 10500 micro-USD [default: what the price says]
    #[arg(long, value_parser = amount::micros)]
    cost: Option<u64>,
    /// What became of the call; an error counts what it used
    #[arg(long, value_enum, default_value_t = Status::Ok)]
    status: Status,
    /// The submission's id, a UUID: the same again is counted once [default: a new one]
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    /// When, like 2026-01-23T14:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
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
        return batch::run(context, &args.whose, file).await;
    }
    let submission = submission(context, loaded, &args.whose, args.one).await?;
    let answer: Value =
        context.api.post(&args.whose.path(context, &["costs"]), &submission).await?;
    context.print(&answer, |answer| match serde_json::from_value(answer.clone()) {
        Ok(accepted) => show(&accepted),
        Err(error) => Err(std::io::Error::other(error)),
    })
}

async fn submission(
    context: &ApiContext<'_>,
    loaded: &Loaded,
    whose: &AppArgs,
    one: One,
) -> Result<NewSubmission, Failure> {
    let label = one.model.unwrap_or_default();
    let bedrock_model_id = match one.model_id {
        Some(id) => id,
        None => meant(context, loaded, whose, &label).await?,
    };
    let now = || rfc3339(i64::try_from(Clock::System.now_ms()).unwrap_or_default());
    Ok(NewSubmission {
        request_id: one.request_id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
        model_label: label,
        bedrock_model_id,
        input_tokens: one.input.unwrap_or_default(),
        output_tokens: one.output.unwrap_or_default(),
        cached_read_tokens: one.cached_read,
        cached_write_tokens: one.cached_write,
        calling_region: one.region,
        cost_usd_micros: one.cost,
        status: if one.status == Status::Ok { "OK" } else { "ERROR" }.to_owned(),
        timestamp: one.at.unwrap_or_else(now),
    })
}

/// The model that a label means: by the catalogue, or as a profile of the app.
async fn meant(
    context: &ApiContext<'_>,
    loaded: &Loaded,
    whose: &AppArgs,
    label: &str,
) -> Result<String, Failure> {
    let labels = loaded
        .config
        .keeper
        .catalogue()
        .map_err(|problem| Failure::usage(format!("keeper.labels {problem}")))?;
    let known = Label::new(label).ok();
    if let Some(def) = known.and_then(|label| labels.get(&label).cloned()) {
        return Ok(def.bedrock_model_id.to_string());
    }
    let all: Vec<Profile> = context.all(&whose.path(context, &["inference-profiles"])).await?;
    let profile = all.into_iter().find(|profile| profile.profile_label == label);
    profile.map(|profile| profile.inference_profile_arn).ok_or_else(|| {
        let there: Vec<_> = labels.iter().map(|(label, _)| label.as_str()).collect();
        Failure::usage(format!("--model: {label:?} is no label; there are {}", there.join(", ")))
            .help("`weir keeper profiles list` shows those of the app; --model-id names a model")
    })
}

fn show(accepted: &Accepted) -> std::io::Result<()> {
    let (done, total) = (&accepted.processing, &accepted.daily_total);
    let again = if accepted.duplicate { "was counted before" } else { "is counted" };
    output::line(format!("{} {again}: {}", accepted.request_id, MicroUsd(done.cost_usd_micros)))?;
    output::line(format!(
        "the day so far: {} of {} ({:.2} %), {}; totals show it within {} s",
        MicroUsd(total.cost_usd_micros),
        MicroUsd(total.quota_usd_micros),
        total.quota_pct,
        total.mode,
        done.expected_aggregation_lag_secs
    ))
}
