//! Which level of the limits is meant: `--system`, `--resource R`, `--entity E [--resource R]`.

use std::fmt;

use clap::Args;
use serde::Serialize;

use crate::commands::api_context::ApiContext;

/// What stands for all resources in paths and files.
pub(super) const ALL_RESOURCES: &str = "_default_";

/// Which level is meant.
#[derive(Debug, Args)]
pub(super) struct LevelFlags {
    /// For everybody and everything
    #[arg(long, required_unless_present_any = ["entity", "resource"], conflicts_with_all = ["entity", "resource"])]
    system: bool,
    /// For an entity; on a resource, or on all
    #[arg(long, value_name = "ID")]
    entity: Option<String>,
    /// For a resource
    #[arg(long, value_name = "NAME")]
    resource: Option<String>,
}

/// A level of the limits, in the order of how many it is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    System,
    Resource(String),
    /// Of an entity, on a resource or `_default_`.
    Entity(String, String),
}

impl LevelFlags {
    pub(super) fn level(self) -> Level {
        match (self.entity, self.resource) {
            (Some(entity), resource) => {
                Level::Entity(entity, resource.unwrap_or_else(|| ALL_RESOURCES.to_owned()))
            }
            (None, Some(resource)) => Level::Resource(resource),
            (None, None) => Level::System,
        }
    }
}

impl Level {
    pub(super) fn path(&self, context: &ApiContext<'_>) -> String {
        match self {
            Level::System => context.path(&["limits", "system"]),
            Level::Resource(resource) => context.path(&["limits", "resources", resource]),
            Level::Entity(entity, resource) => {
                context.path(&["limits", "entities", entity, resource])
            }
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::System => f.write_str("system"),
            Level::Resource(resource) => write!(f, "resource {resource}"),
            Level::Entity(entity, resource) if resource == ALL_RESOURCES => {
                write!(f, "entity {entity}")
            }
            Level::Entity(entity, resource) => write!(f, "entity {entity} on {resource}"),
        }
    }
}

impl Serialize for Level {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
