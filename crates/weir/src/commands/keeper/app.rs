//! `weir keeper app`.

use clap::{Args, Subcommand};
use weir_api::keeper::{ConfigResponse, EffectiveConfig};

use super::target::{AppArgs, OrgArgs};
use super::{deletion, effective, file, org};
use crate::commands::api_context::ApiContext;
use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Create or change an app to match a file
    Apply(ApplyArgs),
    /// List the apps of an org
    List(ListArgs),
    /// Show the configuration in force for an app
    Show(AppArgs),
    /// Delete an app; it can be restored for 30 days
    Delete(DeleteArgs),
    /// Restore a deleted app
    Restore(AppArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    target: OrgArgs,
    #[command(flatten)]
    list: deletion::DeletedFlag,
}

#[derive(Debug, Args)]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    target: AppArgs,
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
    /// The app's id, when it is not in the file
    #[arg(long, value_name = "ID")]
    app_id: Option<String>,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Apply(args) => apply(context, &args).await,
        Verb::List(args) => {
            let path = args.list.path(&context.path(&["orgs", &args.target.org, "apps"]));
            let all: Vec<EffectiveConfig> = context.all(&path).await?;
            context.print_all(all, effective::table)
        }
        Verb::Show(args) => {
            let found: EffectiveConfig = context.api.get(&args.path(context, &[])).await?;
            context.print(&found, effective::show)
        }
        Verb::Delete(args) => deletion::delete(context, &args.target.into(), args.yes).await,
        Verb::Restore(args) => deletion::restore(context, &args.into()).await,
    }
}

async fn apply(context: &ApiContext<'_>, args: &ApplyArgs) -> Result<(), Failure> {
    let wanted = file::read(&args.file)?;
    let org = org::org_id(&args.file, wanted.org_id, args.org_id.as_deref())?;
    let named = args.app_id.clone().or_else(|| wanted.app_id.clone());
    let app = named.filter(|app| wanted.app_id.as_ref().is_none_or(|id| id == app));
    let app = app.ok_or_else(|| match (&wanted.app_id, &args.app_id) {
        (Some(one), Some(other)) => {
            Failure::usage(format!("{}: names app {one}, and --app-id names {other}", args.file))
        }
        _ => Failure::usage(format!("{}: app_id is missing", args.file))
            .help("put `app_id: api` into the file, or add --app-id"),
    })?;
    let path = AppArgs { org, app }.path(context, &[]);
    let put: ConfigResponse = context.api.put(&path, &wanted.body).await?;
    context.print(&put, effective::show_put)
}
