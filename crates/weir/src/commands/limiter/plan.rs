//! `weir limiter limits plan|apply|diff`: what a file wants against what there is.
//!
//! Levels are compared whole, at all four places where limits can be: a limit that the file leaves out of a level it names
//! goes. A level that the file does not name is shown, and removed with `--prune` only.

use std::collections::BTreeSet;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use weir_framework::page::Page;
use weir_server::limiter::levels;

use super::level::{ALL_RESOURCES, Level};
use super::spec;
use super::wanted::{Levels, Wanted, read};
use crate::commands::api_context::{ApiContext, with_query};
use crate::failure::Failure;
use crate::{output, parse};

#[derive(Debug, Args)]
pub(super) struct FileArgs {
    /// A YAML file of limits, or `-` for standard input
    file: String,
    /// Also remove what the file does not name
    #[arg(long)]
    prune: bool,
}

#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    #[command(flatten)]
    file: FileArgs,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// What there is to do about a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Do {
    Add,
    Change,
    Remove,
    /// The file does not name it.
    Leave,
}

#[derive(Debug, Serialize)]
struct Step {
    level: Level,
    #[serde(rename = "do")]
    to_do: Do,
    before: Option<String>,
    after: Option<String>,
    #[serde(skip)]
    wanted: Option<Wanted>,
}

pub(super) async fn plan(context: &ApiContext<'_>, args: &FileArgs) -> Result<(), Failure> {
    let steps = steps(context, args).await?;
    context.print(&steps, |steps| show(steps))
}

pub(super) async fn diff(context: &ApiContext<'_>, args: &FileArgs) -> Result<(), Failure> {
    let steps = steps(context, args).await?;
    context.print(&steps, |steps| show(steps))?;
    match changes(&steps) {
        0 => Ok(()),
        number => Err(Failure::differs(format!(
            "the limits differ from {}: {}",
            args.file,
            output::counted(number, "change")
        ))),
    }
}

pub(super) async fn apply(context: &ApiContext<'_>, args: &ApplyArgs) -> Result<(), Failure> {
    let steps = steps(context, &args.file).await?;
    context.print(&steps, |steps| show(steps))?;
    let number = changes(&steps);
    if number == 0 {
        return Ok(());
    }
    ApiContext::confirm(args.yes, &format!("make {}?", output::counted(number, "change")))?;
    for step in &steps {
        act(context, step).await?;
    }
    if !context.json {
        output::line(format!("{} made", output::counted(number, "change")))?;
    }
    Ok(())
}

fn changes(steps: &[Step]) -> u64 {
    steps.iter().filter(|step| step.to_do != Do::Leave).count() as u64
}

async fn act(context: &ApiContext<'_>, step: &Step) -> Result<(), Failure> {
    let path = step.level.path(context);
    match (step.to_do, &step.wanted) {
        (Do::Add | Do::Change, Some(wanted)) => {
            context.api.put::<levels::Level>(&path, &body(wanted)).await.map(drop)
        }
        (Do::Remove, _) => context.api.delete::<()>(&path).await,
        _ => Ok(()),
    }
}

fn body(wanted: &Wanted) -> Value {
    let mut body = json!({"limits": wanted.limits});
    let members = [
        ("on_unavailable", wanted.on_unavailable.clone().map(Value::from)),
        ("strict_version", wanted.strict_version.map(Value::from)),
        ("auto_update", wanted.auto_update.map(Value::from)),
    ];
    if let Some(body) = body.as_object_mut() {
        for (name, value) in members {
            body.extend(value.map(|value| (name.to_owned(), value)));
        }
    }
    body
}

/// What is to be done, level by level.
async fn steps(context: &ApiContext<'_>, args: &FileArgs) -> Result<Vec<Step>, Failure> {
    let wanted = read(&args.file, &parse::read(&args.file)?)?;
    let there = present(context, &wanted).await?;
    let all: BTreeSet<&Level> = wanted.keys().chain(there.keys()).collect();
    let steps = all
        .into_iter()
        .filter_map(|level| step(level, there.get(level), wanted.get(level), args.prune));
    Ok(steps.collect())
}

fn step(
    level: &Level,
    there: Option<&Wanted>,
    wanted: Option<&Wanted>,
    prune: bool,
) -> Option<Step> {
    let wanted = wanted.map(|wanted| wanted.over(there));
    let to_do = match (there, &wanted) {
        (None, Some(_)) => Do::Add,
        (Some(there), Some(wanted)) if there != wanted => Do::Change,
        (Some(_), None) if prune => Do::Remove,
        (Some(_), None) => Do::Leave,
        _ => return None,
    };
    let after = if to_do == Do::Leave { there } else { wanted.as_ref() };
    Some(Step {
        level: level.clone(),
        to_do,
        before: there.map(line),
        after: after.map(line),
        wanted,
    })
}

fn line(wanted: &Wanted) -> String {
    let mut text = spec::line(&wanted.limits);
    if let Some(does) = &wanted.on_unavailable {
        text.push_str(&format!(" on_unavailable={does}"));
    }
    let flags = [("strict_version", wanted.strict_version), ("auto_update", wanted.auto_update)];
    for (name, flag) in flags {
        if let Some(flag) = flag {
            text.push_str(&format!(" {name}={flag}"));
        }
    }
    text.trim_start().to_owned()
}

fn show(steps: &[Step]) -> std::io::Result<()> {
    if steps.is_empty() {
        return output::line("everything is as the file says");
    }
    for step in steps {
        let level = output::printable(&step.level.to_string());
        let before = step.before.as_deref().unwrap_or_default();
        let after = step.after.as_deref().unwrap_or_default();
        output::line(match step.to_do {
            Do::Add => format!("+ {level}: {after}"),
            Do::Change => format!("~ {level}: {before} → {after}"),
            Do::Remove => format!("- {level}: {before}"),
            Do::Leave => format!("  {level}: {before} (not in the file; --prune removes it)"),
        })?;
    }
    output::line(match changes(steps) {
        0 => "nothing to change".to_owned(),
        number => output::counted(number, "change"),
    })
}

/// The levels there are: the system's, all of resources and all of entities, whether or not the file names their
/// resources.
async fn present(context: &ApiContext<'_>, wanted: &Levels) -> Result<Levels, Failure> {
    let mut levels: BTreeSet<Level> = wanted.keys().cloned().collect();
    levels.insert(Level::System);
    levels.extend(resources(context, "resource").await?.into_iter().map(Level::Resource));
    let mut on = resources(context, "entity").await?;
    on.push(ALL_RESOURCES.to_owned());
    for resource in on {
        let path = context.path(&["limits", "entities"]);
        let path = with_query(&path, &[("resource", Some(&resource))]);
        let entities: Vec<String> = context.all(&path).await?;
        let level = |entity| Level::Entity(entity, resource.clone());
        levels.extend(entities.into_iter().map(level));
    }
    let mut there = Levels::new();
    for level in levels {
        let found: Option<levels::Level> = context.api.find(&level.path(context)).await?;
        if let Some(found) = found {
            there.insert(level, as_wanted(found));
        }
    }
    Ok(there)
}

/// The resources that have limits of such a level.
pub(super) async fn resources(
    context: &ApiContext<'_>,
    level: &str,
) -> Result<Vec<String>, Failure> {
    let path = with_query(&context.path(&["resources"]), &[("level", Some(level))]);
    let resources: Page<String> = context.api.get(&path).await?;
    Ok(resources.items)
}

fn as_wanted(found: levels::Level) -> Wanted {
    let mut limits = found.limits;
    limits.sort_by(|a, b| a.name.cmp(&b.name));
    Wanted {
        limits,
        on_unavailable: found.on_unavailable.map(|does| output::word(&does)),
        strict_version: found.strict_version,
        auto_update: found.auto_update,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(limit: &str) -> Wanted {
        Wanted { limits: vec![spec::limit(limit).unwrap()], ..Wanted::default() }
    }

    #[test]
    fn what_the_file_does_not_say_of_the_system_stays() {
        let there =
            Wanted { strict_version: Some(true), auto_update: Some(false), ..wanted("rpm=1/s") };
        assert!(step(&Level::System, Some(&there), Some(&wanted("rpm=1/s")), true).is_none());
        let changed = step(&Level::System, Some(&there), Some(&wanted("rpm=2/s")), true).unwrap();
        let kept = Wanted { limits: wanted("rpm=2/s").limits, ..there.clone() };
        assert_eq!((changed.to_do, changed.wanted), (Do::Change, Some(kept)));
        let other = Wanted { strict_version: Some(false), ..wanted("rpm=1/s") };
        let changed = step(&Level::System, Some(&there), Some(&other), true).unwrap();
        assert_eq!(changed.after.unwrap(), "rpm=1/s strict_version=false auto_update=false");
    }

    #[test]
    fn what_the_file_does_not_name_stays_unless_it_is_pruned() {
        let (a, b) = (wanted("rpm=1/s"), wanted("rpm=2/s"));
        for (there, wanted, prune, expected) in [
            (None, Some(&a), false, Some(Do::Add)),
            (Some(&a), Some(&a), true, None),
            (Some(&a), Some(&b), false, Some(Do::Change)),
            (Some(&a), None, false, Some(Do::Leave)),
            (Some(&a), None, true, Some(Do::Remove)),
        ] {
            let step = step(&Level::System, there, wanted, prune);
            assert_eq!(step.map(|step| step.to_do), expected);
        }
    }
}
