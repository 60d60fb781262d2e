//! `weir limiter namespace`: tenants.

use clap::{Args, Subcommand};
use weir_server::limiter::namespaces::Namespace;

use super::namespace_path;
use crate::commands::desk::{Desk, header};
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

pub(super) async fn run(desk: &Desk<'_>, verb: Verb) -> Result<(), Failure> {
    let path = |args: &NameArgs, more: &[&str]| namespace_path(&args.name, more);
    let namespace: Namespace = match verb {
        Verb::Create(args) => desk.api.put(&path(&args, &[]), &()).await?,
        Verb::Get(args) => desk.api.get(&path(&args, &[])).await?,
        Verb::List => {
            let all: Vec<Namespace> = desk.all("/v1/namespaces").await?;
            return desk.tell(&all, |all| table(all));
        }
        Verb::Delete(args) => desk.api.delete(&path(&args, &[])).await?,
        Verb::Recover(args) => desk.api.post(&path(&args, &["recover"]), &()).await?,
        Verb::Purge(args) => {
            let question = format!("remove everything of namespace {} for good?", args.name);
            Desk::confirm(args.yes, &question)?;
            desk.api.post(&namespace_path(&args.name, &["purge"]), &()).await?
        }
    };
    desk.tell(&namespace, |namespace| table(std::slice::from_ref(namespace)))
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
