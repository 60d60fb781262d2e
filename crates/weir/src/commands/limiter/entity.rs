//! `weir limiter entity`: the users, keys or projects that are limited.

use clap::{Args, Subcommand};
use weir_api::limiter::{EntityResponse, PutEntityRequest, SetParentRequest};

use super::amounts;
use crate::commands::api_context::{ApiContext, header};
use crate::failure::Failure;
use crate::{output, time};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Create or replace an entity
    Put(PutArgs),
    /// Show an entity
    Get(EntityArgs),
    /// List all entities
    List,
    /// Delete an entity with its limits and buckets
    Delete(EntityArgs),
    /// List the children of an entity
    Children(EntityArgs),
    /// Set or remove the parent of an entity
    Parent(ParentArgs),
}

#[derive(Debug, Args)]
pub(super) struct PutArgs {
    /// Id of the entity, for example user-1
    id: String,
    /// Display name of the entity, for example 'Team 7' [default: the id]
    #[arg(long)]
    name: Option<String>,
    /// Parent of the entity, for example team-7
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Let every acquire also take from the parent's bucket
    #[arg(long, requires = "parent")]
    cascade: bool,
    /// Label of the entity, for example plan=pro; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    meta: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(super) struct EntityArgs {
    /// Id of the entity, for example user-1
    id: String,
}

#[derive(Debug, Args)]
pub(super) struct ParentArgs {
    /// Id of the entity, for example user-1
    id: String,
    /// New parent of the entity, for example team-7
    #[arg(required_unless_present = "none", conflicts_with = "none")]
    parent: Option<String>,
    /// Remove the parent
    #[arg(long)]
    none: bool,
}

fn label(text: &str) -> Result<(String, String), String> {
    let invalid = || format!("{text:?} is not KEY=VALUE, for example plan=pro");
    let (key, value) = text.split_once('=').ok_or_else(invalid)?;
    Ok((key.to_owned(), value.to_owned()))
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    let path = |args: &EntityArgs, more: &[&str]| {
        context.path(&[&["entities", args.id.as_str()], more].concat())
    };
    let entity: EntityResponse = match verb {
        Verb::Put(args) => put(context, args).await?,
        Verb::Get(args) => context.api.get(&path(&args, &[])).await?,
        Verb::List => return list(context, &context.path(&["entities"])).await,
        Verb::Delete(args) => {
            context.api.delete::<()>(&path(&args, &[])).await?;
            let deleted = serde_json::json!({"id": args.id, "deleted": true});
            return context.print(&deleted, |_| {
                output::line(format!("entity {} deleted", output::printable(&args.id)))
            });
        }
        Verb::Children(args) => return list(context, &path(&args, &["children"])).await,
        Verb::Parent(args) => {
            let path = context.path(&["entities", &args.id, "parent"]);
            context.api.put(&path, &SetParentRequest { parent: args.parent }).await?
        }
    };
    context.print(&entity, |entity| table(std::slice::from_ref(entity)))
}

async fn put(context: &ApiContext<'_>, args: PutArgs) -> Result<EntityResponse, Failure> {
    let request = PutEntityRequest {
        name: args.name,
        parent: args.parent,
        cascade: args.cascade,
        metadata: args.meta.into_iter().collect(),
    };
    context.api.put(&context.path(&["entities", &args.id]), &request).await
}

async fn list(context: &ApiContext<'_>, path: &str) -> Result<(), Failure> {
    let entities: Vec<EntityResponse> = context.all(path).await?;
    context.print_all(entities, table)
}

fn table(entities: &[EntityResponse]) -> std::io::Result<()> {
    let rows = entities.iter().map(|entity| {
        vec![
            entity.id.clone(),
            output::printable(&entity.name),
            entity.parent.clone().unwrap_or_default(),
            if entity.cascade { "yes" } else { "no" }.to_owned(),
            output::printable(&amounts::line(&entity.metadata)),
            time::relative(&entity.updated_at),
        ]
    });
    output::table(header(["id", "name", "parent", "cascade", "metadata", "updated"]), rows, &[])
}
