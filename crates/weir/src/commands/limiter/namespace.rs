//! `weir limiter namespace`: tenants.

use clap::{Args, Subcommand};
use weir_server::limiter::namespaces::Namespace;

use super::namespace_path;
use crate::commands::api_context::{ApiContext, header};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Make a namespace
    Create(NameArgs),
    /// Show a namespace
    Get(NameArgs),
    /// List namespaces in every state
    List,
    /// Take a namespace out of use; its data stays until it is purged
    Delete(NameArgs),
    /// Put a deleted namespace back into use
    Recover(NameArgs),
    /// Remove everything of a deleted namespace
    Purge(PurgeArgs),
}

#[derive(Debug, Args)]
pub(super) struct NameArgs {
    /// Its name
    name: String,
}

#[derive(Debug, Args)]
pub(super) struct PurgeArgs {
    /// Its name
    name: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    let path = |args: &NameArgs, more: &[&str]| namespace_path(&args.name, more);
    let namespace: Namespace = match verb {
        Verb::Create(args) => context.api.put(&path(&args, &[]), &()).await?,
        Verb::Get(args) => context.api.get(&path(&args, &[])).await?,
        Verb::List => {
            let all: Vec<Namespace> = context.all("/v1/namespaces").await?;
            return context.print(&all, |all| table(all));
        }
        Verb::Delete(args) => context.api.delete(&path(&args, &[])).await?,
        Verb::Recover(args) => context.api.post(&path(&args, &["recover"]), &()).await?,
        Verb::Purge(args) => {
            let question = format!("remove everything of namespace {} for good?", args.name);
            ApiContext::confirm(args.yes, &question)?;
            context.api.post(&namespace_path(&args.name, &["purge"]), &()).await?
        }
    };
    context.print(&namespace, |namespace| table(std::slice::from_ref(namespace)))
}

fn table(namespaces: &[Namespace]) -> std::io::Result<()> {
    let rows = namespaces.iter().map(|namespace| {
        vec![
            output::printable(&namespace.name),
            namespace.id.clone(),
            output::word(&namespace.state),
            namespace.created_at.clone(),
            namespace.deleted_at.clone().unwrap_or_default(),
        ]
    });
    output::table(header(["name", "id", "state", "made", "deleted"]), rows, &[])
}
