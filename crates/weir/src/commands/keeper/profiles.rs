//! `weir keeper profiles`: inference profiles, labels of an app's own.

use clap::{Args, Subcommand};
use weir_server::keeper::profiles::{NewProfile, Profile};

use super::whose::AppArgs;
use crate::commands::api_context::{ApiContext, header};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Register a profile; submissions under its label then name their region
    Register(RegisterArgs),
    /// List the profiles of an app
    List(AppArgs),
}

#[derive(Debug, Args)]
pub(super) struct RegisterArgs {
    #[command(flatten)]
    whose: AppArgs,
    /// What the app will call it
    label: String,
    /// What Bedrock calls it: arn:aws:bedrock:…
    arn: String,
    /// What it is for
    #[arg(long, value_name = "TEXT", default_value = "")]
    description: String,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Register(args) => {
            let new = NewProfile {
                profile_label: args.label,
                inference_profile_arn: args.arn,
                description: args.description,
            };
            let path = args.whose.path(context, &["inference-profiles"]);
            let profile: Profile = context.api.post(&path, &new).await?;
            context.print(&profile, |profile| table(std::slice::from_ref(profile)))
        }
        Verb::List(args) => {
            let all: Vec<Profile> =
                context.all(&args.path(context, &["inference-profiles"])).await?;
            context.print(&all, |all| table(all))
        }
    }
}

fn table(profiles: &[Profile]) -> std::io::Result<()> {
    let rows = profiles.iter().map(|profile| {
        vec![
            profile.profile_label.clone(),
            output::printable(&profile.inference_profile_arn),
            output::printable(&output::cut(&profile.description, 60)),
            profile.updated_at.clone(),
        ]
    });
    output::table(header(["label", "profile", "for", "changed"]), rows, &[])
}
