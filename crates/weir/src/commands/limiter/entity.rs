//! `weir limiter entity`: who is limited.

use clap::{Args, Subcommand};
use weir_server::limiter::entities::{Entity, NewEntity, NewParent};
use weir_server::limiter::shapes::EntityId;

use crate::commands::api_context::{ApiContext, header};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Make or replace an entity
    Put(PutArgs),
    /// Show an entity
    Get(IdArgs),
    /// List all entities
    List,
    /// Remove an entity with its limits and buckets
    Delete(IdArgs),
    /// List the children of an entity
    Children(IdArgs),
    /// Give an entity another parent, or none
    Parent(ParentArgs),
}

#[derive(Debug, Args)]
pub(super) struct PutArgs {
    /// Its id
    id: String,
    /// Its name, for people [default: the id]
    #[arg(long)]
    name: Option<String>,
    /// Its parent
    #[arg(long, value_name = "ID", value_parser = id)]
    parent: Option<EntityId>,
    /// Let every acquire also take from the parent
    #[arg(long, requires = "parent")]
    cascade: bool,
    /// What else is to be known about it; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    meta: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(super) struct IdArgs {
    /// Its id
    id: String,
}

#[derive(Debug, Args)]
pub(super) struct ParentArgs {
    /// The entity
    id: String,
    /// Its parent from now on
    #[arg(value_parser = id, required_unless_present = "none", conflicts_with = "none")]
    parent: Option<EntityId>,
    /// It is to have none
    #[arg(long)]
    none: bool,
}

fn id(text: &str) -> Result<EntityId, String> {
    EntityId::new(text).map_err(|error| error.to_string())
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| format!("{text:?} is not KEY=VALUE, like plan=pro"))?;
    Ok((key.to_owned(), value.to_owned()))
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Put(args) => put(context, args).await,
        Verb::Get(args) => {
            let entity: Entity = context.api.get(&context.path(&["entities", &args.id])).await?;
            context.print(&entity, show)
        }
        Verb::List => list(context, &context.path(&["entities"])).await,
        Verb::Delete(args) => {
            context.api.delete::<()>(&context.path(&["entities", &args.id])).await?;
            let deleted = serde_json::json!({"id": args.id, "deleted": true});
            context.print(&deleted, |_| {
                output::line(format!("{} is removed", output::printable(&args.id)))
            })
        }
        Verb::Children(args) => {
            list(context, &context.path(&["entities", &args.id, "children"])).await
        }
        Verb::Parent(args) => {
            let path = context.path(&["entities", &args.id, "parent"]);
            let entity: Entity = context.api.put(&path, &NewParent { parent: args.parent }).await?;
            context.print(&entity, show)
        }
    }
}

async fn put(context: &ApiContext<'_>, args: PutArgs) -> Result<(), Failure> {
    let new = NewEntity {
        name: args.name,
        parent: args.parent,
        cascade: args.cascade,
        metadata: args.meta.into_iter().collect(),
    };
    let entity: Entity = context.api.put(&context.path(&["entities", &args.id]), &new).await?;
    context.print(&entity, show)
}

async fn list(context: &ApiContext<'_>, path: &str) -> Result<(), Failure> {
    let entities: Vec<Entity> = context.all(path).await?;
    context.print(&entities, |entities| table(entities))
}

fn show(entity: &Entity) -> std::io::Result<()> {
    table(std::slice::from_ref(entity))
}

fn table(entities: &[Entity]) -> std::io::Result<()> {
    let rows = entities.iter().map(|entity| {
        let metadata: Vec<_> =
            entity.metadata.iter().map(|(key, value)| format!("{key}={value}")).collect();
        vec![
            entity.id.to_string(),
            output::printable(&entity.name),
            entity.parent.as_ref().map(ToString::to_string).unwrap_or_default(),
            if entity.cascade { "yes" } else { "no" }.to_owned(),
            output::printable(&output::cut(&metadata.join(" "), 60)),
            entity.updated_at.clone(),
        ]
    });
    output::table(header(["id", "name", "parent", "cascade", "metadata", "changed"]), rows, &[])
}
