//! `weir keeper org`.

use clap::{Args, Subcommand};
use weir_api::keeper::{ConfigResponse, EffectiveConfig};

use super::target::OrgArgs;
use super::{deletion, effective, file};
use crate::commands::api_context::ApiContext;
use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Create or change an org to match a file
    Apply(ApplyArgs),
    /// List all orgs
    List(deletion::DeletedFlag),
    /// Show the configuration in force for an org
    Show(OrgArgs),
    /// Delete an org with its apps; it can be restored for 30 days
    Delete(DeleteArgs),
    /// Restore a deleted org with its apps
    Restore(OrgArgs),
}

#[derive(Debug, Args)]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    target: OrgArgs,
    /// Delete without asking for confirmation
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    /// YAML or JSON file; - for standard input
    file: String,
    /// The org's id, when it is not in the file
    #[arg(long, value_name = "ID")]
    org_id: Option<String>,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Apply(args) => apply(context, &args).await,
        Verb::List(args) => {
            let path = args.path(&context.path(&["orgs"]));
            let all: Vec<EffectiveConfig> = context.all(&path).await?;
            context.print_all(all, effective::table)
        }
        Verb::Show(args) => {
            let found: EffectiveConfig =
                context.api.get(&context.path(&["orgs", &args.org])).await?;
            context.print(&found, effective::show)
        }
        Verb::Delete(args) => deletion::delete(context, &args.target.into(), args.yes).await,
        Verb::Restore(args) => deletion::restore(context, &args.into()).await,
    }
}

async fn apply(context: &ApiContext<'_>, args: &ApplyArgs) -> Result<(), Failure> {
    let wanted = file::read(&args.file)?;
    if wanted.app_id.is_some() {
        let problem = format!("{}: has an app_id, so it configures an app", args.file);
        return Err(Failure::usage(problem).help("use `weir keeper app apply`"));
    }
    let id = org_id(&args.file, wanted.org_id, args.org_id.as_deref())?;
    let put: ConfigResponse = context.api.put(&context.path(&["orgs", &id]), &wanted.body).await?;
    context.print(&put, effective::show_put)
}

/// The org that a file or a flag names.
pub(super) fn org_id(
    file: &str,
    in_file: Option<String>,
    flag: Option<&str>,
) -> Result<String, Failure> {
    match (in_file, flag) {
        (Some(id), None) => Ok(id),
        (None, Some(id)) => Ok(id.to_owned()),
        (Some(one), Some(other)) if one == other => Ok(one),
        (Some(one), Some(other)) => {
            Err(Failure::usage(format!("{file}: names org {one}, and --org-id names {other}")))
        }
        (None, None) => Err(Failure::usage(format!("{file}: org_id is missing"))
            .help("for a new org, choose an id: put `org_id: acme` into the file")),
    }
}
