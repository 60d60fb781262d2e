//! `weir keeper app`.

use clap::{Args, Subcommand};
use weir_server::keeper::configured::{Configured, PutAnswer};

use super::whose::{AppArgs, OrgArgs};
use super::{configured, file, org};
use crate::commands::api_context::ApiContext;
use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Set an app up as a file says, or change it to that
    Apply(ApplyArgs),
    /// List the apps of an org
    List(OrgArgs),
    /// Show what holds for an app
    Show(AppArgs),
}

#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    /// YAML or JSON; - for standard input
    file: String,
    /// The org's id, where the file does not have it
    #[arg(long, value_name = "ID")]
    org_id: Option<String>,
    /// The app's id, where the file does not have it
    #[arg(long, value_name = "ID")]
    app_id: Option<String>,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Apply(args) => apply(context, &args).await,
        Verb::List(args) => {
            let all: Vec<Configured> =
                context.all(&context.path(&["orgs", &args.org, "apps"])).await?;
            context.print(&all, |all| configured::table(all))
        }
        Verb::Show(args) => {
            let found: Configured = context.api.get(&args.path(context, &[])).await?;
            context.print(&found, configured::show)
        }
    }
}

async fn apply(context: &ApiContext<'_>, args: &ApplyArgs) -> Result<(), Failure> {
    let wanted = file::read(&args.file)?;
    let org = org::whose(&args.file, wanted.org_id, args.org_id.as_deref())?;
    let named = args.app_id.clone().or_else(|| wanted.app_id.clone());
    let app = named.filter(|app| wanted.app_id.as_ref().is_none_or(|id| id == app));
    let app = app.ok_or_else(|| match (&wanted.app_id, &args.app_id) {
        (Some(one), Some(other)) => {
            Failure::usage(format!("{}: is of app {one}, and --app-id names {other}", args.file))
        }
        _ => Failure::usage(format!("{}: the app's id is missing", args.file))
            .help("put `app_id: api` into the file, or add --app-id"),
    })?;
    let path = AppArgs { org, app }.path(context, &[]);
    let put: PutAnswer = context.api.put(&path, &wanted.body).await?;
    context.print(&put, configured::show_put)
}
