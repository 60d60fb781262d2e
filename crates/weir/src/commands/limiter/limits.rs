//! `weir limiter limits`: limits one by one, and from a file.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use weir_server::limiter::levels;
use weir_server::limiter::resolve::Resolved;
use weir_server::limiter::shapes::Limit;

use super::level::{Level, LevelFlags};
use super::{plan, spec};
use crate::commands::api_context::{ApiContext, header, tokens, with_query};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Set the limits of a level; what was set before is replaced whole
    Set(SetArgs),
    /// Show the limits of a level
    Get(LevelFlags),
    /// Remove the limits of a level
    Delete(LevelFlags),
    /// Show which limits hold for an entity on a resource, and which level says so
    Resolve(ResolveArgs),
    /// List the resources that have limits
    Resources(ResourcesArgs),
    /// List the entities that have limits of their own
    Entities(EntitiesArgs),
    /// Show what applying a file would change
    Plan(plan::FileArgs),
    /// Make the limits as a file says
    Apply(plan::ApplyArgs),
    /// The same as `plan`, but exit with 4 when anything differs
    Diff(plan::FileArgs),
}

#[derive(Debug, Args)]
pub(super) struct SetArgs {
    #[command(flatten)]
    level: LevelFlags,
    /// A limit, like rpm=100/min or tpm=10000/min,burst=20000; may be given several times
    #[arg(long, value_name = "SPEC", value_parser = spec::limit)]
    limit: Vec<Limit>,
    /// What to do when the store cannot be reached
    #[arg(long, value_enum)]
    on_unavailable: Option<OnUnavailable>,
    /// With --system: refuse to work with a schema of another version
    #[arg(long, value_name = "BOOL", requires = "system")]
    strict_version: Option<bool>,
    /// With --system: what zae-limiter is to do about its own updates
    #[arg(long, value_name = "BOOL", requires = "system")]
    auto_update: Option<bool>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OnUnavailable {
    Allow,
    Block,
}

#[derive(Debug, Args)]
pub(super) struct ResolveArgs {
    /// The entity
    entity: String,
    /// The resource
    resource: String,
}

#[derive(Debug, Args)]
pub(super) struct ResourcesArgs {
    /// Those on which entities have limits of their own [default: those with limits for everybody]
    #[arg(long)]
    of_entities: bool,
}

#[derive(Debug, Args)]
pub(super) struct EntitiesArgs {
    /// On this resource [default: on all]
    #[arg(long, value_name = "NAME")]
    resource: Option<String>,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Set(args) => set(context, args).await,
        Verb::Get(flags) => {
            let level = flags.level();
            let found: levels::Level = context.api.get(&level.path(context)).await?;
            context.print(&found, |found| show(&level, found))
        }
        Verb::Delete(flags) => {
            let level = flags.level();
            context.api.delete::<()>(&level.path(context)).await?;
            let deleted = json!({"level": level, "deleted": true});
            let name = output::printable(&level.to_string());
            context.print(&deleted, |_| output::line(format!("the limits of {name} are removed")))
        }
        Verb::Resolve(args) => resolve(context, &args).await,
        Verb::Resources(args) => {
            let level = if args.of_entities { "entity" } else { "resource" };
            names(context, plan::resources(context, level).await?, "resource")
        }
        Verb::Entities(args) => {
            let path = context.path(&["limits", "entities"]);
            let path = with_query(&path, &[("resource", args.resource.as_deref())]);
            names(context, context.all(&path).await?, "entity")
        }
        Verb::Plan(args) => plan::plan(context, &args).await,
        Verb::Apply(args) => plan::apply(context, &args).await,
        Verb::Diff(args) => plan::diff(context, &args).await,
    }
}

async fn set(context: &ApiContext<'_>, args: SetArgs) -> Result<(), Failure> {
    let level = args.level.level();
    let mut body = json!({"limits": args.limit});
    if let Some(does) = args.on_unavailable {
        let word = match does {
            OnUnavailable::Allow => "allow",
            OnUnavailable::Block => "block",
        };
        add(&mut body, "on_unavailable", word.into());
    }
    let flags = [("strict_version", args.strict_version), ("auto_update", args.auto_update)];
    for (name, flag) in flags {
        if let Some(flag) = flag {
            add(&mut body, name, flag.into());
        }
    }
    let now: levels::Level = context.api.put(&level.path(context), &body).await?;
    context.print(&now, |now| show(&level, now))
}

fn add(body: &mut Value, name: &str, value: Value) {
    if let Some(body) = body.as_object_mut() {
        body.insert(name.to_owned(), value);
    }
}

fn show(level: &Level, found: &levels::Level) -> std::io::Result<()> {
    table(&found.limits)?;
    let unavailable = found
        .on_unavailable
        .map(|does| format!("; when the store cannot be reached: {}", output::word(&does)));
    let name = output::printable(&level.to_string());
    let unavailable = unavailable.unwrap_or_default();
    output::line(format!("{name}, version {}{unavailable}", found.version))
}

fn table(limits: &[Limit]) -> std::io::Result<()> {
    let rows = limits.iter().map(|limit| {
        vec![
            limit.name.to_string(),
            spec::rate(limit),
            tokens(i64::try_from(limit.capacity).unwrap_or(i64::MAX)),
        ]
    });
    output::table(header(["limit", "rate", "capacity"]), rows, &[2])
}

async fn resolve(context: &ApiContext<'_>, args: &ResolveArgs) -> Result<(), Failure> {
    let of = [("entity", Some(args.entity.as_str())), ("resource", Some(args.resource.as_str()))];
    let path = with_query(&context.path(&["limits", "resolve"]), &of);
    let resolved: Resolved = context.api.get(&path).await?;
    context.print(&resolved, |resolved| {
        table(&resolved.limits)?;
        output::line(format!(
            "limits from {}; when the store cannot be reached: {} (from {})",
            output::word(&resolved.limits_from),
            output::word(&resolved.on_unavailable),
            output::word(&resolved.on_unavailable_from)
        ))
    })
}

fn names(context: &ApiContext<'_>, names: Vec<String>, column: &str) -> Result<(), Failure> {
    context.print(&names, |names| {
        let rows = names.iter().map(|name| vec![output::printable(name)]);
        output::table(vec![column.to_owned()], rows, &[])
    })
}
