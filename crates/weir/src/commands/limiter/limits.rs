//! `weir limiter limits`: limits one by one, and from a file.

use clap::{Args, Subcommand};
use serde_json::json;
use weir_api::limiter::{
    ConfiguredEntitiesParams, EffectiveLimitsParams, EffectiveLimitsResponse, LimitsLevel,
    LimitsResponse, OnUnavailable, RateLimit, SetSystemLimitsRequest,
};

use super::level::{Level, LevelFlags};
use super::{one_of, plan, spec};
use crate::commands::api_context::{ApiContext, header, with_params};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Set the limits of a level; they replace all earlier limits of the level
    Set(SetArgs),
    /// Show the limits of a level
    Get(LevelFlags),
    /// Remove the limits of a level
    Delete(LevelFlags),
    /// Show the limits in force for an entity on a resource, and the level that sets them
    Resolve(ResolveArgs),
    /// List the resources that have limits
    Resources(ResourcesArgs),
    /// List the entities that have limits of their own
    Entities(EntitiesArgs),
    /// Show the changes that applying a file would make
    Plan(plan::FileArgs),
    /// Make the limits those of a file
    Apply(plan::ApplyArgs),
    /// Show the changes like `plan`, and exit with code 4 if there are any
    Diff(plan::FileArgs),
}

#[derive(Debug, Args)]
pub(super) struct SetArgs {
    #[command(flatten)]
    level: LevelFlags,
    /// Limit of the level, for example rpm=100/min or tpm=10000/min,burst=20000; repeatable
    #[arg(long, value_name = "SPEC", value_parser = spec::limit)]
    limit: Vec<RateLimit>,
    /// Decision of an acquire while the store is unreachable
    #[arg(long, value_name = "DECISION", value_parser = one_of::<OnUnavailable>(&["allow", "block"]))]
    on_unavailable: Option<OnUnavailable>,
    /// Whether to refuse a table whose schema has another version; with --system only
    #[arg(long, value_name = "BOOL", requires = "system")]
    strict_version: Option<bool>,
    /// Whether zae-limiter updates itself; with --system only
    #[arg(long, value_name = "BOOL", requires = "system")]
    auto_update: Option<bool>,
}

#[derive(Debug, Args)]
pub(super) struct ResolveArgs {
    /// Entity to resolve limits for, for example user-1
    entity: String,
    /// Resource to resolve limits for, for example gpt-4
    resource: String,
}

#[derive(Debug, Args)]
pub(super) struct ResourcesArgs {
    /// List the resources on which single entities have limits [default: those with limits for every entity]
    #[arg(long)]
    of_entities: bool,
}

#[derive(Debug, Args)]
pub(super) struct EntitiesArgs {
    /// Resource that the entities have limits on, for example gpt-4 [default: all resources]
    #[arg(long, value_name = "NAME")]
    resource: Option<String>,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Set(args) => set(context, args).await,
        Verb::Get(flags) => {
            let level = flags.level();
            let limits: LimitsResponse = context.api.get(&level.path(context)).await?;
            context.print(&limits, |limits| show(&level, limits))
        }
        Verb::Delete(flags) => {
            let level = flags.level();
            context.api.delete::<()>(&level.path(context)).await?;
            let deleted = json!({"level": level, "deleted": true});
            let name = output::printable(&level.to_string());
            context.print(&deleted, |_| output::line(format!("limits of {name} removed")))
        }
        Verb::Resolve(args) => resolve(context, args).await,
        Verb::Resources(args) => {
            let level = if args.of_entities { LimitsLevel::Entity } else { LimitsLevel::Resource };
            print_names(context, plan::resources(context, level).await?, "resource")
        }
        Verb::Entities(args) => {
            let params = ConfiguredEntitiesParams { resource: args.resource };
            print_names(context, plan::entities(context, &params).await?, "entity")
        }
        Verb::Plan(args) => plan::plan(context, &args).await,
        Verb::Apply(args) => plan::apply(context, &args).await,
        Verb::Diff(args) => plan::diff(context, &args).await,
    }
}

async fn set(context: &ApiContext<'_>, args: SetArgs) -> Result<(), Failure> {
    let level = args.level.level();
    // The fields of the system level are absent from the JSON of other levels, where clap refuses their flags.
    let request = SetSystemLimitsRequest {
        limits: args.limit,
        on_unavailable: args.on_unavailable,
        auto_update: args.auto_update,
        strict_version: args.strict_version,
    };
    let limits: LimitsResponse = context.api.put(&level.path(context), &request).await?;
    context.print(&limits, |limits| show(&level, limits))
}

fn show(level: &Level, limits: &LimitsResponse) -> std::io::Result<()> {
    table(&limits.limits)?;
    let unavailable = limits
        .on_unavailable
        .map(|decision| format!("; while the store is unreachable: {}", output::word(&decision)));
    let name = output::printable(&level.to_string());
    let unavailable = unavailable.unwrap_or_default();
    output::line(format!("{name}, version {}{unavailable}", limits.version))
}

fn table(limits: &[RateLimit]) -> std::io::Result<()> {
    let rows = limits.iter().map(|limit| {
        vec![limit.name.clone(), spec::format(limit), output::thousands(limit.capacity)]
    });
    output::table(header(["limit", "rate", "capacity"]), rows, &[2])
}

async fn resolve(context: &ApiContext<'_>, args: ResolveArgs) -> Result<(), Failure> {
    let params = EffectiveLimitsParams { entity: args.entity, resource: args.resource };
    let path = with_params(&context.path(&["limits", "resolve"]), &params)?;
    let effective: EffectiveLimitsResponse = context.api.get(&path).await?;
    context.print(&effective, |effective| {
        table(&effective.limits)?;
        output::line(format!(
            "limits from {}; while the store is unreachable: {} (from {})",
            output::word(&effective.limits_from),
            output::word(&effective.on_unavailable),
            output::word(&effective.on_unavailable_from)
        ))
    })
}

fn print_names(context: &ApiContext<'_>, names: Vec<String>, column: &str) -> Result<(), Failure> {
    context.print_all(names, |names| {
        let rows = names.iter().map(|name| vec![output::printable(name)]);
        output::table(vec![column.to_owned()], rows, &[])
    })
}
