//! `weir keeper profiles`: inference profiles, which are labels of one app.

use clap::{Args, Subcommand};
use serde_json::json;
use weir_api::keeper::{InferenceProfile, InferenceProfileRequest};

use super::target::AppArgs;
use crate::commands::api_context::{ApiContext, header};
use crate::failure::Failure;
use crate::{output, time};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Register a profile; submissions with its label must name a region
    Register(RegisterArgs),
    /// List the profiles of an app
    List(AppArgs),
    /// Delete a profile that is not in the app's chain
    Delete(DeleteArgs),
}

#[derive(Debug, Args)]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    target: AppArgs,
    /// Label of the profile
    label: String,
    /// Delete without asking for confirmation
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(super) struct RegisterArgs {
    #[command(flatten)]
    target: AppArgs,
    /// Label of the profile
    label: String,
    /// ARN of the profile in Bedrock: arn:aws:bedrock:…
    arn: String,
    /// Model that the profile stands for, whose price it has; an ARN that names its model needs none
    #[arg(long, value_name = "ID")]
    model_id: Option<String>,
    /// Description of the profile
    #[arg(long, value_name = "TEXT", default_value = "")]
    description: String,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Register(args) => {
            let request = InferenceProfileRequest {
                profile_label: args.label,
                inference_profile_arn: args.arn,
                model_id: args.model_id,
                description: args.description,
            };
            let path = args.target.path(context, &["inference-profiles"]);
            let profile: InferenceProfile = context.api.post(&path, &request).await?;
            context.print(&profile, |profile| table(std::slice::from_ref(profile)))
        }
        Verb::List(args) => {
            let all: Vec<InferenceProfile> =
                context.all(&args.path(context, &["inference-profiles"])).await?;
            context.print_all(all, table)
        }
        Verb::Delete(args) => {
            let label = output::printable(&args.label);
            ApiContext::confirm(args.yes, &format!("delete inference profile {label}?"))?;
            let path = args.target.path(context, &["inference-profiles", &args.label]);
            context.api.delete::<()>(&path).await?;
            let result = json!({"id": args.label, "deleted": true});
            context.print(&result, |_| output::line(format!("{label} was deleted")))
        }
    }
}

fn table(profiles: &[InferenceProfile]) -> std::io::Result<()> {
    let rows = profiles.iter().map(|profile| {
        vec![
            profile.profile_label.clone(),
            output::printable(&profile.inference_profile_arn),
            profile.model_id.as_deref().map(output::printable).unwrap_or_default(),
            output::printable(&profile.description),
            time::relative(&profile.updated_at),
        ]
    });
    output::table(header(["label", "profile", "model", "description", "changed"]), rows, &[])
}
