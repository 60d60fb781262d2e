//! `weir limiter namespace`: the tenants of the limiter.

use clap::{Args, Subcommand};
use weir_api::limiter::NamespaceResponse;

use super::namespace_path;
use crate::commands::api_context::{ApiContext, header};
use crate::failure::Failure;
use crate::{output, time};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Create a namespace
    Create(NameArgs),
    /// Show a namespace
    Get(NameArgs),
    /// List namespaces in every state
    List,
    /// Delete a namespace; its data remains until it is purged
    Delete(NameArgs),
    /// Recover a deleted namespace
    Recover(NameArgs),
    /// Remove all data of a deleted namespace
    Purge(PurgeArgs),
}

#[derive(Debug, Args)]
pub(super) struct NameArgs {
    /// Name of the namespace, for example acme
    name: String,
}

#[derive(Debug, Args)]
pub(super) struct PurgeArgs {
    #[command(flatten)]
    namespace: NameArgs,
    /// Purge without asking for confirmation
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    let path = |args: &NameArgs, more: &[&str]| namespace_path(&args.name, more);
    let namespace: NamespaceResponse = match verb {
        Verb::Create(args) => context.api.put(&path(&args, &[]), &()).await?,
        Verb::Get(args) => context.api.get(&path(&args, &[])).await?,
        Verb::List => {
            let all: Vec<NamespaceResponse> = context.all("/v1/namespaces").await?;
            return context.print_all(all, table);
        }
        Verb::Delete(args) => context.api.delete(&path(&args, &[])).await?,
        Verb::Recover(args) => context.api.post(&path(&args, &["recover"]), &()).await?,
        Verb::Purge(PurgeArgs { namespace, yes }) => {
            let question = format!("remove all data of namespace {} for good?", namespace.name);
            ApiContext::confirm(yes, &question)?;
            context.api.post(&path(&namespace, &["purge"]), &()).await?
        }
    };
    context.print(&namespace, |namespace| table(std::slice::from_ref(namespace)))
}

fn table(namespaces: &[NamespaceResponse]) -> std::io::Result<()> {
    let rows = namespaces.iter().map(|namespace| {
        vec![
            output::printable(&namespace.name),
            namespace.id.clone(),
            output::word(&namespace.state),
            time::relative(&namespace.created_at),
            namespace.deleted_at.as_deref().map(time::relative).unwrap_or_default(),
        ]
    });
    output::table(header(["name", "id", "state", "created", "deleted"]), rows, &[])
}
