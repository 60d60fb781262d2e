//! `weir keeper org`.

use clap::{Args, Subcommand};
use weir_server::keeper::configured::{Configured, PutAnswer};

use super::whose::OrgArgs;
use super::{configured, file};
use crate::commands::api_context::ApiContext;
use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Set an org up as a file says, or change it to that
    Apply(ApplyArgs),
    /// List all orgs
    List,
    /// Show what holds for an org
    Show(OrgArgs),
}

#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    /// YAML or JSON; - for standard input
    file: String,
    /// The org's id, where the file does not have it
    #[arg(long, value_name = "ID")]
    org_id: Option<String>,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Apply(args) => apply(context, &args).await,
        Verb::List => {
            let all: Vec<Configured> = context.all(&context.path(&["orgs"])).await?;
            context.print(&all, |all| configured::table(all))
        }
        Verb::Show(args) => {
            let found: Configured = context.api.get(&context.path(&["orgs", &args.org])).await?;
            context.print(&found, configured::show)
        }
    }
}

async fn apply(context: &ApiContext<'_>, args: &ApplyArgs) -> Result<(), Failure> {
    let wanted = file::read(&args.file)?;
    if wanted.app_id.is_some() {
        let problem = format!("{}: has an app_id, so it is an app's", args.file);
        return Err(Failure::usage(problem).help("`weir keeper app apply` takes it"));
    }
    let id = whose(&args.file, wanted.org_id, args.org_id.as_deref())?;
    let put: PutAnswer = context.api.put(&context.path(&["orgs", &id]), &wanted.body).await?;
    context.print(&put, configured::show_put)
}

/// The org that a file or a flag names.
pub(super) fn whose(
    file: &str,
    in_file: Option<String>,
    flag: Option<&str>,
) -> Result<String, Failure> {
    match (in_file, flag) {
        (Some(id), None) => Ok(id),
        (None, Some(id)) => Ok(id.to_owned()),
        (Some(one), Some(other)) if one == other => Ok(one),
        (Some(one), Some(other)) => {
            Err(Failure::usage(format!("{file}: is of org {one}, and --org-id names {other}")))
        }
        (None, None) => {
            let new = uuid::Uuid::new_v4();
            Err(Failure::usage(format!("{file}: whose it is is missing: org_id, a UUID"))
                .help(format!("for a new org, put `org_id: {new}` into the file")))
        }
    }
}
