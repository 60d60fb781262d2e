//! `weir limiter limits plan|apply|diff`: the limits of a file compared with the configured ones.
//!
//! Levels are compared as a whole: a limit that a level of the file leaves out is removed. A level that is not in the file
//! is listed, and removed only with `--prune`.

use std::collections::BTreeSet;

use clap::Args;
use serde::Serialize;
use weir_api::limiter::{
    ALL_RESOURCES, ConfiguredEntitiesParams, ConfiguredResourcesParams, LimitsLevel, LimitsResponse,
};
use weir_api::page::Page;

use super::level::Level;
use super::limits_file::{self, LevelConfig, Levels};
use super::spec;
use crate::commands::api_context::{ApiContext, with_params};
use crate::failure::Failure;
use crate::{output, parse};

#[derive(Debug, Args)]
pub(super) struct FileArgs {
    /// YAML file of limits, for example limits.yaml, or `-` for standard input
    file: String,
    /// Also remove the levels that are not in the file
    #[arg(long)]
    prune: bool,
}

#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    #[command(flatten)]
    file: FileArgs,
    /// Apply without asking for confirmation
    #[arg(long)]
    yes: bool,
}

/// The action on a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Add,
    Change,
    Remove,
    /// The level is not in the file and stays.
    Leave,
}

#[derive(Debug, Serialize)]
struct Step {
    level: Level,
    #[serde(rename = "do")]
    action: Action,
    before: Option<String>,
    after: Option<String>,
    #[serde(skip)]
    config: Option<LevelConfig>,
}

pub(super) async fn plan(context: &ApiContext<'_>, args: &FileArgs) -> Result<(), Failure> {
    print_steps(context, args).await.map(drop)
}

pub(super) async fn diff(context: &ApiContext<'_>, args: &FileArgs) -> Result<(), Failure> {
    match changes(&print_steps(context, args).await?) {
        0 => Ok(()),
        number => Err(Failure::differs(format!(
            "the limits differ from {}: {}",
            args.file,
            output::counted(number, "change")
        ))),
    }
}

pub(super) async fn apply(context: &ApiContext<'_>, args: &ApplyArgs) -> Result<(), Failure> {
    let steps = print_steps(context, &args.file).await?;
    let number = changes(&steps);
    if number == 0 {
        return Ok(());
    }
    ApiContext::confirm(args.yes, &format!("apply {}?", output::counted(number, "change")))?;
    for step in &steps {
        apply_step(context, step).await?;
    }
    if !context.json {
        output::line(format!("{} applied", output::counted(number, "change")))?;
    }
    Ok(())
}

async fn print_steps(context: &ApiContext<'_>, args: &FileArgs) -> Result<Vec<Step>, Failure> {
    let wanted = limits_file::read(&args.file, &parse::read(&args.file)?)?;
    let current = configured(context, &wanted).await?;
    let all: BTreeSet<&Level> = wanted.keys().chain(current.keys()).collect();
    let steps: Vec<Step> = all
        .into_iter()
        .filter_map(|level| step(level, current.get(level), wanted.get(level), args.prune))
        .collect();
    let steps = Page { items: steps, next_cursor: None };
    context.print(&steps, |steps| show(&steps.items))?;
    Ok(steps.items)
}

fn changes(steps: &[Step]) -> u64 {
    steps.iter().filter(|step| step.action != Action::Leave).count() as u64
}

async fn apply_step(context: &ApiContext<'_>, step: &Step) -> Result<(), Failure> {
    let path = step.level.path(context);
    match (step.action, &step.config) {
        (Action::Add | Action::Change, Some(config)) => {
            context.api.put::<LimitsResponse>(&path, config).await.map(drop)
        }
        (Action::Remove, _) => context.api.delete::<()>(&path).await,
        _ => Ok(()),
    }
}

fn step(
    level: &Level,
    current: Option<&LevelConfig>,
    wanted: Option<&LevelConfig>,
    prune: bool,
) -> Option<Step> {
    let config = wanted.map(|wanted| merge(wanted, current));
    let action = match (current, &config) {
        (None, Some(_)) => Action::Add,
        (Some(current), Some(config)) if current != config => Action::Change,
        (Some(_), None) if prune => Action::Remove,
        (Some(_), None) => Action::Leave,
        _ => return None,
    };
    let after = if action == Action::Leave { current } else { config.as_ref() };
    Some(Step {
        level: level.clone(),
        action,
        before: current.map(line),
        after: after.map(line),
        config,
    })
}

/// The configuration to write: `wanted`, with the flags of the system that it leaves out as they are now.
fn merge(wanted: &LevelConfig, current: Option<&LevelConfig>) -> LevelConfig {
    LevelConfig {
        strict_version: wanted.strict_version.or(current.and_then(|level| level.strict_version)),
        auto_update: wanted.auto_update.or(current.and_then(|level| level.auto_update)),
        ..wanted.clone()
    }
}

fn line(config: &LevelConfig) -> String {
    let mut text = spec::line(&config.limits);
    if let Some(decision) = &config.on_unavailable {
        text.push_str(&format!(" on_unavailable={}", output::word(decision)));
    }
    let flags = [("strict_version", config.strict_version), ("auto_update", config.auto_update)];
    for (name, flag) in flags {
        if let Some(flag) = flag {
            text.push_str(&format!(" {name}={flag}"));
        }
    }
    text.trim_start().to_owned()
}

fn show(steps: &[Step]) -> std::io::Result<()> {
    if steps.is_empty() {
        return output::line("the limits are those of the file");
    }
    for step in steps {
        let level = output::printable(&step.level.to_string());
        let before = step.before.as_deref().unwrap_or_default();
        let after = step.after.as_deref().unwrap_or_default();
        output::line(match step.action {
            Action::Add => format!("+ {level}: {after}"),
            Action::Change => format!("~ {level}: {before} → {after}"),
            Action::Remove => format!("- {level}: {before}"),
            Action::Leave => format!("  {level}: {before} (not in the file; --prune removes it)"),
        })?;
    }
    output::line(match changes(steps) {
        0 => "no changes".to_owned(),
        number => output::counted(number, "change"),
    })
}

/// The configured levels: the system's, those of resources and those of entities, in the file or not.
async fn configured(context: &ApiContext<'_>, wanted: &Levels) -> Result<Levels, Failure> {
    let mut levels: BTreeSet<Level> = wanted.keys().cloned().collect();
    levels.insert(Level::System);
    let of_resources = resources(context, LimitsLevel::Resource).await?;
    levels.extend(of_resources.into_iter().map(Level::Resource));
    let mut of_entities = resources(context, LimitsLevel::Entity).await?;
    of_entities.push(ALL_RESOURCES.to_owned());
    for resource in of_entities {
        let params = ConfiguredEntitiesParams { resource: Some(resource.clone()) };
        let entities = entities(context, &params).await?;
        levels.extend(entities.into_iter().map(|id| Level::Entity(id, resource.clone())));
    }
    let mut current = Levels::new();
    for level in levels {
        let found: Option<LimitsResponse> = context.api.find(&level.path(context)).await?;
        if let Some(found) = found {
            current.insert(level, level_config(found));
        }
    }
    Ok(current)
}

/// The resources that have limits of such a level.
pub(super) async fn resources(
    context: &ApiContext<'_>,
    level: LimitsLevel,
) -> Result<Vec<String>, Failure> {
    let params = ConfiguredResourcesParams { level };
    let path = with_params(&context.path(&["resources"]), &params)?;
    let resources: Page<String> = context.api.get(&path).await?;
    Ok(resources.items)
}

/// The entities that have limits of their own on a resource.
pub(super) async fn entities(
    context: &ApiContext<'_>,
    params: &ConfiguredEntitiesParams,
) -> Result<Vec<String>, Failure> {
    context.all(&with_params(&context.path(&["limits", "entities"]), params)?).await
}

fn level_config(found: LimitsResponse) -> LevelConfig {
    let mut limits = found.limits;
    limits.sort_by(|a, b| a.name.cmp(&b.name));
    LevelConfig {
        limits,
        on_unavailable: found.on_unavailable,
        auto_update: found.auto_update,
        strict_version: found.strict_version,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(limit: &str) -> LevelConfig {
        LevelConfig { limits: vec![spec::limit(limit).unwrap()], ..LevelConfig::default() }
    }

    #[test]
    fn flags_of_the_system_stay_when_the_file_leaves_them_out() {
        let current = LevelConfig {
            strict_version: Some(true),
            auto_update: Some(false),
            ..config("rpm=1/s")
        };
        assert!(step(&Level::System, Some(&current), Some(&config("rpm=1/s")), true).is_none());
        let changed = step(&Level::System, Some(&current), Some(&config("rpm=2/s")), true).unwrap();
        let kept = LevelConfig { limits: config("rpm=2/s").limits, ..current.clone() };
        assert_eq!((changed.action, changed.config), (Action::Change, Some(kept)));
        let other = LevelConfig { strict_version: Some(false), ..config("rpm=1/s") };
        let changed = step(&Level::System, Some(&current), Some(&other), true).unwrap();
        assert_eq!(changed.after.unwrap(), "rpm=1/s strict_version=false auto_update=false");
    }

    #[test]
    fn levels_outside_the_file_stay_unless_they_are_pruned() {
        let (a, b) = (config("rpm=1/s"), config("rpm=2/s"));
        for (current, wanted, prune, expected) in [
            (None, Some(&a), false, Some(Action::Add)),
            (Some(&a), Some(&a), true, None),
            (Some(&a), Some(&b), false, Some(Action::Change)),
            (Some(&a), None, false, Some(Action::Leave)),
            (Some(&a), None, true, Some(Action::Remove)),
        ] {
            let step = step(&Level::System, current, wanted, prune);
            assert_eq!(step.map(|step| step.action), expected);
        }
    }
}
